"""Gangs start all or none; holds keep capacity for one job; what is promised survives a recording."""

from scheduling.engine.codec import Recording, decode, encode
from scheduling.engine.ledger import Ledger
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    Hold,
    PendingJob,
    Plan,
    Preemption,
    PreemptionCause,
    ReasonCode,
    Request,
    Reservation,
    SliceChoice,
    Window,
)
from tests.engine.build import GIB, POLICY, device, job, node, shared

ONE = Request(devices=1, cores=1)


def run(state: ClusterState, *jobs: PendingJob) -> Plan:
    return plan(state, jobs, POLICY, now_ms=0, seed=0)


def test_a_gang_that_does_not_fit_wholly_takes_nothing() -> None:
    state = ClusterState.build([node(n, [device(n)]) for n in (1, 2, 3)])
    found = run(state, job(1, ONE, replicas=4), job(2, ONE, replicas=3), job(3, ONE))
    assert [(p.job, p.replica) for p in found.placed] == [(2, 0), (2, 1), (2, 2)]
    assert sorted(p.node for p in found.placed) == [1, 2, 3]
    assert [(r.job, r.code) for r in found.refused] == [
        (1, ReasonCode.DEVICE_BUSY),
        (3, ReasonCode.DEVICE_BUSY),
    ]


def test_the_refusal_of_a_gang_says_how_many_would_fit() -> None:
    state = ClusterState.build([node(n, [device(n)]) for n in (1, 2, 3)])
    refused = run(state, job(1, ONE, replicas=5)).refused[0]
    assert refused.code is ReasonCode.GANG
    assert (refused.near[0].needed, refused.near[0].available) == (5, 3)
    assert sum(c.removed for c in refused.counts) == refused.nodes == 3


def test_a_hold_hides_capacity_from_everybody_but_its_job() -> None:
    hold = Hold(job=7, slices=(SliceChoice(1, 80 * GIB, 1000),), cpus=(0, 1), host_memory_mib=GIB)
    state = ClusterState.build([node(1, [device(1)], holds=(hold,))])
    assert (state.device.free[0], state.device.compute_free[0], state.node.cores_free[0]) == (0, 0, 14)
    assert state.node.host_free[0] == 255 * GIB
    found = run(state, job(6, ONE), job(7, ONE))
    assert [p.job for p in found.placed] == [7]
    assert [r.job for r in found.refused] == [6]


def test_what_the_job_leaves_of_its_hold_stays_kept() -> None:
    hold = Hold(job=7, slices=tuple(SliceChoice(n, 80 * GIB, 1000) for n in (1, 2)), cpus=(0, 1))
    state = ClusterState.build([node(1, [device(1), device(2)], holds=(hold,))])
    found = run(state, job(7, ONE, priority=9), job(8, ONE), job(9, Request(cores=14)))
    assert [p.job for p in found.placed] == [7, 9]
    assert [r.job for r in found.refused] == [8]


def test_a_job_that_its_hold_does_not_help_leaves_it_whole() -> None:
    hold = Hold(job=7, slices=(SliceChoice(1, 80 * GIB, 1000),))
    state = ClusterState.build([node(1, [device(1)], holds=(hold,))])
    found = run(state, job(7, Request(devices=2), priority=9), job(8, ONE))
    assert [r.job for r in found.refused] == [7, 8]


def test_a_hold_keeps_no_more_than_is_free_and_knows_only_what_is_here() -> None:
    card = device(1, 24 * GIB, memory_booked_mib=20 * GIB, compute_booked_milli=800)
    hold = Hold(7, (SliceChoice(1, 10 * GIB, 500), SliceChoice(99, 1, 1)), (3, 99), 999 * GIB)
    state = ClusterState.build([node(1, [card], holds=(hold, hold))])
    assert (state.device.free[0], state.device.compute_free[0]) == (0, 0)
    assert (state.node.host_free[0], state.node.cores_free[0]) == (0, 15)
    ledger = Ledger(state)
    for kept in ledger.holds[7]:
        ledger.give_back(kept)
    assert (ledger.device.free[0], ledger.device.compute_free[0]) == (4 * GIB, 200)
    assert (ledger.node.host_free[0], ledger.node.cores_free[0]) == (256 * GIB, 16)


def test_promises_survive_a_recording() -> None:
    decided = Plan(
        preemptions=(Preemption(3, 1, 9, 4, PreemptionCause.CHEAPEST, 60_000),),
        reservations=(Reservation(4, 9, 1000, (SliceChoice(1, 2, 3),), (0,), replica=1),),
    )
    held = node(1, [device(1)], holds=(Hold(7, (SliceChoice(1, GIB, 100),), until_ms=5),))
    waiting = job(1, shared(GIB), replicas=3, deferrable=True, latest_start_ms=9)
    policy = POLICY.__class__(POLICY.weights_ppm, POLICY.queues, power_cap_mw=5, valley=(Window(1, 2),))
    recording = Recording((held,), (waiting,), policy, 0, 0, plan=decided)
    assert decode(Recording, encode(recording)) == recording
