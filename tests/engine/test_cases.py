"""Cases from public reports, as far as the engine answers them."""

import numpy as np

from scheduling.engine.plan import Planner, plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import Plan, ReasonCode, Request
from tests.engine.build import GIB, NO_PRECHECK, POLICY, decide, device, job, node, shared

FULL = {"compute_booked_milli": 1000, "memory_booked_mib": 24 * GIB}


def devices_of(plan_: Plan) -> list[int]:
    return [s.device for placed in plan_.placed for s in placed.slices]


def test_c02_two_halves_share_one_card_together_or_apart() -> None:
    half = shared(12 * GIB, device_compute_milli=500)
    together = decide([node(1, [device(1, 24 * GIB), device(2, 24 * GIB)])], [half, half], NO_PRECHECK)
    assert devices_of(together) == [1, 1]
    first = device(1, 24 * GIB, memory_booked_mib=12 * GIB, compute_booked_milli=500)
    assert devices_of(decide([node(1, [first, device(2, 24 * GIB)])], [half], NO_PRECHECK)) == [1]
    with_precheck = decide([node(1, [device(1, 24 * GIB), device(2, 24 * GIB)])], [half, half])
    assert sorted(devices_of(with_precheck)) == [1, 2]


def test_c08_three_of_12_gib_on_one_free_card_of_24() -> None:
    cards = [device(n, 24 * GIB, **FULL) for n in range(1, 8)] + [device(8, 24 * GIB)]
    factor_one = decide([node(1, cards)], [shared(12 * GIB)] * 3, NO_PRECHECK)
    assert (devices_of(factor_one), [r.code for r in factor_one.refused]) == (
        [8, 8],
        [ReasonCode.DEVICE_MEMORY_TOTAL],
    )
    default = decide([node(1, cards)], [shared(12 * GIB)] * 3)
    assert devices_of(default) == [8]
    assert [r.code for r in default.refused] == [ReasonCode.DEVICE_MEMORY_TOTAL] * 2
    near = default.refused[0].near[0]
    assert (near.needed, near.available) == (14_746, 12_288)


def test_c14_whole_and_shares_exclude_one_another() -> None:
    quarter, whole = shared(None, device_compute_milli=250), Request(devices=1)
    card = [node(1, [device(1, 24 * GIB)])]
    assert [r.job for r in decide(card, [whole, quarter]).refused] == [2]
    assert [r.job for r in decide(card, [quarter, whole]).refused] == [2]
    shared_without_compute = node(1, [device(1, 24 * GIB, memory_booked_mib=1)])
    assert decide([shared_without_compute], [whole]).refused


def test_c16_reserved_memory_of_the_driver_counts() -> None:
    t4 = node(1, [device(1, 15_360, memory_reserved_mib=388)])
    factor_one = decide([t4], [shared(3840)] * 4, NO_PRECHECK)
    assert (len(factor_one.placed), [r.job for r in factor_one.refused]) == (3, [4])
    default = decide([t4], [shared(3840)] * 4)
    assert (len(default.placed), default.refused[0].near[0].needed) == (3, 4608)
    assert default.refused[0].near[0].available == 14_972 - 3 * 3840


def test_c19_priority_never_hides_behind_an_equal_looking_job() -> None:
    label = Request(node_labels=(("zone", "nowhere"),))
    jobs = [job(1, label, priority=257), job(2, Request(), priority=1), job(3, label, priority=1)]
    found = plan(ClusterState.build([node(1)]), jobs, POLICY, now_ms=0, seed=0)
    assert ([p.job for p in found.placed], [r.job for r in found.refused]) == ([2], [1, 3])
    ports = [job(4, Request(cores=16), priority=1), job(5, Request(cores=16), priority=257)]
    found = plan(ClusterState.build([node(1)]), ports, POLICY, now_ms=0, seed=0)
    assert ([p.job for p in found.placed], [r.job for r in found.refused]) == ([5], [4])


def test_c38_thousands_of_impossible_jobs_do_not_hide_the_runnable_ones() -> None:
    nodes = [node(n, [device(n)]) for n in range(1, 21)]
    impossible = [job(n, Request(devices=9 + n % 20), priority=9) for n in range(1, 5001)]
    runnable = [job(n, Request(devices=1)) for n in range(6001, 6011)]
    state, looked_at = ClusterState.build(nodes), []
    planner = Planner(state, POLICY, ())
    original = planner.board
    planner.board = lambda shape: looked_at.append(shape) or original(shape)  # type: ignore[method-assign, func-returns-value]
    found = planner.run([*impossible, *runnable], None)
    assert [p.job for p in found.placed] == [j.job for j in runnable]
    assert (len(found.refused), found.considered, found.exhausted) == (5000, 5010, True)
    assert len(looked_at) == 20 + 10 + 20


def test_c38_a_pass_can_be_bounded() -> None:
    jobs = [job(n, Request(cores=1)) for n in range(1, 6)]
    found = plan(ClusterState.build([node(1)]), jobs, POLICY, now_ms=0, seed=0, limit=2)
    assert ([p.job for p in found.placed], found.considered, found.exhausted) == ([1, 2], 2, False)


def test_c43_bad_amounts_leave_the_books_alone() -> None:
    state = ClusterState.build([node(1, [device(1)])])
    before = state.node.cores_free.copy()
    for bad in ({"cores": -4}, {"devices": -1}, {"device_memory_mib": -8}):
        try:
            plan(state, [job(1, Request(**bad))], POLICY, now_ms=0, seed=0)  # type: ignore[arg-type]
        except ValueError as error:
            assert str(error).startswith(next(iter(bad)))
    assert np.array_equal(state.node.cores_free, before)


def test_order_of_service() -> None:
    jobs = [
        job(1, Request(), queue=3, priority=900),
        job(2, Request(), queue=1),
        job(3, Request(), submitted_at_ms=50),
        job(4, Request(), submitted_at_ms=40),
        job(5, Request(), submitted_at_ms=40),
        job(6, Request(), priority=1),
        job(7, Request(), queue=77, priority=999),
    ]
    found = plan(ClusterState.build([node(1)]), jobs, POLICY, now_ms=0, seed=0)
    assert [p.job for p in found.placed] == [2, 6, 4, 5, 3, 1, 7]
