"""What a plan looks ahead with, for cycles and for those who ask what a cycle would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduling.engine.ordering import in_service_order, is_patient
from scheduling.engine.plan import plan
from scheduling.engine.types import EnginePolicy, PendingJob, Plan, Reservation, Running
from scheduling.estimates import expected_runs
from scheduling.holdings import Holdings
from scheduling.running import RunningCache
from scheduling.simulator.cluster import Cluster, Hardware, Part
from scheduling.takeovers import Takeover, takeovers_of
from scheduling.whatif import Situation

# As many as one batch of a cycle.
MOST_ABOVE = 250


def look_ahead(
    jobs: Sequence[PendingJob],
    policy: EnginePolicy,
    *,
    now_ms: int,
    promised: Sequence[Reservation],
    running: RunningCache,
) -> tuple[tuple[PendingJob, ...], tuple[Running, ...]]:
    """The jobs with how long they should run, and what runs; neither is read where no promise depends on it. Two
    queries, and those of `running`.
    """
    if not (policy.preempts or promised or any(is_patient(job, policy, now_ms) for job in jobs)):
        return tuple(jobs), ()
    # The order of service goes by what it foresaw.
    runs = {} if policy.patience is not None else expected_runs([job.job for job in jobs])
    known = (replace(job, runs_ms=runs[job.job].runs_ms) if job.job in runs else job for job in jobs)
    return tuple(known), running.load()


def is_above_some(job: PendingJob, policy: EnginePolicy) -> bool:
    """Whether another queue holds something that might yield to this job."""
    mine = next((queue for queue in policy.queues if queue.queue == job.queue), None)
    return mine is not None and any(
        one.preemptable
        and one.queue != mine.queue
        and (one.priority < mine.priority or one.borrow)
        and one.devices_booked_milli + one.cores_booked_milli > 0
        for one in policy.queues
    )


def takeovers_after(situation: Situation, made: Plan, running: RunningCache | None) -> list[Takeover]:
    """Whom a cycle would ask to leave for jobs that its plan refused, once that is carried out. `running` is what runs,
    None where the situation itself tells. ValueError when the plan is not one for this situation.
    """
    policy = situation.policy
    wanting = {refusal.job for refusal in made.refused if refusal.cap is None}
    some = [job for job in situation.jobs if job.job in wanting and is_above_some(job, policy)]
    above = tuple(in_service_order(some, policy)[:MOST_ABOVE])
    if not above or policy.preempts:
        return takeovers_of(made)
    after, runs = replace(_holding(situation, made), preempts=True), situation.running
    if running is not None:
        above, runs = look_ahead(
            above, after, now_ms=situation.now_ms, promised=made.reservations, running=running
        )
    cluster = Cluster(situation.nodes, Hardware())
    for placed in made.placed:
        cluster.book(Part.of(placed))
    found = plan(
        cluster.state,
        above,
        after,
        now_ms=situation.now_ms,
        seed=situation.seed,
        expected=situation.expected,
        running=runs,
        reservations=made.reservations,
    )
    return takeovers_of(found)


def _holding(situation: Situation, made: Plan) -> EnginePolicy:
    """The policy with what its queues hold after the plan."""
    holdings = Holdings.of_policy(situation.policy)
    jobs, nodes = {job.job: job for job in situation.jobs}, {info.node: info for info in situation.nodes}
    for placed in made.placed:
        holdings.add(jobs[placed.job], placed, nodes[placed.node])
    return holdings.within(situation.policy)
