"""Reports that say nothing new: noted by one statement, and only where taking them in would change nothing."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import psycopg
import pytest
import redis
from django.core.wsgi import get_wsgi_application
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from agent import protocol
from agent.protocol import Check, CheckResult, ClockSample, DeviceSample, Reply, Report
from controlplane.agentapi import bodies, gate, quiet, report
from controlplane.alerts.models import Alert
from controlplane.policy import active
from controlplane.policy.service import activate
from inventory import streams
from inventory.models import Device, Node, NodeContact, NodeCredential, NodeState
from inventory.node_states import mark_lost, mark_silent
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
        # It is noted before the alarm is seen, and so taken in as a repeated one.
        assert Alert.objects.filter(code="clock-offset", cleared_at=None).exists()
    else:
        assert len(long_way) == 1
    assert NodeContact.objects.get().epoch == changes.get("epoch", 0)


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


def test_each_of_two_silences_in_a_row_ends_with_the_next_report(valkey_url, long_way):
    """Without a device nothing but the state of the node tells one report from the next."""
    agent = Agent(enrolled().token)
    agent.report(facts=facts())
    for _ in range(3):
        agent.report()
    assert len(long_way) < 4, "quiet before"
    for away in [NodeState.SILENT] * 2 + [NodeState.LOST] * 2:
        assert mark_silent(Node.objects.get())
        if away is NodeState.LOST:
            assert mark_lost(Node.objects.get())
        agent.report()
        assert Node.objects.get().state == NodeState.READY
        assert not Alert.objects.filter(cleared_at=None, subject_type="node").exists()


def test_only_the_statement_for_quiet_reports_is_prepared(agent):
    agent.report(checks=OK)
    assert connection.connection.prepare_threshold is None


def test_late_and_repeated_reports_are_no_quiet_ones(agent, long_way):
    said = agent.make(checks=OK)
    agent.send(said)
    seq = NodeContact.objects.get().seq
    assert not long_way
    assert agent.send(said).status_code == 200
    agent.seq -= 3
    agent.report(checks=OK)
    assert NodeContact.objects.get().seq == seq and len(long_way) == 2


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


def test_the_door_answers_quiet_reports_itself(known, django_assert_num_queries, valkey_url):
    sample = DeviceSample(device="GPU-00000000", power_mw=5)
    with django_assert_num_queries(0):
        status, body = knock(known, known.make(checks=OK, samples=[sample]))
    assert status == "200" and protocol.decode(body, Reply).authoritative
    contact = NodeContact.objects.get()
    assert (contact.seq, contact.address) == (known.seq, "10.1.2.3")
    with redis.Redis.from_url(valkey_url) as waiting:
        assert waiting.xread({streams.STREAM: "0"}, block=30_000)
    assert streams.client().xlen(streams.STREAM) == 1


def test_the_door_leaves_everything_else_to_django(known):
    bad = [Check(device="GPU-00000000", result=CheckResult.FAILED)]
    assert knock(known, known.make(checks=bad))[0] == "200"
    assert Device.objects.get().failed_checks == 1
    assert knock(known, b"{")[0] == "400"
    status, body = knock(known, known.make(checks=OK), HTTP_AUTHORIZATION="Bearer hrn_nobody")
    assert (status, json.loads(body)["code"]) == ("401", "node-token-invalid")
    assert knock(known, b"", PATH_INFO="/healthz", REQUEST_METHOD="GET")[0] == "200"


def test_what_the_door_asked_django_asks_not_again(known, monkeypatch):
    asked = []
    monkeypatch.setattr(report, "note", lambda *arguments, **more: asked.append(1))
    bad = [Check(device="GPU-00000000", result=CheckResult.FAILED)]
    assert knock(known, known.make(checks=bad))[0] == "200"
    assert asked == [] and Device.objects.get().failed_checks == 1


def test_a_database_that_the_door_cannot_reach_is_asked_again_by_django(known, monkeypatch):
    ask, failures = quiet.ask, [psycopg.OperationalError("gone")]

    def failing_once(*args: Any) -> Any:
        if failures:
            raise failures.pop()
        return ask(*args)

    monkeypatch.setattr(quiet, "ask", failing_once)
    assert knock(known, known.make(checks=OK))[0] == "200"
    assert NodeContact.objects.get().seq == known.seq
    assert not failures


def test_what_the_door_asked_the_orm_for_costs_no_connection(known):
    """What the reply is made of is read by the ORM where this process does not know it yet."""
    active._document.cache_clear()
    assert knock(known, known.make(checks=OK))[0] == "200"
    assert active._document.cache_info().currsize and connection.connection is None


def test_an_error_of_the_orm_in_the_door_is_told_by_django(known, monkeypatch):
    def away(*_args: object, **_named: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(gate, "quiet_reply", away)
    report = known.make(checks=OK)
    assert knock(known, report)[0] == "200", "noted already, so taken in as a repeated one"


def test_nothing_of_a_body_is_unpacked_for_a_stranger(known, monkeypatch):
    unpacked: list[int] = []
    usual = bodies._gunzip

    def counted(body: bytes, *, limit: int) -> bytes:
        unpacked.append(limit)
        return usual(body, limit=limit)

    monkeypatch.setattr(bodies, "_gunzip", counted)
    bomb = gzip.compress(b" " * 8_000_000)
    assert len(bomb) < gate.MOST_BYTES
    packed = {"HTTP_CONTENT_ENCODING": "gzip"}
    assert knock(known, bomb, HTTP_AUTHORIZATION="Bearer hrn_nobody", **packed)[0] == "401"
    assert not unpacked
    assert knock(known, gzip.compress(protocol.encode(known.make(checks=OK))), **packed)[0] == "200"
    assert unpacked == [gate.MOST_BYTES]
    NodeCredential.objects.update(revoked_at=Node.objects.get().enrolled_at)
    assert knock(known, known.make(checks=OK))[0] == "401"


def test_a_body_that_must_be_repaired_is_repaired_by_django_alone(known, monkeypatch):
    body = protocol.encode(known.make(checks=OK, clock=ClockSample(offset_us=7, uncertainty_us=1)))
    repaired: list[bytes] = []
    usual = bodies._decode_repaired
    monkeypatch.setattr(bodies, "_decode_repaired", lambda *args: (repaired.append(args[0]), usual(*args))[1])
    knock(known, body.replace(b'"epoch":0', b'"epoch":1e400'))
    assert len(repaired) == 1


def test_a_database_in_another_time_zone_has_quiet_reports(known, settings, django_assert_num_queries):
    """Rows are digested as text, and times in them are written in the zone of the session."""
    name, role = settings.DATABASES["default"]["NAME"], settings.DATABASES["default"]["USER"]
    where = f'ROLE "{role}" IN DATABASE "{connection.settings_dict["NAME"] or name}"'
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER {where} SET timezone = 'Asia/Shanghai'")
    connection.close()
    connection.close_pool()
    try:
        for _ in range(2):
            with django_assert_num_queries(0):
                assert knock(known, known.make(checks=OK))[0] == "200"
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER {where} RESET timezone")
        connection.close()
        connection.close_pool()
