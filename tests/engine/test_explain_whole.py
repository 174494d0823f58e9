"""What is said of a job obeys power caps, counts replicas and gives holders their holds: followed, it truly starts."""

from dataclasses import replace

from scheduling.engine.changes import ChangeKind
from scheduling.engine.explain import Explanation, explain, runnable_here, what_fits
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    Hold,
    NodeInfo,
    PendingJob,
    ReasonCode,
    Request,
    SliceChoice,
)
from tests.engine.build import GIB, POLICY, device, job, node

ONE = Request(devices=1)
QUARTER = Request(devices=1, device_compute_milli=250, shareable=True)


def capped(watts: int) -> EnginePolicy:
    return replace(POLICY, power_cap_mw=1000 * watts)


def explained(nodes: list[NodeInfo], waiting: PendingJob, policy: EnginePolicy = POLICY) -> Explanation:
    """Each proposed change is followed and must start the job."""
    state = ClusterState.build(nodes)
    refusal = plan(state, [waiting], policy, now_ms=0, seed=0).refused[0]
    found = explain(state, refusal, waiting, policy)
    for change in found.changes:
        followed = plan(state, [replace(waiting, request=change.request)], policy, now_ms=0, seed=0)
        assert followed.placed[0].node == change.node
    return found


def test_no_change_is_proposed_that_the_power_cap_forbids() -> None:
    nodes = [node(1, [device(1, power_limit_mw=400_000)])]
    other = job(1, Request(devices=1, models=("H100",)))
    assert explained(nodes, other, capped(100)).changes == ()
    assert [c.kind for c in explained(nodes, other, capped(400)).changes] == [ChangeKind.OTHER_MODEL]


def test_a_change_that_draws_less_is_proposed_under_a_power_cap() -> None:
    found = explained([node(1, [device(1, power_limit_mw=400_000)])], job(1, ONE), capped(200))
    assert found.code is ReasonCode.POWER_CAP
    assert [c.kind for c in found.changes] == [ChangeKind.SHAREABLE]


def test_the_cap_is_judged_anew_whatever_the_refusal_said() -> None:
    state = ClusterState.build([node(1, [device(1, power_limit_mw=400_000)])])
    refusal = plan(state, [job(1, ONE)], capped(200), now_ms=0, seed=0).refused[0]
    assert explain(state, refusal, job(1, ONE), POLICY).code is None
    stale = replace(refusal, code=ReasonCode.DEVICE_BUSY, near=())
    assert explain(state, stale, job(1, ONE), capped(200)).code is ReasonCode.POWER_CAP


def test_a_change_of_a_gang_suffices_for_all_its_replicas() -> None:
    sizes = [node(1, [device(1, 16 * GIB)]), node(2, [device(2, 8 * GIB)])]
    found = explained(sizes, job(1, Request(devices=1, device_memory_mib=20_000), replicas=2))
    assert [(c.kind, c.new) for c in found.changes] == [(ChangeKind.LESS_DEVICE_MEMORY, 8 * GIB)]
    one_card = [node(1, [device(1, model="Tesla T4")])]
    assert explained(one_card, job(1, Request(devices=1, models=("A100",)), replicas=4)).changes == ()


def test_replicas_that_share_a_device_find_room_on_one() -> None:
    waiting = job(1, QUARTER, replicas=4)
    busy, free = (
        ClusterState.build([node(1, [device(1, compute_booked_milli=milli)])]) for milli in (1000, 0)
    )
    refusal = plan(busy, [waiting], POLICY, now_ms=0, seed=0).refused[0]
    assert explain(free, refusal, waiting, POLICY).code is None
    found = explain(free, refusal, replace(waiting, replicas=5), POLICY)
    assert [(n.miss.needed, n.miss.available) for n in found.near] == [(5, 4)]


def test_a_gang_is_held_back_by_what_the_node_can_read() -> None:
    cards = [device(n) for n in (1, 2, 3)]
    waiting = job(1, Request(devices=1, read_bandwidth_mib_s=600), replicas=3)
    found = explained([node(1, cards, read_bandwidth_total_mib_s=1000)], waiting)
    assert found.code is ReasonCode.GANG


def test_a_device_runs_what_all_of_would_start_now() -> None:
    state = ClusterState.build([node(1, [device(1, power_limit_mw=400_000)])])
    jobs = [job(1, ONE), job(2, ONE, replicas=4), job(3, QUARTER, replicas=4)]
    assert runnable_here(state, 1, jobs, POLICY) == (1, 3)
    assert runnable_here(state, 1, jobs, capped(399)) == ()


def test_a_device_that_is_held_runs_the_job_it_is_held_for() -> None:
    hold = Hold(job=5, slices=(SliceChoice(1, 80 * GIB, 1000),))
    state = ClusterState.build([node(1, [device(1)], holds=(hold,))])
    assert runnable_here(state, 1, [job(5, ONE), job(6, ONE)], POLICY) == (5,)


def test_what_fits_on_a_device_under_power_caps() -> None:
    state = ClusterState.build(
        [
            node(1, [device(1, power_limit_mw=400_000)], idle_mw=100_000),
            node(2, [device(2, power_limit_mw=400_000)], power_cap_mw=0),
            node(3, [device(3, 0)]),
        ]
    )
    half = what_fits(state, 1, power_cap_mw=300_000)
    assert (half.code, half.alone_mib, half.shared_mib, half.compute_milli) == (None, 0, 40 * GIB, 500)
    assert what_fits(state, 1, power_cap_mw=100_000).code is ReasonCode.POWER_CAP
    assert what_fits(state, 2).code is ReasonCode.NODE_POWER
    assert what_fits(state, 3).code is ReasonCode.DEVICE_TOO_SMALL
