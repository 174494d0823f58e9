"""Facts of nodes decide live: power under the cap of the hour, read bandwidth, siblings; the unknown stays unknown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from agent.protocol import DeviceSample, NodeSample
from controlplane.base import clock
from controlplane.policy.service import activate
from inventory import telemetry
from inventory.ingest import apply_facts
from inventory.models import DeviceReading, Node, NodeReading
from inventory.streams import Reading
from queues.models import Job
from scheduling import cycle, declared, recordings
from scheduling.models import CoreBooking, Placement, Recording, ShapeReason
from scheduling.policy_bridge import current_policy, lasting_policy
from scheduling.snapshot import SnapshotCache, load_nodes
from tests.inventory import factories as inventory
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
LONG_MS = 10**9
DAY_CAP = """
scheduler:
  power:
    time-zone: Europe/Berlin
    hours: [{from: "08:00", to: "20:00", cap-w: 400}]
"""
# 12:00 and 21:00 in Berlin, by winter time.
NOON, EVENING = datetime(2027, 1, 12, 11, tzinfo=UTC), datetime(2027, 1, 12, 20, tzinfo=UTC)


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def reason_of(job: Job) -> str | None:
    return ShapeReason.objects.filter(shape=job.shape).values_list("code", flat=True).first()


def capped(watts: int) -> None:
    activate(f"scheduler: {{power: {{cap-w: {watts}}}}}", author=None, reason="test")


def test_the_cap_of_the_hour_keeps_a_hungry_job_off_until_the_evening(user):
    node = make.make_node(cores=16)
    for index in range(2):
        make.make_device(node, index=index)  # 250 W each by the catalogue
    activate(DAY_CAP, author=None, reason="expensive hours")
    worker = cycle.Worker()
    with time_machine.travel(NOON):
        hungry, modest = make.make_job(user, resources={"devices": 2}), make.make_job(user)
        make.run_cycle(worker)
        assert reason_of(hungry) == "power-cap"
        assert [p.job for p in Placement.objects.all()] == [modest]
    with time_machine.travel(EVENING):
        make.run_cycle(worker)
    assert Placement.objects.filter(job=hungry).exists()
    caps = []
    for row in Recording.objects.order_by("pk"):
        call = recordings.load(row.pk)
        caps.append(call.policy.power_cap_mw)
        assert recordings.replay(call).difference is None
    assert caps == [400_000, None]


def test_an_exported_history_has_no_cap_of_one_hour(user):
    activate(DAY_CAP, author=None, reason="expensive hours")
    with time_machine.travel(NOON):
        assert (current_policy().engine.power_cap_mw, lasting_policy().power_cap_mw) == (400_000, None)
    capped(700)
    assert current_policy().engine.power_cap_mw == lasting_policy().power_cap_mw == 700_000


def test_measured_power_counts_against_the_cap(user):
    device = make.make_device(make.make_node())
    make.make_job(user, resources={"devices": 1})
    capped(600)
    DeviceReading.objects.create(device=device, at=clock.now(), power_mw=380_000)
    make.run_cycle()
    assert reason_of(Job.objects.get()) == "power-cap"
    DeviceReading.objects.update(power_mw=60_000)
    make.run_cycle()
    assert Placement.objects.count() == 1


def test_a_node_stays_within_its_own_cap(user):
    small = make.make_node(labels={declared.POWER_CAP: "240.5", declared.IDLE_POWER: "80"})
    make.make_device(small)
    job = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    assert reason_of(job) == "node-power"
    large = make.make_node(labels={declared.POWER_CAP: "400", declared.IDLE_POWER: "80"})
    make.make_device(large)
    make.run_cycle()
    assert Placement.objects.get().node == large


def test_a_heavy_reader_goes_where_bandwidth_is_left(user):
    nodes = [make.make_node(labels={declared.READ_BANDWIDTH: "1000"}) for _ in range(2)]
    jobs = [make.make_job(user, resources={"read_bandwidth_mib_s": 800}) for _ in range(3)]
    make.run_cycle()
    placed = Placement.objects.order_by("job_id")
    assert {p.node_id for p in placed} == {node.pk for node in nodes}
    assert [p.job_id for p in placed] == [jobs[0].pk, jobs[1].pk]
    assert reason_of(jobs[2]) == "read-bandwidth"
    Node.objects.filter(pk=nodes[0].pk).update(labels={})
    make.run_cycle()
    assert Placement.objects.get(job=jobs[2]).node == nodes[0]


def test_unknown_figures_are_unknown(user):
    node = make.make_node(labels={declared.READ_BANDWIDTH: "fast", declared.IDLE_POWER: "-1"})
    make.make_device(node, model="Nobody's Card")
    make.make_device(node, index=1, power_limit_w=200)
    make.make_device(node, index=2)
    info = load_nodes([node.pk])[0]
    assert (info.read_bandwidth_total_mib_s, info.idle_mw, info.core_mw) == (None, None, None)
    assert (info.measured_mw, info.power_cap_mw) == (None, None)
    assert [d.power_limit_mw for d in info.devices] == [None, 200_000, 250_000]
    make.make_job(user, resources={"read_bandwidth_mib_s": 9000, "devices": 1})
    make.run_cycle()
    assert Placement.objects.get().read_bandwidth_mib_s == 9000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3.5", 3500), ("0", 0), ("12.125", 12_125), ("1.2345", None), ("1e3", None), ("", None), ("٣", None)],
)
def test_watts_are_exact(text, expected):
    assert declared.milliwatts({declared.CORE_POWER: text}, declared.CORE_POWER) == expected


def test_the_host_and_its_devices_are_measured_together():
    node = make.make_node()
    present, gone = make.make_device(node), make.make_device(node, index=1, health="missing")
    for device, power_mw in ((present, 210_000), (gone, 900_000)):
        DeviceReading.objects.create(device=device, at=clock.now(), power_mw=power_mw)
    assert load_nodes([node.pk])[0].measured_mw == 250_000
    NodeReading.objects.create(node=node, at=clock.now(), power_mw=400_001)
    assert load_nodes([node.pk])[0].measured_mw == 450_000
    old = clock.now() - timedelta(minutes=3)
    NodeReading.objects.update(at=old)
    assert load_nodes([node.pk])[0].measured_mw == 250_000
    DeviceReading.objects.update(at=old)
    assert load_nodes([node.pk])[0].measured_mw is None


def test_a_report_of_power_changes_no_revision_and_small_moves_change_nothing():
    node = make.make_node()
    device = make.make_device(node)
    cache = SnapshotCache()

    now_ms = clock.now_ms()

    def measured(later_ms: int, watts: int) -> int | None:
        sample = DeviceSample(device=device.identity, power_mw=watts * 1000)
        telemetry.store([Reading(node.pk, now_ms + later_ms, NodeSample(), [sample])], None)
        return cache.refresh(now_ms=now_ms + later_ms, whole_every_ms=1).info(node.pk).measured_mw

    assert measured(1, 210) == 250_000
    state = cache.state
    assert measured(2, 245) == 250_000 and cache.state is state
    assert measured(3, 260) == 300_000
    node.refresh_from_db()
    assert node.revision == 0


def test_facts_that_decide_are_seen_at_once():
    node = inventory.make_node()

    def say(watts: int, **changes) -> None:
        said = inventory.facts(inventory.device_facts(0, power_limit_w=watts), **changes)
        apply_facts(Node.objects.get(pk=node.pk), said, digest=f"{watts}", thresholds=inventory.THRESHOLDS)

    say(300)
    cache = SnapshotCache()
    cache.refresh(now_ms=0, whole_every_ms=LONG_MS)
    say(150, labels={declared.READ_BANDWIDTH: "700"})
    info = cache.refresh(now_ms=1, whole_every_ms=LONG_MS).info(node.pk)
    assert (info.read_bandwidth_total_mib_s, info.devices[0].power_limit_mw) == (700, 150_000)


def test_a_whole_look_sees_other_facts_though_the_revision_is_the_same():
    """As after the restore of a backup that counts up to an old revision again."""
    node = make.make_node(cores=4)
    cache = SnapshotCache()
    cache.refresh(now_ms=0, whole_every_ms=1)
    Node.objects.filter(pk=node.pk).update(facts=make.facts(cores=2), facts_digest="other")
    assert len(cache.refresh(now_ms=1, whole_every_ms=1).info(node.pk).cpus) == 2


@pytest.mark.parametrize("whole_every_ms", [1, LONG_MS])
def test_facts_of_nodes_that_are_gone_are_dropped(whole_every_ms):
    nodes = [make.make_node() for _ in range(2)]
    cache = SnapshotCache()
    cache.refresh(now_ms=0, whole_every_ms=whole_every_ms)
    Node.objects.filter(pk=nodes[0].pk).delete()
    cache.refresh(now_ms=1, whole_every_ms=whole_every_ms)
    assert cache._facts.keys() == {nodes[1].pk}


def test_siblings_stay_together(user):
    """Logical CPUs 0 and 2, 1 and 3 are one core each: a job of two takes one core, not half of two."""
    facts = make.facts(cores=4)
    for cpu in facts["cpus"]:
        cpu["core"] = cpu["id"] % 2
    make.make_node(cores=4, facts=facts)
    make.make_job(user, resources={"cores": 2})
    make.run_cycle()
    assert set(CoreBooking.objects.values_list("cpu", flat=True)) in ({0, 2}, {1, 3})
