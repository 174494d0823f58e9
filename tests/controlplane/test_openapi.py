"""The committed description of the API is the one that this code has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from tests.controlplane.routes import api_routes

COMMITTED = Path(__file__).parents[2] / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("openapi") / "openapi.json"
    options = {"format": "openapi-json", "validate": True, "fail_on_warn": True, "file": str(file)}
    call_command("spectacular", **options)
    return file.read_text()


def test_it_is_fresh(fresh: str) -> None:
    assert json.loads(COMMITTED.read_text()) == json.loads(fresh), "run `make generate`"


def test_every_route_is_described(fresh: str) -> None:
    described = {
        (method.upper(), path) for path, item in json.loads(fresh)["paths"].items() for method in item
    }
    for route in api_routes():
        template = route.template
        for part in template.split("/"):
            if part.startswith("<"):
                template = template.replace(part, "{" + part.strip("<>").rpartition(":")[2] + "}")
        assert (route.method, template) in described


def test_it_is_served_to_everybody(db: None) -> None:
    answer = Client().get("/api/v1/openapi.json")
    assert answer.status_code == 200 and answer.json()["info"]["title"] == "Headrace"
