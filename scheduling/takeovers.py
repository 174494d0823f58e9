"""Preemption as a conversation: victims are asked for a checkpoint and leave, their place is kept for the job that
needs it, and what comes to nothing is given up without loss.

Locks: lease (shared) -> jobs -> placements -> the nodes' desired-state rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, Sum

from controlplane.base import clock, locks
from controlplane.base.locks import LeaseToken
from controlplane.base.tx import Topic, after_commit
from controlplane.policy.active import active_policy
from controlplane.policy.document import CheckpointTimeout
from controlplane.policy.document import Preemption as PreemptionPolicy
from queues import lifecycle
from queues.models import Intent, Job, JobStatus
from queues.spec import decode_spec
from scheduling.backends.agent import GRACE_S, bump_epoch
from scheduling.bookings import locked_live
from scheduling.engine.types import WHOLE_MILLI, Plan, Preemption, PreemptionCause, Reservation
from scheduling.evacuation import PREEMPTED
from scheduling.kept import drop_holds, expire, keep
from scheduling.models import LIVE_PHASES, STARTED_PHASES, CoreBooking, Hold, Phase, Placement, Slice
from scheduling.running import is_spared

LEAVING = (Phase.CHECKPOINTING, Phase.STOPPING)
# Who was asked for the place of another and has not answered. People may have asked more of it since.
ASKED = Placement.objects.filter(phase=Phase.CHECKPOINTING, stop_reason=PREEMPTED)
# Beyond grace and stop: reports, and the cycle in which the job starts.
SLACK = timedelta(seconds=60)


@dataclass(frozen=True)
class Takeover:
    """One job, who yields to it, and the places that it then gets."""

    job: int
    victims: tuple[Preemption, ...]
    places: tuple[Reservation, ...]


def takeovers_of(plan: Plan) -> list[Takeover]:
    """By job, in the order in which they were decided."""
    return [
        Takeover(
            job,
            tuple(one for one in plan.preemptions if one.for_job == job),
            tuple(one for one in plan.takeovers if one.job == job),
        )
        for job in dict.fromkeys(place.job for place in plan.takeovers)
    ]


def begin(takeover: Takeover, lease: LeaseToken) -> bool:
    """Ask the victims and keep the place, all in one transaction; False when the rows no longer allow it."""
    grace_s = active_policy().preemption.grace_s
    with transaction.atomic():
        locks.fence_check(lease.name, lease.token)
        attempts = {victim.job: victim.attempt for victim in takeover.victims}
        jobs = lifecycle.lock_jobs([takeover.job, *attempts])
        rows = Placement.objects.filter(job__in=attempts, phase__in=LIVE_PHASES)
        placements = list(rows.select_for_update(no_key=True).order_by("pk"))
        if not _still_holds(takeover, attempts, jobs, placements):
            return False
        halfway = {placement.job_id for placement in placements if placement.phase != Phase.RUNNING}
        for placement in placements:
            asks = placement.job_id not in halfway and _can_save(jobs[placement.job_id])
            _ask(placement, takeover.job, for_checkpoint=asks)
        for victim in takeover.victims:
            details = {"for_job": takeover.job, "cause": victim.cause.value, "node": victim.node}
            lifecycle.preempt(jobs[victim.job], details)
        keep(takeover.places, until=clock.now() + timedelta(seconds=grace_s + GRACE_S) + SLACK)
        names = ", ".join(str(job) for job in attempts)
        lifecycle.remark(jobs[takeover.job], "takes-over", {"victims": names})
        bump_epoch({placement.node_id for placement in placements})
        after_commit(Topic.CYCLE_WAKE)
        return True


def _still_holds(
    takeover: Takeover, attempts: dict[int, int], jobs: dict[int, Job], placements: Sequence[Placement]
) -> bool:
    job = jobs.get(takeover.job)
    if job is None or job.status != JobStatus.PENDING or job.intent != Intent.RUN:
        return False
    if Hold.objects.filter(beneficiary=job).exists():
        return False
    live = {(placement.job_id, placement.attempt, placement.node_id) for placement in placements}
    if live != {(victim.job, victim.attempt, victim.node) for victim in takeover.victims}:
        return False
    said = {victim.job: victim.cause for victim in takeover.victims}
    rules = active_policy().preemption
    if not all(_may_ask(one, jobs[one.job_id], said[one.job_id], rules) for one in placements):
        return False
    if not _comes_free(takeover):
        return False
    victims = [jobs[number] for number in attempts if number in jobs]
    asked = [one for one in victims if one.status in (JobStatus.STARTING, JobStatus.RUNNING)]
    preemptable = Job.objects.filter(pk__in=attempts, queue__preemptable=True, intent=Intent.RUN)
    return len(asked) == len(attempts) == preemptable.count()


def _comes_free(takeover: Takeover) -> bool:
    """Whether the places are free once those left who leave already and who are asked now: what ended since the view
    was read may have made room for others.
    """
    gone = Q(placement__phase__in=LEAVING) | Q(placement__job__in={one.job for one in takeover.victims})
    for place in takeover.places:
        if CoreBooking.objects.filter(node=place.node, cpu__in=place.cpus).exclude(gone).exists():
            return False
        wanted = {part.device: part.compute_milli for part in place.slices}
        stay = Slice.objects.filter(device__in=wanted).exclude(gone).order_by().values("device_id")
        held = stay.annotate(total=Sum("compute_milli")).values_list("device_id", "total")
        if any(wanted[device] + total > WHOLE_MILLI for device, total in held):
            return False
    return True


def _may_ask(placement: Placement, job: Job, cause: PreemptionCause, rules: PreemptionPolicy) -> bool:
    """Not what leaves already, is spared by now or has started since it was chosen as one that has not; nor work that
    would be lost where the policy keeps it.
    """
    if placement.phase not in STARTED_PHASES:
        return False
    now, min_run = clock.now(), timedelta(seconds=rules.min_run_s)
    ran = None if placement.running_at is None else now - placement.running_at
    if is_spared(placement.spared_until, placement.attempt, ran=ran, now=now, min_run=min_run):
        return False
    if ran is None:
        return True
    keeps = rules.on_checkpoint_timeout is CheckpointTimeout.KEEP
    return cause is not PreemptionCause.UNSTARTED and (_can_save(job) or not keeps)


def _can_save(job: Job) -> bool:
    return decode_spec(job.spec).checkpoint is not None


def _ask(placement: Placement, beneficiary: int, *, for_checkpoint: bool) -> None:
    """For a checkpoint where all of its job runs and can make one; else it leaves at once."""
    Placement.objects.filter(pk=placement.pk).update(
        phase=Phase.CHECKPOINTING if for_checkpoint else Phase.STOPPING,
        saved_at=None,
        stop_reason=PREEMPTED,
        stopping_at=clock.now(),
        yields_to=beneficiary,
    )


def settle() -> int:
    """Give up what came to nothing: takeovers whose job no longer waits or whose time is over, and askings for which
    nothing is kept or that nobody answered within the grace period. How many; harmless when repeated, three queries
    when there is nothing.
    """
    now = clock.now()
    waits = Q(beneficiary__status=JobStatus.PENDING, beneficiary__intent=Intent.RUN)
    over = Hold.objects.filter(Q(until__lte=now) | ~waits)
    # What a job was kept is dropped where it starts, here or elsewhere.
    kept = Hold.objects.filter(beneficiary=OuterRef("yields_to"))
    in_vain = ASKED.filter(~Exists(kept)).values_list("yields_to_id", flat=True)
    without_need = {*over.values_list("beneficiary_id", flat=True), *in_vain}
    for job in sorted(without_need, key=lambda number: number or 0):
        _give_up(job, "preempt-given-up")
    grace = timedelta(seconds=active_policy().preemption.grace_s)
    silent = ASKED.filter(stopping_at__lte=now - grace)
    late = set(silent.values_list("yields_to_id", flat=True))
    for job in sorted(number for number in late if number is not None):
        _out_of_grace(job, silent)
    return len(without_need | late)


def _out_of_grace(beneficiary: int, silent: Any) -> None:
    """Without a checkpoint the victim is stopped, or keeps its place, as the policy says."""
    if active_policy().preemption.on_checkpoint_timeout is CheckpointTimeout.KEEP:
        _give_up(beneficiary, "preempt-unanswered")
        return
    with transaction.atomic():
        _jobs, placements = locked_live(silent.filter(yields_to=beneficiary))
        asked = Placement.objects.filter(pk__in=[one.pk for one in placements])
        asked.update(phase=Phase.STOPPING, stopping_at=clock.now())
        bump_epoch({placement.node_id for placement in placements})


def _give_up(beneficiary: int | None, code: str) -> None:
    """None: a job that is no more."""
    with transaction.atomic():
        asked = ASKED.filter(yields_to=beneficiary)
        numbers = set(asked.values_list("job_id", flat=True))
        jobs = lifecycle.lock_jobs(numbers if beneficiary is None else {beneficiary, *numbers})
        placements = list(asked.filter(job__in=numbers).select_for_update(no_key=True).order_by("pk"))
        abandon(beneficiary, jobs, placements, code)


def abandon(
    beneficiary: int | None, jobs: dict[int, Job], placements: Sequence[Placement], code: str, **details: Any
) -> None:
    """The kept place is free for all again, and those who did not yet stop run on and are spared for a while. Jobs and
    placements are locked.
    """
    spared_until = clock.now() + timedelta(seconds=active_policy().preemption.min_run_s)
    for placement in placements:
        Placement.objects.filter(pk=placement.pk).update(
            phase=Phase.RUNNING,
            stop_reason="",
            stopping_at=None,
            yields_to=None,
            saved_at=None,
            spared_until=spared_until,
        )
        told = {"for_job": beneficiary, **details}
        lifecycle.keep_place(jobs[placement.job_id], code, told, started=placement.running_at is not None)
    bump_epoch({placement.node_id for placement in placements})
    job = None if beneficiary is None else jobs.get(beneficiary)
    if job is not None and drop_holds(job.pk) and job.status == JobStatus.PENDING:
        lifecycle.remark(job, "takeover-given-up", {})
    after_commit(Topic.CYCLE_WAKE)


def refuse(placement: Placement, job: Job, code: str, details: Mapping[str, Any]) -> None:
    """A victim that can make no checkpoint runs on, also one that a person wanted suspended since; its row and its
    job's are locked. The rest of what was asked for that job is given up by the next cycle: here nothing else may be
    locked.
    """
    spared_until = clock.now() + timedelta(seconds=active_policy().preemption.min_run_s)
    Placement.objects.filter(pk=placement.pk).update(yields_to=None, spared_until=spared_until)
    started = placement.running_at is not None
    if not lifecycle.keep_place(job, code, details, started=started) and not lifecycle.go_on(
        job, code, details
    ):
        lifecycle.remark(job, code, details)
    expire(placement.yields_to_id)
    after_commit(Topic.CYCLE_WAKE)
