"""Caps of queues, quotas of teams and shares of members: exact, and never in the way of anybody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from scheduling.engine.plan import plan
from scheduling.engine.quota import Quotas
from scheduling.engine.session import PlanningSession
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    CapKind,
    EnginePolicy,
    Holding,
    ModelCap,
    NodeInfo,
    PendingJob,
    Plan,
    QueueInfo,
    ReasonCode,
    Request,
    TeamCap,
)
from tests.engine.build import A100, GIB, POLICY, device, job, node, shared

T4 = "Tesla T4"
WHOLE = Request(devices=1)


def queue(number: int, quota_ppm: int | None, **fields: object) -> QueueInfo:
    return QueueInfo(number, f"q{number}", 100 - number, quota_ppm, preemptable=False, **fields)  # type: ignore[arg-type]


def capped(*queues: QueueInfo) -> EnginePolicy:
    return replace(POLICY, queues=queues, capped=True)


def cards(count: int, *, model: str = A100, first: int = 1, memory: int = 80 * GIB) -> list[NodeInfo]:
    """One node per device."""
    return [node(first + n, [device(100 * (first + n), memory, model=model)]) for n in range(count)]


def decide(nodes: Sequence[NodeInfo], jobs: Sequence[PendingJob], policy: EnginePolicy) -> Plan:
    return plan(ClusterState.build(nodes), jobs, policy, now_ms=0, seed=0)


def placed(found: Plan) -> list[int]:
    return sorted({one.job for one in found.placed})


def caps_of(nodes: Sequence[NodeInfo], *queues: QueueInfo) -> list[int]:
    """The caps of all queues on devices of any model."""
    quotas = Quotas(ClusterState.build(nodes), capped(*queues))
    return [quotas._queues[q.queue].devices[0].cap_milli for q in queues]


@pytest.mark.parametrize("devices", [7, 10, 1, 3])
def test_c29_shares_become_whole_milli_that_sum_up(devices: int) -> None:
    """30/50/20 % of 7 or 10 cards: exact, and together all that there is."""
    found = caps_of(cards(devices), queue(1, 300_000), queue(2, 500_000), queue(3, 200_000))
    assert found == [300 * devices, 500 * devices, 200 * devices] and sum(found) == 1000 * devices


def test_c29_no_share_falls_below_its_floor() -> None:
    thirds = [queue(n, 333_333) for n in (1, 2)] + [queue(3, 333_334)]
    found = caps_of(cards(1), *thirds)
    assert sum(found) == 1000 and min(found) == 333 and found == [333, 333, 334]


def test_c29_who_asks_exactly_the_share_gets_it() -> None:
    policy = capped(queue(1, 300_000), queue(2, 500_000), queue(3, 200_000))
    jobs = [job(n, WHOLE, queue=q) for n, q in enumerate([1] * 3 + [2] * 5 + [3] * 2, start=1)]
    assert placed(decide(cards(10), jobs, policy)) == list(range(1, 11))


def test_a_queue_takes_no_milli_more_than_its_cap() -> None:
    policy = capped(queue(2, 500_000, devices_booked_milli=1000))
    half = Request(devices=1, device_compute_milli=500, shareable=True)
    found = decide(cards(4), [job(1, half), job(2, half), job(3, half)], policy)
    assert placed(found) == [1, 2]
    (refusal,) = found.refused
    assert refusal.code is ReasonCode.QUEUE_CAP and refusal.nodes == 4 and refusal.near == ()
    assert [(c.code, c.removed) for c in refusal.counts] == [(ReasonCode.QUEUE_CAP, 4)]
    assert refusal.cap is not None
    assert (refusal.cap.kind, refusal.cap.queue) == (CapKind.QUEUE, 2)
    assert (refusal.cap.cap_milli, refusal.cap.held_milli, refusal.cap.asked_milli) == (2000, 2000, 500)


def test_an_empty_queue_may_start_one_job_whatever_its_share() -> None:
    """20 % of two cards is 400 milli: rounding locks nobody out, and one job is one job."""
    policy = capped(queue(2, 200_000))
    big = Request(devices=2)
    assert placed(decide([node(1, [device(1), device(2)])], [job(1, big)], policy)) == [1]
    assert placed(decide(cards(2), [job(1, WHOLE), job(2, WHOLE)], policy)) == [1]
    assert placed(decide(cards(2), [job(1, WHOLE)], capped(queue(2, 0)))) == [1]


def test_the_rule_for_empty_queues_holds_for_all_replicas_of_a_job() -> None:
    policy = capped(queue(2, 100_000))
    found = decide(cards(4), [job(1, WHOLE, replicas=3), job(2, WHOLE)], policy)
    assert placed(found) == [1] and len(found.placed) == 3
    assert found.refused[0].code is ReasonCode.QUEUE_CAP


def test_a_gang_beyond_the_cap_starts_not_at_all() -> None:
    policy = capped(queue(2, 500_000, devices_booked_milli=1000))
    found = decide(cards(6), [job(1, WHOLE, replicas=3), job(2, WHOLE, replicas=2)], policy)
    assert placed(found) == [2]
    cap = found.refused[0].cap
    assert cap is not None and (cap.cap_milli, cap.held_milli, cap.asked_milli) == (3000, 3000, 3000)


def test_c23_an_impossible_job_does_not_hold_up_the_one_behind_it() -> None:
    """Cap of three cards, one held: four cards are asked, then two."""
    policy = capped(queue(2, 500_000, devices_booked_milli=1000))
    nodes = [node(1, [device(n) for n in range(6)])]
    found = decide(nodes, [job(1, Request(devices=4)), job(2, Request(devices=2))], policy)
    assert placed(found) == [2] and found.refused[0].code is ReasonCode.QUEUE_CAP


def test_a_slice_of_memory_costs_its_part_of_the_device() -> None:
    """20 GiB are 500 milli of 40 GiB and 250 of 80: only the larger card leaves it within the cap."""
    nodes = [*cards(1, memory=40 * GIB), *cards(1, first=2)]
    policy = capped(queue(2, 150_000, devices_booked_milli=1))
    found = decide(nodes, [job(1, shared(20 * GIB))], policy)
    assert [(one.node, one.slices[0].compute_milli) for one in found.placed] == [(2, 250)]
    assert found.placed[0].candidates == 1
    tight = capped(queue(2, 100_000, devices_booked_milli=1))
    cap = decide(nodes, [job(1, shared(20 * GIB))], tight).refused[0].cap
    assert cap is not None and (cap.cap_milli, cap.asked_milli) == (200, 250)


def test_who_gets_within_the_cap_by_what_another_took_starts_in_the_same_plan() -> None:
    """On the smaller card, which fits better, the first job would count 500 milli; the second one takes that card."""
    nodes = [node(1, [device(1, 40 * GIB), device(2, 80 * GIB)])]
    policy = capped(queue(2, 150_000, devices_booked_milli=1), queue(3, None))
    line = [job(1, shared(20 * GIB)), job(2, shared(30 * GIB), queue=3), job(3, shared(20 * GIB))]
    found = decide(nodes, line, policy)
    assert [(one.job, one.slices[0].device) for one in found.placed] == [(2, 1), (1, 2)]
    assert [refusal.code for refusal in found.refused] == [ReasonCode.QUEUE_CAP]


def test_who_gets_within_the_cap_of_its_team_by_what_another_took_is_bound_by_that_of_its_queue() -> None:
    """The queue held nothing when the first job was refused for its team; the second one may be more than the share."""
    nodes = [node(1, [device(1, 40 * GIB), device(2, 80 * GIB)])]
    team = TeamCap(team=7, model=None, quota_milli=300)
    line = [job(1, shared(20 * GIB), team=7), job(2, shared(30 * GIB))]
    found = decide(nodes, line, capped(queue(2, 150_000, team_caps=(team,)), queue(3, None)))
    assert [(one.job, one.slices[0].device) for one in found.placed] == [(2, 1)]
    cap = found.refused[0].cap
    assert cap is not None and (cap.kind, cap.held_milli, cap.asked_milli) == (CapKind.QUEUE, 750, 250)
    found = decide(nodes, line, capped(queue(2, 500_000, team_caps=(team,)), queue(3, None)))
    assert [(one.job, one.slices[0].device) for one in found.placed] == [(2, 1), (1, 2)]


def test_a_cap_on_one_model_leaves_the_others() -> None:
    """No queue takes all A100s; who takes any model goes elsewhere."""
    nodes = [*cards(4), *cards(4, first=11, model=T4)]
    held = Holding(team=1, owner=1, model=A100, device_milli=1000)
    policy = capped(
        queue(2, None, model_caps=(ModelCap("a100", 500_000),), devices_booked_milli=1000, holdings=(held,))
    )
    picky = Request(devices=1, models=("a100",))
    found = decide(nodes, [job(1, picky), job(2, picky), job(3, WHOLE)], policy)
    assert placed(found) == [1, 3] and next(p for p in found.placed if p.job == 3).node > 10
    cap = found.refused[0].cap
    assert cap is not None and (cap.model, cap.cap_milli, cap.held_milli) == ("a100", 2000, 2000)


def test_a_team_holds_no_more_than_its_quota_of_a_model() -> None:
    held = (Holding(1, 7, A100, 1000), Holding(2, 8, A100, 3000), Holding(1, 7, T4, 1000))
    policy = capped(
        queue(2, None, team_caps=(TeamCap(1, "a100", 2000),), devices_booked_milli=5000, holdings=held)
    )
    found = decide(cards(8), [job(1, WHOLE), job(2, WHOLE), job(3, WHOLE, team=2)], policy)
    assert placed(found) == [1, 3]
    cap = found.refused[0].cap
    assert found.refused[0].code is ReasonCode.TEAM_QUOTA
    assert cap is not None and (cap.team, cap.cap_milli, cap.held_milli) == (1, 2000, 2000)


def test_a_member_holds_no_more_than_the_share_that_the_lead_gave() -> None:
    caps = (TeamCap(1, None, 4000), TeamCap(1, None, 1000, owner=7))
    policy = capped(queue(2, None, team_caps=caps))
    jobs = [job(1, WHOLE, owner=7), job(2, WHOLE, owner=7), job(3, WHOLE, owner=8)]
    found = decide(cards(8), jobs, policy)
    assert placed(found) == [1, 3] and found.refused[0].code is ReasonCode.MEMBER_SHARE
    assert found.refused[0].cap is not None and found.refused[0].cap.owner == 7


def test_jobs_without_devices_count_their_cores() -> None:
    """16 cores, half of them: the cores of jobs with devices are not counted."""
    policy = capped(queue(2, 500_000, cores_booked_milli=1000, devices_booked_milli=1000))
    nodes = [node(1, [device(1)])]
    found = decide(nodes, [job(1, Request(cores=7)), job(2, Request(cores=1))], policy)
    assert placed(found) == [1]
    cap = found.refused[0].cap
    assert cap is not None and cap.of_cores
    assert (cap.cap_milli, cap.held_milli, cap.asked_milli) == (8000, 8000, 1000)


def test_what_no_node_is_made_for_is_not_blamed_on_a_cap() -> None:
    policy = capped(queue(2, 100_000, devices_booked_milli=1000))
    found = decide(cards(2), [job(1, Request(devices=1, models=("h100",)))], policy)
    assert found.refused[0].code is ReasonCode.DEVICE_MODEL


def test_a_full_cluster_does_not_hide_the_cap() -> None:
    policy = capped(queue(2, 500_000, devices_booked_milli=1000))
    full = [node(1, [device(n, compute_booked_milli=1000, memory_booked_mib=1) for n in (1, 2)])]
    found = decide(full, [job(1, WHOLE)], policy)
    assert found.refused[0].code is ReasonCode.QUEUE_CAP


def test_without_word_of_caps_nothing_is_held_back() -> None:
    policy = replace(capped(queue(2, 0, devices_booked_milli=9000)), capped=False)
    assert placed(decide(cards(2), [job(1, WHOLE), job(2, WHOLE)], policy)) == [1, 2]


def test_a_session_takes_new_bookings_without_computing_anew() -> None:
    state, session = ClusterState.build(cards(4)), PlanningSession()
    for held, expected in ((0, [1, 2]), (1000, [1]), (2000, []), (0, [1, 2])):
        policy = capped(queue(2, 500_000, devices_booked_milli=held))
        jobs = [job(1, WHOLE), job(2, WHOLE), job(3, WHOLE)]
        assert placed(session.plan(state, jobs, policy, now_ms=0, seed=0)) == expected
    assert session.counters.misses == 1


@pytest.mark.parametrize("names", [("a100", "a100", "a100"), ("a100", A100, "nvidia-a100")])
def test_caps_on_one_model_are_rounded_together_by_whatever_names(names: tuple[str, ...]) -> None:
    """Thirds of a thousand: one of the queues gets the odd milli, none is lost."""
    queues = [
        queue(number, None, model_caps=(ModelCap(name, share_ppm),))
        for number, (name, share_ppm) in enumerate(zip(names, (333_333, 333_333, 333_334), strict=True), 1)
    ]
    quotas = Quotas(ClusterState.build(cards(1)), capped(*queues))
    caps = [quotas._queues[q.queue].devices[0].cap_milli for q in queues]
    assert sorted(caps) == [333, 333, 334]
