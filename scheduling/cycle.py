"""One scheduling cycle: read, plan, apply, in bounded batches under a lease, again until nobody asked for
another look.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field, replace
from itertools import groupby

import structlog

from controlplane.base import clock, locks
from controlplane.base.locks import CYCLE_LEASE, LeaseLost, LeaseToken
from controlplane.policy.active import active_policy
from queues.gates import open_gates
from scheduling.apply import Applying, StaleCode, apply_placed
from scheduling.deadlines import end_overdue
from scheduling.deferring import defer_or_let_go
from scheduling.engine.codec import Recording
from scheduling.engine.fairshare import Whole
from scheduling.engine.ordering import in_service_order
from scheduling.engine.quota import capacity_of
from scheduling.engine.session import PlanningSession
from scheduling.engine.types import EnginePolicy, ExpectedShape, PendingJob, Plan, Refusal
from scheduling.evacuation import move_off_failed_devices
from scheduling.expected import expected_jobs
from scheduling.fairshare import count_usage
from scheduling.foresight import Foresight
from scheduling.gangs import keep_together
from scheduling.holdings import Holdings
from scheduling.losses import declare_lost_nodes
from scheduling.models import Cycle
from scheduling.outlook import is_above_some, look_ahead
from scheduling.pauses import cluster_is_paused
from scheduling.policy_bridge import current_policy
from scheduling.promises import load_promises, store_promises
from scheduling.pulses import note_look
from scheduling.reasons import store_reasons
from scheduling.recordings import Recorder
from scheduling.requests import RequestCache, load_pending
from scheduling.running import RunningCache
from scheduling.snapshot import SnapshotCache
from scheduling.takeovers import begin, settle, takeovers_of
from scheduling.wishes import fulfil_wish, is_wished

log = structlog.get_logger(__name__)

# How long a killed holder keeps the others waiting.
LEASE_TTL_S = 10.0
# The lease is prolonged between reading and planning, not within: each must stay far below it.
BATCH = 250
# Applying takes milliseconds each; the lease is prolonged long before it could run out.
RENEW_EVERY = 50
# A decision that the rows refused is decided anew at once; what is refused time and again waits for the next wake.
MOST_ROUNDS = 4
MOST_BEHIND_PROMISES = 500


@dataclass(frozen=True)
class CacheUse:
    """Scores that were needed, one per shape and node, and those of them that were still right."""

    hits: int = 0
    lookups: int = 0

    def __sub__(self, earlier: CacheUse) -> CacheUse:
        return CacheUse(self.hits - earlier.hits, self.lookups - earlier.lookups)


@dataclass
class Worker:
    """What one scheduling process keeps between its cycles."""

    snapshot: SnapshotCache = field(default_factory=SnapshotCache)
    requests: RequestCache = field(default_factory=RequestCache)
    session: PlanningSession = field(default_factory=PlanningSession)
    running: RunningCache = field(default_factory=RunningCache)
    foresight: Foresight = field(default_factory=Foresight)
    recorder: Recorder = field(default_factory=Recorder)

    def warm(self) -> None:
        """Read the cluster for the first time."""
        if self.snapshot.whole_at_ms is None:
            self.snapshot.refresh(
                now_ms=clock.now_ms(), whole_every_ms=current_policy(capped=False).refresh_ms
            )

    def cache_use(self) -> CacheUse:
        """Since this process began."""
        found = self.session.counters
        return CacheUse(found.lines_kept, found.lines_kept + found.lines_renewed)


@dataclass
class Tally:
    """What one cycle did."""

    considered: int = 0
    placed: int = 0
    stale: int = 0
    cache_use: CacheUse = CacheUse()
    refusals: dict[str, Refusal] = field(default_factory=dict)
    behind_promises: int = 0

    def answers(self, shape: str) -> bool:
        """Whether another job of this shape need not be looked at. Where a promise is in the way, one that is short
        enough may start all the same; the first so many are looked at.
        """
        refusal = self.refusals.get(shape)
        if (
            refusal is not None
            and refusal.waits_for is not None
            and self.behind_promises < MOST_BEHIND_PROMISES
        ):
            self.behind_promises += 1
            return False
        return refusal is not None


WORKER = Worker()


def run_cycles(holder: str, *, worker: Worker = WORKER) -> int:
    """Cycles until no wake is unseen; the number of them, 0 when another process is at it. A duplicate
    call is harmless.
    """
    try:
        # A worker that knows nothing yet reads everything, which may take longer than a lease lasts.
        worker.warm()
        return locks.work_under_lease(
            CYCLE_LEASE, holder=holder, ttl_s=LEASE_TTL_S, work=lambda lease: _look(lease, worker)
        )
    except LeaseLost:
        log.warning("cycle-lease-lost", holder=holder)
        return 0


def _look(lease: LeaseToken, worker: Worker) -> None:
    """One cycle, which leaves a trace also when it came to nothing."""
    skipped = True
    try:
        one_cycle(lease, worker)
        skipped = False
    finally:
        note_look(skipped=skipped)


def one_cycle(lease: LeaseToken, worker: Worker) -> None:
    """Look at every waiting job once."""
    end_overdue()
    open_gates()
    defer_or_let_go(active_policy().valley_window)
    keep_together()
    if cluster_is_paused():
        return
    declare_lost_nodes()
    move_off_failed_devices()
    settle()
    started, cpu_started = clock.monotonic_s(), time.process_time()
    cache_before = worker.cache_use()
    tally = Tally()
    cycle: Cycle | None = None
    for _round in range(MOST_ROUNDS):
        waiting = load_pending(worker.requests)
        locks.renew(lease, ttl_s=LEASE_TTL_S)
        if not waiting or cluster_is_paused():
            break
        if cycle is None:
            _count_usage(worker)
        # What is held, and what may be, as it is now: nobody else takes anything until this round is over.
        policy = current_policy()
        waiting = worker.foresight.foresee(waiting, policy.engine)
        if cycle is None:
            cycle = Cycle.objects.create(fencing_token=lease.token)
            worker.recorder.begin(wished=is_wished())
        tally.refusals.clear()
        tally.behind_promises = 0
        stale_before = tally.stale
        _round_of_batches(Applying(lease, cycle, policy), waiting, worker, tally)
        if tally.stale == stale_before:
            break
    store_reasons(tally.refusals, cycle)
    if cycle is None:
        return
    tally.cache_use = worker.cache_use() - cache_before
    _finish(cycle, tally, wall_s=clock.monotonic_s() - started, cpu_s=time.process_time() - cpu_started)
    codes = {shape: refusal.code for shape, refusal in tally.refusals.items()}
    worker.recorder.write(cycle, codes, policy.document.retention)
    if worker.recorder.wished:
        fulfil_wish()


def _count_usage(worker: Worker) -> None:
    """What teams have had until now, of what the cluster was when this process last looked."""
    worker.warm()
    capacity = capacity_of(worker.snapshot.state)
    whole = Whole(int(capacity.device_milli.sum()), capacity.core_milli)
    count_usage(whole, half_life_days=active_policy().queue_policy.fair_share_half_life_days)


def _round_of_batches(
    context: Applying, waiting: list[tuple[PendingJob, str]], worker: Worker, tally: Tally
) -> None:
    """Every batch sees what the one before it did, and is committed before the next begins. A round only takes, so
    that a shape once refused is not tried again in it: its other jobs are answered by that. Jobs that would borrow come
    last, when all others have been served.
    """
    batches = _Batches(context, worker, tally, waiting)
    batches.serve(in_service_order(batches.jobs.values(), context.policy.engine), lending=False)
    batches.serve(batches.borrowers(), lending=True)
    # Each job once, however many rounds looked at it: what was placed, and what waits on.
    tally.considered = tally.placed + len(batches.waiting)
    store_promises(batches.promised)


@dataclass
class _Batches:
    """One round: its jobs and their shapes by id, and what is held while it goes on."""

    context: Applying
    worker: Worker
    tally: Tally
    pending: InitVar[list[tuple[PendingJob, str]]]
    jobs: dict[int, PendingJob] = field(default_factory=dict)
    shapes: dict[int, str] = field(default_factory=dict)
    expected: tuple[ExpectedShape, ...] = field(default_factory=expected_jobs)

    def __post_init__(self, pending: list[tuple[PendingJob, str]]) -> None:
        self.jobs = {job.job: job for job, _shape in pending}
        self.shapes = {job.job: shape for job, shape in pending}
        self.waiting = set(self.jobs)
        self.holdings = Holdings.of_policy(self.context.policy.engine)
        self.promised = load_promises()

    def serve(self, line: Iterable[PendingJob], *, lending: bool) -> None:
        """Decide and apply the jobs of a line, a batch at a time."""
        queue = iter(line)
        while batch := _next_batch(queue, self.shapes, self.tally):
            policy = replace(self.holdings.within(self.context.policy.engine), lending=lending)
            call = self._plan(policy, batch)
            made = call.plan or Plan()
            self.promised = made.reservations
            self._apply(made)
            # Where one of a shape waits for a promise only, others of it may start beside that.
            by_promise = sorted(made.refused, key=lambda refusal: refusal.waits_for is not None)
            refused = {self.shapes[refusal.job]: refusal for refusal in by_promise}
            self.worker.recorder.offer(call, {shape: refusal.code for shape, refusal in refused.items()})
            self._take_over(policy, batch, made)
            self.tally.refusals |= refused
            locks.renew(self.context.lease, ttl_s=LEASE_TTL_S)

    def _take_over(self, policy: EnginePolicy, batch: list[PendingJob], made: Plan) -> None:
        """Have the victims leave of jobs that found no place and may take that of others."""
        wanting = {refusal.job for refusal in made.refused if refusal.cap is None}
        above = [job for job in batch if job.job in wanting and is_above_some(job, policy)]
        if not above:
            return
        found = self._plan(replace(self.holdings.within(policy), preempts=True), above[:BATCH])
        # Why its jobs wait was told by the plan before.
        self.worker.recorder.offer(found, {})
        for takeover in takeovers_of(found.plan or Plan()):
            if begin(takeover, self.context.lease):
                self.worker.running.forget()
            locks.renew(self.context.lease, ttl_s=LEASE_TTL_S)

    def _plan(self, policy: EnginePolicy, batch: list[PendingJob]) -> Recording:
        now_ms = clock.now_ms()
        jobs, running = look_ahead(
            batch, policy, now_ms=now_ms, promised=self.promised, running=self.worker.running
        )
        call = Recording(
            nodes=(),
            jobs=jobs,
            policy=policy,
            now_ms=now_ms,
            seed=self.context.lease.token,
            expected=self.expected,
            limit=BATCH,
            running=running,
            reservations=self.promised,
        )
        return _decided(call, self.context, self.worker)

    def borrowers(self) -> list[PendingJob]:
        """The jobs that caps keep waiting, and whose queues may borrow; their shapes are open again. A refusal names
        one cap, elsewhere the queue's may be the only one; and gangs may miss caps that no refusal names.
        """
        lent = {queue.queue for queue in self.context.policy.engine.queues if queue.borrow}
        refusals = self.tally.refusals
        capped = {shape for shape, refusal in refusals.items() if refusal.cap is not None}
        found = [
            job
            for number, job in self.jobs.items()
            if job.queue in lent
            and number in self.waiting
            and (self.shapes[number] in capped or (job.replicas > 1 and self.shapes[number] in refusals))
        ]
        for job in found:
            self.tally.refusals.pop(self.shapes[job.job], None)
        return in_service_order(found, self.context.policy.engine)

    def _apply(self, found: Plan) -> None:
        tally, worker = self.tally, self.worker
        jobs = groupby(found.placed, key=lambda placed: placed.job)
        for done, (number, replicas) in enumerate(jobs):
            parts = tuple(replicas)
            # A large gang takes as long as many jobs.
            if done % RENEW_EVERY == 0 or len(parts) > 1:
                locks.renew(self.context.lease, ttl_s=LEASE_TTL_S)
            code = apply_placed(parts[0], self.context, *parts[1:])
            if code is None:
                tally.placed += 1
                for part in parts:
                    self.holdings.add(self.jobs[number], part, worker.snapshot.state.info(part.node))
                self.waiting.discard(number)
            elif code is not StaleCode.JOB_CHANGED:
                tally.stale += 1
                for node in {part.node for part in parts}:
                    worker.snapshot.reread(node)


def _next_batch(queue: Iterator[PendingJob], shapes: Mapping[int, str], tally: Tally) -> list[PendingJob]:
    """The next jobs in order whose shape was not refused yet; the others are answered."""
    batch: list[PendingJob] = []
    for job in queue:
        if tally.answers(shapes[job.job]):
            continue
        batch.append(job)
        if len(batch) == BATCH:
            break
    return batch


def _decided(call: Recording, context: Applying, worker: Worker) -> Recording:
    """The call with the nodes as they are now, and what was decided."""
    with worker.snapshot.lock:
        state = worker.snapshot.refresh(now_ms=call.now_ms, whole_every_ms=context.policy.refresh_ms)
        locks.renew(context.lease, ttl_s=LEASE_TTL_S)
        made = worker.session.plan(
            state,
            call.jobs,
            call.policy,
            now_ms=call.now_ms,
            seed=call.seed,
            expected=call.expected,
            limit=call.limit,
            running=call.running,
            reservations=call.reservations,
        )
        nodes = tuple(state.infos)
    return replace(call, nodes=nodes, plan=made)


def _finish(cycle: Cycle, tally: Tally, *, wall_s: float, cpu_s: float) -> None:
    Cycle.objects.filter(pk=cycle.pk).update(
        finished_at=clock.now(),
        wall_ms=int(wall_s * 1000),
        cpu_ms=int(cpu_s * 1000),
        considered=tally.considered,
        placed=tally.placed,
        refused=len(tally.refusals),
        stale=tally.stale,
        cache_hits=tally.cache_use.hits,
        cache_lookups=tally.cache_use.lookups,
    )
