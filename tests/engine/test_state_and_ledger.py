"""Columns follow their nodes; the ledger takes, gives back, rolls back, and never goes below zero."""

from dataclasses import replace

import numpy as np
import pytest

from scheduling.engine import codec
from scheduling.engine.allocation import Allocation
from scheduling.engine.ledger import Ledger, LedgerError
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import Request
from tests.engine.build import GIB, POLICY, cpus, device, job, node


def state() -> ClusterState:
    return ClusterState.build([node(7, [device(71), device(72)]), node(3), node(5, [device(51, 24 * GIB)])])


def allocation(**fields: object) -> Allocation:
    given: dict[str, object] = {
        "node": 1,
        "devices": np.array([0]),
        "memory_mib": np.array([GIB]),
        "compute_milli": np.array([100]),
        "cpus": np.array([16, 17]),
        "host_memory_mib": 10,
        "read_bandwidth_mib_s": 5,
        **fields,
    }
    return Allocation(**given)  # type: ignore[arg-type]


def amounts(ledger: Ledger) -> list[list[int]]:
    return [
        column.tolist()
        for column in (
            ledger.device.free,
            ledger.device.compute_free,
            ledger.cpu.free,
            ledger.slot.free,
            ledger.node.cores_free,
            ledger.node.host_free,
            ledger.node.read_bandwidth,
        )
    ]


def test_nodes_stand_in_order_of_id() -> None:
    assert state().node.id.tolist() == [3, 5, 7]
    assert state().device.id.tolist() == [51, 71, 72]


def test_two_nodes_with_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="same id"):
        ClusterState.build([node(1), node(1)])


def test_a_changed_node_makes_a_new_version() -> None:
    cluster = state()
    cluster.update(node(5, [device(51, 24 * GIB, memory_booked_mib=GIB)]))
    assert cluster.version == 2
    assert cluster.device.free.tolist()[0] == 23 * GIB


def test_an_equal_node_changes_nothing() -> None:
    cluster = state()
    cluster.update(cluster.info(5))
    assert cluster.version == 1


def test_nodes_come_grow_and_go() -> None:
    cluster = state()
    cluster.update(node(4, [device(41), device(42), device(43)], cpus=cpus(8, numas=2)))
    cluster.update(node(5, [device(51), device(52)]))
    cluster.remove(3)
    assert cluster.node.id.tolist() == [4, 5, 7]
    assert cluster.device.id.tolist() == [41, 42, 43, 51, 52, 71, 72]
    assert cluster.joins().device_node.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert cluster.offsets.cpu.tolist() == [0, 8, 24, 40]
    assert cluster.offsets.slot.tolist() == [0, 2, 3, 4]
    with pytest.raises(KeyError):
        cluster.info(3)


def test_planning_leaves_the_state_alone() -> None:
    cluster = state()
    before = amounts(Ledger(cluster))
    assert plan(cluster, [job(1, Request(devices=1, cores=4))], POLICY, now_ms=0, seed=0).placed
    assert amounts(Ledger(cluster)) == before


def test_take_and_give_back() -> None:
    ledger = Ledger(state())
    before = amounts(ledger)
    taken = allocation()
    ledger.take(taken)
    assert ledger.device.free[0] == 23 * GIB
    assert ledger.device.compute_free[0] == 900
    assert (ledger.node.cores_free[1], ledger.slot.free[1], ledger.node.host_free[1]) == (
        14,
        14,
        256 * GIB - 10,
    )
    ledger.give_back(taken)
    assert amounts(ledger) == before
    with pytest.raises(LedgerError):
        ledger.give_back(taken)


def test_roll_back_undoes_takes_and_give_backs() -> None:
    ledger = Ledger(state())
    first, second = allocation(), allocation(cpus=np.array([18]))
    ledger.take(first)
    mark, at_mark = ledger.checkpoint(), amounts(ledger)
    ledger.take(second)
    ledger.give_back(first)
    ledger.roll_back(mark)
    assert amounts(ledger) == at_mark
    ledger.give_back(first)
    with pytest.raises(LedgerError):
        ledger.give_back(second)


def test_versions_are_never_used_twice() -> None:
    ledger = Ledger(state())
    seen = {int(ledger.versions[1])}
    for _ in range(3):
        mark = ledger.checkpoint()
        ledger.take(allocation())
        seen.add(int(ledger.versions[1]))
        ledger.roll_back(mark)
        seen.add(int(ledger.versions[1]))
    assert len(seen) == 7
    assert ledger.versions.tolist()[0] == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"memory_mib": np.array([25 * GIB])},
        {"compute_milli": np.array([1001])},
        {"host_memory_mib": 257 * GIB},
        {"memory_mib": np.array([-1])},
        {"host_memory_mib": -1},
        {"devices": np.array([1])},
        {"cpus": np.array([3])},
        {"cpus": np.array([16, 16])},
        {"devices": np.array([0, 0]), "memory_mib": np.array([1, 1]), "compute_milli": np.array([1, 1])},
    ],
)
def test_what_is_not_free_is_not_taken(fields: dict[str, object]) -> None:
    ledger = Ledger(state())
    before = amounts(ledger)
    with pytest.raises(LedgerError):
        ledger.take(allocation(**fields))
    assert amounts(ledger) == before


def test_a_booked_core_is_not_taken_again() -> None:
    ledger = Ledger(state())
    ledger.take(allocation())
    with pytest.raises(LedgerError):
        ledger.take(replace(allocation(), cpus=np.array([17, 18])))


def test_a_copy_stays_as_it_was() -> None:
    state = ClusterState.build([node(1, [device(1)]), node(2, [device(2, model="Tesla T4")])])
    before, twin = codec.encode(state.infos), state.copy()
    twin.joins()
    state.update(node(1, [device(1, compute_booked_milli=1000), device(3, model="new")]))
    state.update(node(2, [device(2, model="Tesla T4", compute_booked_milli=500)]))
    state.remove(2)
    assert codec.encode(twin.infos) == before
    assert plan(twin, [job(1, Request(devices=1))], POLICY, now_ms=0, seed=0).placed
    assert len(twin.interned.models) == 2 and twin.device.compute_free.tolist() == [1000, 1000]
