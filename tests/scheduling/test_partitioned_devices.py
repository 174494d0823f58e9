"""Jobs on slices of partitioned devices: decided by the engine, guarded by the rows, named to the agent."""

from __future__ import annotations

import pytest

from agent.protocol import Partition
from controlplane.agentapi.connections import booked
from inventory.health import Thresholds
from inventory.ingest import apply_facts
from inventory.models import Device, DeviceHealth, Node, NodeState
from queues.models import Job
from scheduling.apply import StaleCode, StaleDecision, _check_devices
from scheduling.backends.agent import desired_set
from scheduling.engine.types import Placed, SliceChoice
from scheduling.models import Placement, Slice
from scheduling.selectors.resource_map import DEVICE_COLUMNS, resource_map
from scheduling.snapshot import load_nodes
from tests.inventory.factories import device_facts, facts, partition
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
GIB = 1024


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node() -> Node:
    return make.make_node(cores=4, state=NodeState.READY)


def report(node: Node, *parts: Partition, **changes) -> None:
    """The facts of one card that is cut like this, with a good check behind it."""
    whole = device_facts(0, partitions=list(parts), **changes)
    apply_facts(node, facts(whole, machine_id=node.machine_id), digest="d", thresholds=Thresholds())
    Device.objects.exclude(health=DeviceHealth.MISSING).update(health=DeviceHealth.HEALTHY)


def submitted(user, *, models: tuple[str, ...] = ("a100-mig",), **resources) -> Job:
    wanted = {"devices": 1, "device_models": list(models), **resources}
    return make.make_job(user, resources=wanted)


def places() -> list[str | None]:
    return [part.device.uuid for part in Slice.objects.select_related("device").order_by("placement_id")]


def test_jobs_run_on_slices_which_the_agent_is_told_by_uuid(user, node):
    report(node, partition(1), partition(2))
    for _ in range(3):
        submitted(user)
    make.run_cycle()
    assert sorted(places()) == ["MIG-00000001", "MIG-00000002"]
    _epoch, assignments = desired_set(node)
    told = {device.uuid for one in assignments for device in one.devices}
    assert told == {"MIG-00000001", "MIG-00000002"}
    assert all(device.pci_bus_id is None for one in assignments for device in one.devices)
    whole = Device.objects.get(parent=None).pk
    assert booked([whole])[whole].memory_mib == 80 * GIB


def test_the_whole_is_not_given_beside_its_slices_and_is_once_they_are_gone(user, node):
    report(node, partition(1))
    submitted(user, models=("nvidia-a100",))
    make.run_cycle()
    assert places() == []
    report(node)
    make.run_cycle()
    assert places() == ["GPU-00000000"]


def test_slices_wait_while_somebody_holds_the_whole(user, node):
    report(node)
    submitted(user, models=("nvidia-a100",))
    make.run_cycle()
    report(node, partition(1))
    submitted(user)
    make.run_cycle()
    assert places() == ["GPU-00000000"]


def test_memory_that_compute_instances_share_counts_once(user, node):
    parts = [partition(n, memory_group=1, compute_instance=n) for n in (1, 2)]
    report(node, *parts)
    infos = load_nodes([node.pk])[0].devices
    assert [(d.parent, d.memory_group) for d in infos[1:]] == [(infos[0].device, 1)] * 2
    submitted(user, device_memory="15Gi")
    submitted(user, device_memory="25Gi")
    make.run_cycle()
    assert len(places()) == 1


def test_a_slice_takes_nothing_where_its_device_would_not(user, node):
    report(node, partition(1))
    submitted(user)
    whole = Device.objects.filter(parent=None)
    for bad in ({"cordoned": True}, {"cordoned": False, "health": DeviceHealth.QUARANTINED}):
        whole.update(**bad)
        make.run_cycle()
        assert places() == []
    whole.update(health=DeviceHealth.SUSPECT)
    make.run_cycle()
    assert places() == ["MIG-00000001"]


def test_a_booked_slice_that_vanishes_is_missing_and_nothing_of_it_is_freed(user, node):
    report(node, partition(1), partition(2))
    submitted(user)
    make.run_cycle()
    (held,) = places()
    report(node, partition(7, uuid="MIG-anew"))
    assert Device.objects.get(uuid=held).health == DeviceHealth.MISSING
    assert places() == [held] and Placement.objects.get().phase == "assigned"
    # The whole stays cut as long as somebody holds a slice of it, whatever is reported.
    report(node)
    submitted(user, models=("nvidia-a100",))
    make.run_cycle()
    assert places() == [held]


def refused(
    node: Node, job: Job, device: Device, memory_mib: int = 1000, milli: int = 1000
) -> StaleCode | None:
    placed = Placed.__new__(Placed)
    for name, value in {
        "job": job.pk,
        "node": node.pk,
        "slices": (SliceChoice(device.pk, memory_mib, milli),),
    }.items():
        object.__setattr__(placed, name, value)
    try:
        _check_devices(placed, None)
    except StaleDecision as stale:
        return stale.code
    return None


def test_the_rows_guard_what_the_engine_did_not_see(user, node):
    report(node, partition(1, memory_group=1), partition(2, memory_group=1))
    whole, first, second = Device.objects.order_by("id")
    job = submitted(user)
    assert refused(node, job, whole) is StaleCode.DEVICE_BUSY
    assert refused(node, job, first, 20 * GIB) is None
    assert refused(node, job, first, 20 * GIB + 1) is StaleCode.DEVICE_MEMORY
    make.run_cycle()
    Slice.objects.update(device=whole)
    assert refused(node, job, second) is StaleCode.DEVICE_BUSY


def test_the_map_shows_wholes_and_slices_but_none_that_is_gone(user, node):
    report(node, partition(1), partition(2))
    report(node, partition(1))
    rows = resource_map()["nodes"][0][-1]
    shown = [dict(zip(DEVICE_COLUMNS, row, strict=True)) for row in rows]
    whole = Device.objects.get(parent=None)
    assert [row["parent"] for row in sorted(shown, key=lambda row: row["id"])] == [None, whole.pk]
