"""Silence by the server's clock, and what does not count."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from controlplane.alerts.models import Alert
from controlplane.base import clock as server_clock
from controlplane.policy.active import active_policy
from inventory.models import Device, DeviceHealth, Node, NodeContact, NodeState, ProbeBeat, UncountedTime
from inventory.node_states import note_claim
from inventory.probing import probe
from inventory.silence import Span, counted, is_mass
from inventory.wiring import UPWARD
from tests.inventory.factories import make_device, make_node

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds):
    return START + timedelta(seconds=seconds)


spans = st.lists(st.tuples(st.integers(-500, 500), st.integers(0, 300)), max_size=8).map(
    lambda pairs: [Span(at(start), at(start + length)) for start, length in pairs]
)


@given(st.integers(-400, 400), st.integers(0, 400), spans)
def test_counted_silence_is_the_seconds_outside_of_all_spans(received, passed, uncounted):
    now = received + passed
    inside = {
        second
        for second in range(received, now)
        if any(span.started_at <= at(second) < span.ended_at for span in uncounted)
    }
    assert counted(at(received), at(now), uncounted) == timedelta(seconds=passed - len(inside))


def test_one_node_alone_is_no_mass_and_a_third_is():
    assert not is_mass(1, 1, percent=30) and not is_mass(1, 2, percent=30)
    assert is_mass(2, 2, percent=30) and is_mass(4, 10, percent=30)
    assert not is_mass(3, 10, percent=30)


@pytest.fixture
def clock():
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def lost(monkeypatch):
    nodes = []
    monkeypatch.setattr(UPWARD, "declare_lost", nodes.append)
    return nodes


def nodes(count):
    made = [make_node(f"machine-{number}") for number in range(count)]
    hear(made)
    return made


def hear(heard):
    NodeContact.objects.filter(node__in=heard).update(
        received_at=server_clock.now(), checks_at=server_clock.now()
    )


def states(made):
    return list(
        Node.objects.filter(pk__in=[node.pk for node in made]).order_by("pk").values_list("state", flat=True)
    )


def run(clock, *, until, heard=(), since=0):
    """Beats every 10 s; `heard` report on each beat."""
    for second in range(since + 10, until + 1, 10):
        clock.move_to(at(second))
        hear(heard)
        probe(active_policy().health)


pytestmark = pytest.mark.django_db


def test_a_silent_node_gets_no_jobs_after_45_s_and_is_lost_after_180_s(clock, lost):
    made = nodes(5)
    run(clock, until=40, heard=made[1:])
    assert states(made)[0] == NodeState.READY
    run(clock, since=40, until=50, heard=made[1:])
    assert states(made) == [NodeState.SILENT, *[NodeState.READY] * 4]
    assert Alert.objects.get(cleared_at=None).code == "node-silent"
    run(clock, since=50, until=170, heard=made[1:])
    assert states(made)[0] == NodeState.SILENT and lost == []
    run(clock, since=170, until=190, heard=made[1:])
    assert states(made)[0] == NodeState.LOST and lost == [made[0].pk]
    assert Alert.objects.get(cleared_at=None).code == "node-lost"


def test_the_only_node_can_be_lost_too(clock, lost):
    made = nodes(1)
    run(clock, until=200)
    assert states(made) == [NodeState.LOST] and lost == [made[0].pk]


def test_the_control_planes_own_absence_is_nobodys_silence(clock, lost):
    made = nodes(1)
    run(clock, until=20, heard=made)
    clock.move_to(at(3600))
    probe(active_policy().health)
    assert states(made) == [NodeState.READY]
    assert UncountedTime.objects.get().cause == "down"
    run(clock, since=3600, until=3650)
    assert states(made) == [NodeState.SILENT] and lost == []
    run(clock, since=3650, until=3800)
    assert lost == [made[0].pk]


def test_many_silent_together_are_silent_but_not_lost(clock, lost):
    made = nodes(10)
    run(clock, until=1000, heard=made[4:])
    assert states(made) == [*[NodeState.SILENT] * 4, *[NodeState.READY] * 6]
    assert lost == []
    assert Alert.objects.filter(code="mass-silence", cleared_at=None).exists()
    run(clock, since=1000, until=1100, heard=made[3:])
    assert lost == []
    run(clock, since=1100, until=1250, heard=made[3:])
    assert sorted(lost) == [node.pk for node in made[:3]]
    assert not Alert.objects.filter(code="mass-silence", cleared_at=None).exists()


def test_a_refused_claim_is_forgotten_after_an_hour(clock, lost):
    (node,) = nodes(1)
    run(clock, until=10, heard=[node])
    clock.move_to(at(1800))
    note_claim(node.pk, why="duplicate-machine", details={})
    run(clock, since=3690, until=3700, heard=[node])
    assert Alert.objects.filter(cleared_at=None).exists()
    run(clock, since=7390, until=7400, heard=[node])
    assert not Alert.objects.filter(cleared_at=None).exists()


def test_cordoned_and_quarantined_nodes_fall_silent_too_and_remember(clock, lost):
    made = nodes(5)
    Node.objects.filter(pk=made[0].pk).update(state=NodeState.QUARANTINED)
    run(clock, until=200, heard=made[1:])
    node = Node.objects.get(pk=made[0].pk)
    assert (node.state, node.state_before_silence) == (NodeState.LOST, NodeState.QUARANTINED)


def test_a_node_that_never_reported_is_not_silent(clock, lost):
    node = make_node(state=NodeState.ENROLLED)
    run(clock, until=400)
    assert states([node]) == [NodeState.ENROLLED]


def test_a_duplicate_tick_is_harmless(clock, lost):
    made = nodes(3)
    for _ in range(5):
        probe(active_policy().health)
    assert states(made) == [NodeState.READY] * 3 and ProbeBeat.objects.get().at == START


def test_a_clock_that_steps_back_loses_nobody(clock, lost):
    made = nodes(3)
    run(clock, until=30, heard=made)
    clock.move_to(at(-3600))
    probe(active_policy().health)
    assert states(made) == [NodeState.READY] * 3


def test_a_node_that_reports_without_checks_drains_its_devices(clock, lost):
    (node,) = nodes(1)
    make_device(node)
    run(clock, until=20, heard=[node])
    for second in range(30, 100, 10):
        clock.move_to(at(second))
        NodeContact.objects.update(received_at=at(second))
        probe(active_policy().health)
    device = Device.objects.get()
    assert (device.health, device.health_reason) == (DeviceHealth.UNKNOWN, "no-checks")
    assert states([node]) == [NodeState.READY]


def test_reports_that_are_late_are_no_checks_that_are_missing(clock, lost):
    (node,) = nodes(1)
    make_device(node)
    run(clock, until=20, heard=[node])
    NodeContact.objects.update(checks_at=at(20), received_at=at(20))
    for second in range(30, 65, 5):
        clock.move_to(at(second))
        assert probe(active_policy().health).unchecked == 0
    assert Device.objects.get().health == DeviceHealth.HEALTHY


def test_a_silent_nodes_devices_are_not_judged(clock, lost):
    made = nodes(4)
    make_device(made[0])
    run(clock, until=300, heard=made[1:])
    assert Device.objects.get().health == DeviceHealth.HEALTHY
