"""What is lent of a promise until it starts, or to a queue beyond its caps, costs nobody else their promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduling.engine.types import (
    CpuInfo,
    EnginePolicy,
    Hold,
    Holding,
    NodeInfo,
    PendingJob,
    Plan,
    ReasonCode,
    Request,
    Running,
    SliceChoice,
)
from tests.engine.build import A100, GIB, QUEUES, cpus, device, job, node
from tests.engine.test_reservations import BUSY, MIN, NOW, ONE, PATIENT, T4, decide, eight, runs, started

OFFLINE = 3


def with_cores(busy: Sequence[int]) -> tuple[CpuInfo, ...]:
    return tuple(replace(one, booked=one.cpu in busy) for one in cpus(32))


def wanting(number: int, devices: int, cores: int, host_gib: int, **fields: object) -> PendingJob:
    request = Request(devices=devices, cores=cores, host_memory_mib=host_gib * GIB)
    return job(number, request, **fields)


def borrowing(*held: tuple[str, int], quota_ppm: int) -> EnginePolicy:
    """The third queue borrows, and holds that much of these models."""
    mine = {
        "quota_ppm": quota_ppm,
        "borrow": True,
        "devices_booked_milli": sum(milli for _model, milli in held),
        "holdings": tuple(Holding(1, 0, model, milli) for model, milli in held),
    }
    queues = [replace(one, quota_ppm=None, priority=70) for one in QUEUES]
    queues = [replace(one, **mine) if one.queue == OFFLINE else one for one in queues]  # type: ignore[arg-type]
    return replace(PATIENT, capped=True, lending=True, queues=tuple(queues))


def promises(found: Plan) -> list[tuple[int, int]]:
    return [(one.job, (one.starts_at_ms - NOW) // MIN) for one in found.reservations]


def test_what_is_lent_of_one_promise_is_not_missed_by_another() -> None:
    """Two of these jobs can read at once. The third is promised what the first gives back, whether or not the place of
    the second serves somebody until the second starts.
    """
    nodes = [replace(eight(busy=4), read_bandwidth_total_mib_s=1500)]
    sizes, runs_ms = (1, 5, 1, 1), (MIN, None, None, 30 * MIN)
    jobs = [
        job(n, Request(devices=size, cores=1, read_bandwidth_mib_s=700), runs_ms=run_ms)
        for n, size, run_ms in zip((1, 2, 3, 4), sizes, runs_ms, strict=True)
    ]
    found = decide(nodes, jobs, BUSY)
    assert started(found) == [1]
    assert promises(found) == [(2, 60), (3, 1)]


def test_who_runs_in_two_promises_takes_what_it_uses_off_them_once() -> None:
    """Of 256 GiB two jobs are promised 60 each. Another runs until then and uses 60; 190 are given to nobody."""
    first_cores = range(20)
    nodes = [replace(eight(busy=4), cpus=with_cores(first_cores))]
    running = [replace(runs(50, range(100, 104), ends=NOW + 60 * MIN), cpus=tuple(first_cores))]
    jobs = [wanting(1, 8, 1, 60), wanting(2, 0, 20, 60)]
    jobs += [wanting(3, 1, 1, 60, runs_ms=30 * MIN), wanting(4, 0, 1, 190)]
    found = decide(nodes, jobs, running)
    assert started(found) == [3]
    assert promises(found) == [(1, 60), (2, 60)]


def test_no_loan_costs_a_job_of_the_same_queue_its_promise() -> None:
    """Larger than the cap of its queue, the first starts once the queue holds nothing, which a loan would put off."""
    nodes = [
        node(1, [device(100 + n, compute_booked_milli=1000 * (n == 0)) for n in range(4)]),
        node(2, [device(200, model=T4)]),
    ]
    running = [replace(runs(50, [100], ends=NOW + 10 * MIN), queue=OFFLINE)]
    large = job(1, Request(devices=4, cores=1, models=("a100",)), queue=OFFLINE)
    small = job(2, Request(devices=1, cores=1, models=("t4",)), queue=OFFLINE, submitted_at_ms=NOW)
    policy = borrowing((A100, 1000), quota_ppm=400_000)
    found = decide(nodes, [large, small], running, policy=policy)
    assert (started(found), promises(found)) == ([], [(1, 10)])
    assert (found.refused[1].code, found.refused[1].waits_for) == (ReasonCode.RESERVED, 1)
    assert ReasonCode.GANG not in {one.code for one in found.refused[1].counts}
    assert ReasonCode.GANG not in {one.code for one in found.refused[1].near}
    short = replace(small, runs_ms=9 * MIN)
    assert started(decide(nodes, [large, short], running, policy=policy)) == [2]


def test_no_loan_costs_a_job_of_the_same_queue_what_is_held_for_it() -> None:
    """Four devices are beyond the queue's share, and its only job may have them; with a loan it would not be the only
    one.
    """
    kept = tuple(SliceChoice(100 + n, 80 * GIB, 1000) for n in range(4))
    holds = (Hold(1, kept, (0,), queue=OFFLINE, team=1),)
    jobs = [job(1, Request(devices=4, cores=1), queue=OFFLINE), job(2, ONE, queue=OFFLINE)]
    policy, full = borrowing(quota_ppm=100_000), eight(busy=7)
    victims = [runs(50, range(100, 107), ends=None)]
    found = decide([replace(full, holds=holds)], jobs, victims, policy=policy)
    assert started(found) == []
    refusal = found.refused[1]
    assert (refusal.job, refusal.code) == (2, ReasonCode.QUEUE_CAP), (
        "no gang, and its queue has no share left"
    )
    assert refusal.cap is not None and (refusal.cap.held_milli, refusal.cap.asked_milli) == (4000, 1000)
    freed = tuple(replace(one, compute_booked_milli=0, memory_booked_mib=0) for one in full.devices[:4])
    then = replace(full, devices=(*freed, *full.devices[4:]), holds=holds)
    found = decide([then], jobs, policy=policy)
    assert [(one.job, one.borrowed) for one in found.placed] == [(1, False), (2, True)]


def test_who_starts_gives_up_its_own_promise_and_is_not_kept_by_it() -> None:
    nodes = [replace(eight(busy=4), cpus=with_cores(range(20)))]
    running: list[Running] = [
        replace(runs(50, range(100, 104), ends=NOW + 60 * MIN), queue=OFFLINE),
        Running(51, 1, 1, 2, 1, 0, slices=(), cpus=tuple(range(20)), ends_at_ms=NOW + 10 * MIN),
    ]
    policy = borrowing((A100, 4000), quota_ppm=500_000)
    borrower = wanting(1, 2, 1, 100, queue=OFFLINE, runs_ms=20 * MIN)
    others = [wanting(2, 0, 20, 100), job(3, Request(devices=6, cores=1))]
    own = replace(policy, lending=False)
    given = decide(nodes, [borrower, others[1]], running, policy=own).reservations
    found = decide(nodes, [borrower, *others], running, given, policy=policy)
    assert [(one.job, one.borrowed) for one in found.placed] == [(1, True)]
    assert promises(found) == [(2, 10), (3, 60)]


def test_power_that_one_promise_does_not_need_yet_is_not_missed_by_an_earlier_one() -> None:
    """All may draw what runs and both promises do. Of what is kept for the later one somebody may have 100 W elsewhere,
    unless the earlier one would miss them when it starts.
    """

    def cards(number: int, count: int, model: str, busy: int = 0) -> NodeInfo:
        booked = [{"compute_booked_milli": 1000, "memory_booked_mib": 80 * GIB}] * busy + [{}] * count
        devices = [
            device(100 * number + n, model=model, power_limit_mw=100_000, **booked[n]) for n in range(count)
        ]
        return node(number, devices)

    nodes = [cards(1, 8, A100, busy=4), cards(2, 4, "A800", busy=1), cards(3, 1, T4)]
    running = [*BUSY, runs(51, [200], ends=NOW + 10 * MIN, on=2)]
    jobs = [
        job(1, Request(devices=8, cores=1, models=("a100",))),
        job(2, Request(devices=4, cores=1, models=("a800",))),
        job(3, Request(devices=1, cores=1, models=("t4",)), runs_ms=30 * MIN),
    ]
    tight, loose = (replace(PATIENT, power_cap_mw=watts * 1000) for watts in (1200, 1300))
    found = decide(nodes, jobs, running, policy=tight)
    assert (started(found), promises(found)) == ([], [(1, 60), (2, 10)])
    short = replace(jobs[2], runs_ms=9 * MIN)
    assert started(decide(nodes, [*jobs[:2], short], running, policy=tight)) == [3]
    assert started(decide(nodes, jobs, running, policy=loose)) == [3]
