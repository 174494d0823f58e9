"""Reports that say nothing new: noted by one statement, and only where taking them in would change nothing."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

import pytest
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agent import protocol
from agent.protocol import Check, CheckResult, ClockSample, DeviceSample, Reply, Report
from controlplane.agentapi import gate, quiet
from controlplane.alerts.models import Alert
from controlplane.policy.service import activate
from inventory import streams
from inventory.models import Device, Node, NodeContact, NodeCredential, NodeState
from inventory.node_states import mark_silent
from scheduling.backends.agent import bump_epoch
from tests.agentapi.speaking import Agent, enrolled
from tests.inventory.factories import device_facts, facts

pytestmark = pytest.mark.django_db
OK = [Check(device="GPU-00000000", result=CheckResult.OK)]


@pytest.fixture
def agent(valkey_url: str) -> Agent:
    """An agent that has said the same some times."""
    one = Agent(enrolled().token)
    one.report(facts=facts(device_facts(0)))
    for _ in range(8):
        one.report(checks=OK)
    streams.client().delete(streams.STREAM)
    return one


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the reports that were not quiet."""
    taken: list[int] = []
    usual = quiet.standing_of

    def counted(node_id: int) -> str:
        taken.append(node_id)
        return usual(node_id)

    monkeypatch.setattr("controlplane.agentapi.report.standing_of", counted)
    return taken


def test_what_was_said_before_is_noted_and_answered_without_more(agent, long_way):
    before = NodeContact.objects.get()
    sample = DeviceSample(device="GPU-00000000", power_mw=5)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        reply = agent.report(checks=OK, samples=[sample], clock=ClockSample(offset_us=7, uncertainty_us=1))
    assert not long_way and len(queries) == 1, "who it is; the other statement is not Django's"
    after = NodeContact.objects.get()
    assert after.received_at > before.received_at and after.checks_at > before.checks_at
    assert (after.seq, after.clock_offset_us) == (agent.seq, 7)
    assert (reply.authoritative, reply.want_facts, reply.report_interval_s) == (True, False, 10)
    assert streams.client().xlen(streams.STREAM) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"checks": [Check(device="GPU-00000000", result=CheckResult.FAILED)]},
        {"checks": []},
        {"facts_digest": "other"},
        {"boot_id": "boot-2"},
        {"epoch": 9},
        {"clock": ClockSample(offset_us=900_000, uncertainty_us=10)},
    ],
)
def test_what_is_new_goes_the_long_way(agent, long_way, changes):
    agent.send(agent.make(**{"checks": OK, **changes}))
    if "clock" in changes:
        assert Alert.objects.filter(code="clock-offset", cleared_at=None).exists()
    elif changes.get("epoch") != 9:
        assert long_way


def test_failed_checks_are_all_counted_though_they_are_equal(agent):
    bad = [Check(device="GPU-00000000", result=CheckResult.FAILED, code="xid-31")]
    for expected in (1, 2, 3):
        agent.report(checks=bad)
        assert Device.objects.get().failed_checks == expected
    agent.report(checks=OK)
    unread = [Check(device="GPU-00000000", result=CheckResult.UNKNOWN)]
    counts = []
    for _ in range(2):
        agent.report(checks=unread)
        counts.append(Device.objects.get().unknown_checks)
        agent.report(checks=OK)
    assert counts == [1, 1]


@pytest.mark.parametrize("what", ["device", "node", "policy", "plan", "silence", "revoked"])
def test_a_change_of_what_stands_ends_the_quiet(agent, long_way, what):
    node = Node.objects.get()
    agent.report(checks=OK)
    assert not long_way
    if what == "device":
        Device.objects.update(unknown_checks=1)
    elif what == "node":
        Node.objects.update(facts_digest="other")
    elif what == "policy":
        activate("scheduler: {health: {good-checks: 9}}", author=None, reason="")
    elif what == "plan":
        bump_epoch([node.pk])
    elif what == "silence":
        mark_silent(node)
    else:
        NodeCredential.objects.update(revoked_at=node.enrolled_at)
        assert agent.send(agent.make(checks=OK)).status_code == 401
        return
    reply = agent.report(checks=OK)
    assert long_way == [node.pk]
    if what == "silence":
        assert Node.objects.get().state == NodeState.READY
    if what == "plan":
        assert reply.epoch == 2
    if what == "node":
        assert reply.want_facts


def test_late_and_repeated_reports_are_no_quiet_ones(agent, long_way):
    report = agent.make(checks=OK)
    agent.send(report)
    seq = NodeContact.objects.get().seq
    assert agent.send(report).status_code == 200
    agent.seq -= 3
    agent.report(checks=OK)
    assert NodeContact.objects.get().seq == seq and not long_way


def knock(agent: Agent, report: Report | bytes, **environ: str) -> tuple[str, bytes]:
    """Through the WSGI application with the door in front of it."""
    body = report if isinstance(report, bytes) else protocol.encode(report)
    said: list[str] = []
    given: dict[str, Any] = {
        "REQUEST_METHOD": "POST", "PATH_INFO": "/agent/v1/report", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
        "HTTP_HOST": "localhost", "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body)),
        "HTTP_AUTHORIZATION": f"Bearer {agent.token}", "REMOTE_ADDR": "10.1.2.3", "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(), "wsgi.url_scheme": "http", **environ,
    }  # fmt: skip
    application = gate.behind_gate(get_wsgi_application())
    parts = application(given, lambda status, _headers, *_more: said.append(status))
    return said[0][:3], b"".join(parts)


@pytest.fixture
def known(transactional_db: None, valkey_url: str) -> Agent:
    """A quiet agent whose rows another connection can see."""
    one = Agent(enrolled().token)
    one.report(facts=facts(device_facts(0)))
    for _ in range(8):
        one.report(checks=OK)
    streams.client().delete(streams.STREAM)
    return one


@pytest.fixture(autouse=True)
def own_connection():
    yield
    gate._forget()


def test_the_door_answers_quiet_reports_itself(known, django_assert_num_queries):
    sample = DeviceSample(device="GPU-00000000", power_mw=5)
    with django_assert_num_queries(0):
        status, body = knock(known, known.make(checks=OK, samples=[sample]))
    assert status == "200" and protocol.decode(body, Reply).authoritative
    contact = NodeContact.objects.get()
    assert (contact.seq, contact.address) == (known.seq, "10.1.2.3")
    waited = threading.Event()
    for _ in range(100):
        if streams.client().xlen(streams.STREAM):
            break
        waited.wait(0.05)
    assert streams.client().xlen(streams.STREAM) == 1


def test_the_door_leaves_everything_else_to_django(known):
    bad = [Check(device="GPU-00000000", result=CheckResult.FAILED)]
    assert knock(known, known.make(checks=bad))[0] == "200"
    assert Device.objects.get().failed_checks == 1
    assert knock(known, b"{")[0] == "400"
    status, body = knock(known, known.make(checks=OK), HTTP_AUTHORIZATION="Bearer hrn_nobody")
    assert (status, json.loads(body)["code"]) == ("401", "node-token-invalid")
    assert knock(known, b"", PATH_INFO="/healthz", REQUEST_METHOD="GET")[0] == "200"


def test_a_database_that_the_door_cannot_reach_is_asked_again_by_django(known, monkeypatch):
    knock(known, known.make(checks=OK))
    gate._own.connection.pgconn.finish()
    assert knock(known, known.make(checks=OK))[0] == "200"
    assert NodeContact.objects.get().seq == known.seq
