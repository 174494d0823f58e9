"""The whole API under generated requests: no fault of ours, and every answer as the description says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from controlplane.accounts.models import ApiToken, Role, Scope, User
from controlplane.policy.service import activate
from controlplane.wsgi import application
from inventory.models import NodeContact, RemoteProblem
from inventory.remote import ssh
from tests.controlplane.test_policy import SAMPLE
from tests.scheduling.factories import make_device, make_job, make_node, make_team, make_user

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 8


def nobody(address: str, port: int) -> NoReturn:
    """What a scan of an address says that nobody has."""
    raise ssh.Unreached(RemoteProblem.UNREACHABLE, address)


@pytest.fixture
def world(transactional_db: None, settings: Any, tmp_path: Path, monkeypatch: Any) -> dict[str, Any]:
    """One of each, so that some requests meet something. Nobody looks at the hosts that are made up here."""
    settings.SSH_KEYS_DIR = tmp_path
    monkeypatch.setattr(ssh, "scan", nobody)
    activate(SAMPLE.read_text(), author=None, reason="start")
    user = make_user("root", role=Role.ADMIN, team=make_team("vision"))
    node = make_node()
    NodeContact.objects.create(node=node)
    device = make_device(node)
    job = make_job(user)
    _row, secret = ApiToken.objects.create(user=user, name="t", scopes=list(Scope))
    names = {"node_id": node.pk, "device_id": device.pk, "job_id": job.pk, "slug": "vision"}
    return {"user": user, "secret": secret, "names": {**names, "username": "root"}}


def operations() -> Iterator[Any]:
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)
    for found in schema.get_all_operations():
        yield found.ok()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_breaks_the_server(world: dict[str, Any], mode: GenerationMode) -> None:
    failures: list[str] = []
    for operation in operations():
        try:
            drive(operation, mode, world)
        except FailureGroup as error:
            failures += [f"{operation.label}: {failure}" for failure in error.exceptions]
    assert not failures, "\n\n".join(failures)
    assert User.objects.filter(role=Role.ADMIN, is_active=True).exists()


def drive(operation: Any, mode: GenerationMode, world: dict[str, Any]) -> None:
    """Some generated requests to one operation; half of them name things that exist."""

    @hypothesis.settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode), known=st.booleans())
    def ask(case: Any, known: bool) -> None:
        if known:
            case.path_parameters = {**(case.path_parameters or {}), **_existing(case, world["names"])}
        if case.query and "wait_s" in case.query:
            case.query["wait_s"] = 0
        answer = case.call(headers={"Authorization": f"Bearer {world['secret']}"})
        case.validate_response(answer, checks=CHECKS)

    ask()


def _existing(case: Any, names: dict[str, Any]) -> dict[str, Any]:
    return {name: names[name] for name in (case.path_parameters or {}) if name in names}
