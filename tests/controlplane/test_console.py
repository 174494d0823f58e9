"""Serving the console, its headers, and the addresses that are not the console's."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings


@pytest.fixture
def built(settings: Settings, tmp_path: Path) -> Path:
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text("<!doctype html><title>Headrace</title>")
    (dist / "assets" / "index-abc123.js").write_text("console.log(1)")
    (dist / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    settings.CONSOLE_DIR = dist
    return dist


def test_the_console_answers_its_own_addresses(built: Path) -> None:
    for address in ("/", "/jobs/12", "/nodes", "/index.html"):
        answer = Client().get(address)
        assert answer.status_code == 200 and b"<title>Headrace" in answer.content
        assert answer["Content-Type"] == "text/html; charset=utf-8" and answer["Cache-Control"] == "no-cache"


def test_hashed_assets_are_kept_for_ever_and_compressed(built: Path) -> None:
    plain = Client().get("/assets/index-abc123.js")
    assert plain.content == b"console.log(1)" and "immutable" in plain["Cache-Control"]
    assert plain["Content-Type"].startswith("text/javascript")
    zipped = Client().get("/assets/index-abc123.js", headers={"Accept-Encoding": "gzip"})
    assert zipped["Content-Encoding"] == "gzip" and gzip.decompress(zipped.content) == plain.content
    assert "Accept-Encoding" in zipped["Vary"]


def test_a_missing_asset_is_not_the_index_page(built: Path) -> None:
    assert Client().get("/assets/old-hash.js").status_code == 404


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/a%00b"]
)
def test_nothing_outside_of_the_console_is_served(built: Path, path: str) -> None:
    assert b"secret" not in Client().get(path).content


def test_strict_headers_everywhere(built: Path) -> None:
    for address in ("/", "/assets/index-abc123.js", "/api/v1/nothing", "/healthz"):
        answer = Client().get(address)
        policy = answer["Content-Security-Policy"]
        assert "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
        assert "ws://testserver" in policy
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_mistyped_addresses_of_the_api_are_problems(built: Path) -> None:
    for address in ("/api/v1/jbos", "/api", "/agent/v1/x", "/live/x", "/_allauth/x"):
        answer = Client().get(address)
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json"), address
        assert answer.json()["code"] == "not-found"
    assert Client().post("/jobs").status_code == 405


def test_before_the_build_a_page_says_what_to_do(settings: Settings, tmp_path: Path) -> None:
    settings.CONSOLE_DIR = tmp_path / "nothing"
    answer = Client().get("/")
    assert answer.status_code == 503 and b"make setup" in answer.content


def test_a_foreign_host_is_refused_as_a_problem(built: Path) -> None:
    answer = Client().get("/api/v1/me", headers={"Host": "evil.example"})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


@pytest.mark.django_db
def test_ready_when_both_servers_answer() -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}
    assert Client().get("/readyz").json() == {"status": "ok", "database": True, "broker": True}
