"""Reports: what is goes in, what should be comes out."""

import json
import math

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agent import protocol
from agent.protocol import CheckResult, ClockSample, DeviceSample, NodeSample, Reply
from controlplane.alerts.models import Alert
from controlplane.base.problems import Problem
from inventory.models import Device, DeviceHealth, Node, NodeContact, NodeCredential, NodeState, RetiredBoot
from inventory.node_states import set_by_operator
from inventory.operations import obey_node, release_node
from scheduling.backends.agent import bump_epoch
from tests.agentapi.speaking import Agent, enrolled, post, problem
from tests.inventory.factories import device_facts, facts

pytestmark = pytest.mark.django_db
BAD = CheckResult.FAILED


@pytest.fixture
def agent():
    return Agent(enrolled().token)


def test_the_first_report_asks_for_facts_and_the_second_makes_the_node_ready(agent):
    first = agent.report()
    assert first.want_facts and first.authoritative and Node.objects.get().state == NodeState.ENROLLED
    second = agent.report(facts=facts(device_facts(0)))
    assert not second.want_facts and second.report_interval_s == 10 and second.assignments == []
    assert Node.objects.get().state == NodeState.READY and Device.objects.count() == 1
    assert second.received_at_ms <= second.sent_at_ms and second.epoch >= 1
    assert agent.report(facts_digest="d2").want_facts


def test_the_same_report_twice_counts_its_checks_once(agent):
    agent.report(facts=facts(device_facts(0)))
    agent.check("GPU-00000000", CheckResult.OK)
    report = agent.make(checks=[protocol.Check(device="GPU-00000000", result=BAD)])
    for _ in range(5):
        assert agent.send(report).status_code == 200
    assert Device.objects.get().failed_checks == 1


@pytest.mark.parametrize("later", [1, 99, 100, 101, 4000])
def test_a_report_that_arrives_late_changes_nothing_however_late(agent, later):
    agent.seq = 5000
    agent.report(facts=facts(hostname="n1"))
    late = agent.make(facts=facts(hostname="late"), facts_digest="d0")
    agent.seq += later - 1
    agent.report()
    for _ in range(3):
        assert agent.send(late).status_code == 200 and Node.objects.get().name == "n1"
        agent.report()


def test_a_restarted_agent_is_heard_at_once_and_another_life_from_its_second_report_on(agent):
    agent.seq = 5000
    agent.report(facts=facts(hostname="n1"))
    agent.seq = 90_000
    agent.report(facts=facts(hostname="restarted"))
    assert Node.objects.get().name == "restarted"
    agent.seq = 10
    for name in ("restarted", "snapshot"):
        agent.report(facts=facts(hostname="snapshot"))
        assert Node.objects.get().name == name
    agent.report(facts=facts(hostname="goes-on"))
    assert Node.objects.get().name == "goes-on"


def test_checks_move_health_keep_evidence_and_raise_alerts(agent):
    agent.report(facts=facts(device_facts(0)))
    for _ in range(3):
        agent.check("GPU-00000000", BAD, code="xid-79", evidence="Xid 79")
    device = Device.objects.get()
    assert (device.health, device.health_reason, device.health_evidence) == (
        "quarantined",
        "xid-79",
        "Xid 79",
    )
    assert Alert.objects.get(cleared_at=None).code == "device-quarantined"
    for _ in range(5):
        agent.check("GPU-00000000", CheckResult.OK)
    assert Device.objects.get().health == DeviceHealth.RECOVERED
    assert Device.objects.get().health_evidence == "Xid 79"
    assert Alert.objects.get(cleared_at=None).code == "device-recovered"


def test_health_survives_a_restart_of_the_agent(agent):
    agent.report(facts=facts(device_facts(0)))
    agent.check("GPU-00000000", CheckResult.FATAL)
    restarted = Agent(agent.token)
    restarted.seq = 1000
    restarted.report(facts=facts(device_facts(0)))
    for _ in range(4):
        restarted.check("GPU-00000000", CheckResult.OK)
    assert Device.objects.get().health == DeviceHealth.QUARANTINED


def test_a_device_that_no_check_names_is_unknown_and_drained(agent):
    agent.report(facts=facts(device_facts(0), device_facts(1)))
    for _ in (0, 1):
        agent.report(checks=[protocol.Check(device=f"GPU-0000000{n}", result=CheckResult.OK) for n in (0, 1)])
    for _ in range(3):
        agent.check("GPU-00000000", CheckResult.OK)
    assert list(Device.objects.order_by("index").values_list("health", flat=True)) == ["healthy", "unknown"]


def test_the_worst_of_several_checks_of_a_device_counts(agent):
    agent.report(facts=facts(device_facts(0)))
    results = [CheckResult.OK, CheckResult.FATAL, CheckResult.UNKNOWN]
    agent.report(checks=[protocol.Check(device="GPU-00000000", result=result) for result in results])
    assert Device.objects.get().health == DeviceHealth.QUARANTINED


def test_a_rename_keeps_the_node(agent):
    agent.report(facts=facts(hostname="old"))
    agent.report(facts=facts(hostname="new"), facts_digest="d2")
    assert Node.objects.get().name == "new"


def test_a_reboot_is_no_clone(agent):
    agent.report(facts=facts())
    for number in range(2, 6):
        rebooted = Agent(agent.token, f"boot-{number}")
        assert rebooted.report().authoritative and rebooted.report().authoritative
    assert Node.objects.get().state == NodeState.READY and RetiredBoot.objects.count() == 4


def test_interleaved_boots_quarantine_the_node_and_nobody_is_obeyed(agent):
    agent.report(facts=facts())
    clone = Agent(agent.token, "boot-2")
    assert clone.report().authoritative
    assert not agent.report().authoritative
    assert not clone.report().authoritative
    node = Node.objects.get()
    assert (node.state, node.state_reason) == (NodeState.QUARANTINED, "duplicate-machine")
    assert Alert.objects.get(cleared_at=None).code == "duplicate-machine"


def test_a_job_for_one_place_stops_before_the_node_can_be_lost(agent):
    assert agent.report().silence_limit_s == 180 - 10 - 2 * 10


def test_a_restored_backup_waits_for_an_admin(agent):
    cluster = agent.report(facts=facts()).cluster_id
    assert agent.report(epoch=1, cluster_id=cluster).authoritative
    assert not agent.report(epoch=40, cluster_id=cluster).authoritative
    node = Node.objects.get()
    alert = Alert.objects.get(cleared_at=None)
    assert (node.state, alert.code) == (NodeState.QUARANTINED, "restored-backup")
    assert alert.details["obeyed_epoch"] == 40 and alert.details["epoch"] == 1
    bump_epoch([node.pk])
    assert not agent.report(epoch=40, cluster_id=cluster).authoritative
    assert Alert.objects.get(cleared_at=None).code == "restored-backup"
    obey_node(node, reason="yes, the backup")
    reply = agent.report(epoch=40, cluster_id=cluster)
    assert reply.authoritative and reply.epoch == 41
    assert agent.report(epoch=41, cluster_id=cluster).authoritative
    assert Node.objects.get().state == NodeState.READY and not Alert.objects.filter(cleared_at=None).exists()
    with pytest.raises(Problem, match="node-not-ahead"):
        obey_node(Node.objects.get(), reason="again")


def test_a_release_is_no_way_around_the_admin(agent):
    cluster = agent.report(facts=facts()).cluster_id
    agent.report(epoch=40, cluster_id=cluster)
    with pytest.raises(Problem, match="node-restored"):
        release_node(Node.objects.get(), reason="let it in")
    for _ in range(50):
        bump_epoch([Node.objects.get().pk])
    assert not agent.report(epoch=40, cluster_id=cluster).authoritative


def test_an_epoch_of_another_cluster_says_nothing_about_this_one(agent):
    agent.report(facts=facts())
    assert agent.report(epoch=40, cluster_id="elsewhere").authoritative


def test_a_quarantined_node_learns_nothing_and_a_release_lets_the_survivor_in(agent):
    agent.report(facts=facts())
    clone = Agent(agent.token, "boot-2")
    clone.report()
    agent.report()
    clone.report(facts=facts(hostname="evil"), facts_digest="d9")
    assert Node.objects.get().name == "n1"
    release_node(Node.objects.get(), reason="clone is off")
    assert agent.report().authoritative and Node.objects.get().state == NodeState.READY
    clone.report()
    assert not agent.report().authoritative


def test_a_token_on_another_machine_is_refused_and_the_node_goes_on(agent):
    agent.report(facts=facts())
    answer = Agent(agent.token, "boot-9").send(agent.make(boot_id="boot-9", facts=facts(machine_id="other")))
    assert (answer.status_code, problem(answer)["code"]) == (409, "machine-mismatch")
    assert agent.report().authoritative and NodeContact.objects.get().boot_id == "boot-1"


def test_the_state_set_by_an_operator_survives_reports(agent):
    agent.report(facts=facts())
    set_by_operator(Node.objects.get(), NodeState.CORDONED, reason="fan")
    agent.report()
    assert Node.objects.get().state == NodeState.CORDONED


def test_a_returning_node_stands_where_it_stood(agent):
    agent.report(facts=facts())
    Node.objects.update(state=NodeState.LOST, state_before_silence=NodeState.DRAINING)
    agent.report()
    assert (Node.objects.get().state, Node.objects.get().state_before_silence) == (NodeState.DRAINING, None)


@pytest.mark.parametrize("authorization", ["", "Bearer", "Basic x", "Bearer hrn_made-up", "Bearer hr_user"])
def test_without_a_good_token_nothing_is_heard(authorization):
    answer = post("report", Agent("").make(), HTTP_AUTHORIZATION=authorization)
    assert answer.status_code == 401 and problem(answer)["code"] in (
        "not-authenticated",
        "node-token-invalid",
    )


def test_a_revoked_token_says_so(agent):
    NodeCredential.objects.update(revoked_at="2026-01-01T00:00:00Z")
    answer = agent.send(agent.make())
    assert (answer.status_code, problem(answer)["code"]) == (401, "node-token-revoked")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"seq": "1"}, "seq"),
        ({"seq": -1}, "seq"),
        ({"boot_id": ""}, "boot_id"),
        ({"samples": [{"device": 7}]}, "samples[0].device"),
        ({"samples": [{"device": "x", "power_mw": "7"}]}, "samples[0].power_mw"),
        ({"checks": [{"device": "x", "result": "fine"}]}, "checks[0].result"),
        ({"tasks": [{"placement": 1, "attempt": 1, "fence": -3, "phase": "running"}]}, "tasks[0].fence"),
        (
            {"tasks": [{"placement": 1, "attempt": 1, "fence": 1, "phase": "ended", "log_bytes": 2**63}]},
            "tasks[0].log_bytes",
        ),
        ({"facts": {"machine_id": "m"}}, "facts"),
        ({"seq": math.nan}, "seq"),
    ],
)
def test_wrong_fields_are_named(agent, changes, field):
    document = msgspec.to_builtins(agent.make()) | changes
    answer = agent.send(json.dumps(document).encode())
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in problem(answer)["errors"]] == [field]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b'{"version": 1', b"[" * 100_000])
def test_what_is_no_message_is_refused(agent, body):
    assert agent.send(body).status_code == 400


@pytest.mark.parametrize("version", [0, 2, 99])
def test_versions_that_this_server_does_not_speak_are_named(agent, version):
    answer = agent.send(json.dumps({"version": version, "new": True}).encode())
    assert (answer.status_code, problem(answer)["code"]) == (426, "unsupported-version")
    assert problem(answer)["params"] == {"version": version, "oldest": 1, "newest": 1}


def test_too_large_bodies_are_refused(agent):
    assert agent.send(b" " * (8 * 1024 * 1024 + 1)).status_code == 413


@pytest.mark.parametrize(
    "number", ["4294967295", "9223372036854775794", "1e400", "NaN", "-1", "9223372036854775808", "1.5"]
)
def test_sentinels_of_drivers_are_unknown_and_stop_nothing(agent, number):
    agent.report(facts=facts(device_facts(0)))
    document = msgspec.to_builtins(
        agent.make(node=NodeSample(), samples=[DeviceSample(device="GPU-00000000")])
    )
    body = json.dumps(document).replace('"utilization_pct": null', f'"utilization_pct": {number}')
    assert agent.send(body.encode()).status_code == 200


def test_a_clock_surely_off_raises_one_alert_that_ends_when_it_is_back(agent):
    agent.report(facts=facts())
    agent.report(clock=ClockSample(offset_us=60_000, uncertainty_us=20_000))
    assert not Alert.objects.exists()
    for _ in range(3):
        agent.report(clock=ClockSample(offset_us=-600_000_000, uncertainty_us=20_000))
    assert Alert.objects.get(cleared_at=None).code == "clock-offset"
    assert NodeContact.objects.get().clock_offset_us == -600_000_000
    agent.report(clock=ClockSample(offset_us=10_000, uncertainty_us=20_000))
    assert not Alert.objects.filter(cleared_at=None).exists()
    assert Node.objects.get().state == NodeState.READY


def test_an_absurd_clock_is_unknown(agent):
    agent.report(facts=facts(), clock=ClockSample(offset_us=2**63 - 1, uncertainty_us=0))
    assert NodeContact.objects.get().clock_offset_us is None


def test_wrong_methods_are_answered(client):
    assert client.get("/agent/v1/report").status_code == 405
    assert client.post("/agent/v1/wake").status_code == 405


def test_a_quiet_report_costs_few_queries_and_writes_only_the_contact(agent):
    devices = [device_facts(number) for number in range(8)]
    checks = [protocol.Check(device=f"GPU-{number:08x}", result=CheckResult.OK) for number in range(8)]
    agent.report(facts=facts(*devices))
    for _ in range(6):
        agent.report(checks=checks)
    report = agent.make(checks=checks)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = agent.send(report)
    assert protocol.decode(answer.content, Reply).authoritative
    statements = [query["sql"] for query in queries]
    assert [sql for sql in statements if sql.startswith("UPDATE")] == [
        sql for sql in statements if "inventory_nodecontact" in sql and sql.startswith("UPDATE")
    ]
    assert len(statements) <= 12, statements
