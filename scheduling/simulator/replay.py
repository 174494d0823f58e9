"""The event loop: virtual time, the production `plan()`, and what running the decisions does.

Order within one instant: ends, repairs, failures, window changes, arrivals; then at most one cycle. A cycle
is made only when something could come of it: capacity came free, or a job arrived whose request was not
refused since. `cycle_ms` is the least time between two cycles (0: at every such instant).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from scheduling.engine.types import PPM, Placed
from scheduling.simulator.agenda import Agenda, Kind
from scheduling.simulator.cluster import Cluster, Part
from scheduling.simulator.deciding import Deciding
from scheduling.simulator.execution import Running, pull_ms, speed_ppm
from scheduling.simulator.failures import Failures
from scheduling.simulator.foresight import RunTimes
from scheduling.simulator.holding import Holding
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.log import Event, Happened, Sink, part_of
from scheduling.simulator.metrics import Meter, Waits, Work
from scheduling.simulator.pending import Group, Pending, Waiting
from scheduling.simulator.settings import Settings
from scheduling.simulator.standing import Standing


def _nothing(_: Event) -> None:
    return None


class Replay:
    """One run over jobs in order of submission; memory grows with the jobs that wait and run, and 8 bytes per wait."""

    def __init__(
        self, cluster: Cluster, jobs: Iterable[SimJob], settings: Settings, *, sink: Sink = _nothing
    ) -> None:
        self.cluster, self.settings, self._tell = cluster, settings, sink
        self.meter, self.waits, self.work = Meter(), Waits(), Work()
        self.pending = Pending(settings.policy)
        self.running: dict[int, Running] = {}
        self._run_times = RunTimes(settings.knows, settings.policy)
        self._standing = Standing(cluster, settings.policy, self.running)
        self._deciding = Deciding(cluster, self.pending, settings, self._standing)
        self._holding = Holding(cluster, self.pending, settings.valley)
        self._agenda = Agenda(self.running, self.pending)
        self.first_ms = self.now_ms = 0
        self._jobs: Iterator[SimJob] = iter(jobs)
        self._next = next(self._jobs, None)
        self._on_node: dict[int, set[int]] = {}
        self._versions = 0
        self._dirty = False
        self._false_shortage = False
        self._next_cycle_ms = 0
        self._failures: Failures | None = None

    def run(self, progress: Callable[[int], None] = lambda submitted: None) -> Replay:
        """Until nothing is left that could still happen, or until the time limit."""
        if self._next is not None:
            self.first_ms = self.now_ms = self._next.submitted_ms
            self._plan_failures()
        while (at := self._next_instant()) is not None:
            self._pass_time(at)
            self._happen(at)
            self._arrive(at, progress)
            self._maybe_cycle(at)
            self._look_again(at)
            self._false_shortage = self._deciding.false_shortage()
        return self

    @property
    def plans(self) -> int:
        """How often the engine was asked."""
        return self._deciding.plans

    def _next_instant(self) -> int | None:
        """None once nothing runs or arrives and nothing to come could help a job that waits."""
        waits_on = self.pending.count > 0 and self._agenda.helps()
        if not self.running and self._next is None and not waits_on:
            return None
        arrival = None if self._next is None else self._next.submitted_ms
        at = min(time for time in (self._agenda.next_ms(), arrival) if time is not None)
        limit = self.settings.until_ms
        if at > limit:
            self._pass_time(max(limit, self.now_ms))
            return None
        return at

    def _pass_time(self, at: int) -> None:
        if at > self.now_ms:
            waiting = self.pending.count
            self.meter.pass_time(
                self.cluster, at - self.now_ms, waiting=waiting, false_shortage=self._false_shortage
            )
        self.now_ms = at

    def _happen(self, at: int) -> None:
        while (found := self._agenda.pop(at)) is not None:
            kind, subject = found
            match kind:
                case Kind.END:
                    self._end(self.running[subject])
                case Kind.FAIL:
                    self._fail(subject)
                case Kind.REPAIR:
                    self._repair(subject)
                case Kind.LATEST:
                    self._dirty |= self.pending.expire(subject) is not None
                case Kind.PATIENT:
                    self._try_again(subject)
                case Kind.WINDOW | Kind.CYCLE:
                    self._dirty = True

    def _try_again(self, job: int) -> None:
        """It has waited for so long that a place may be promised to it."""
        group = self.pending.group_of(job)
        if group is not None and not self._deciding.has_promised_enough(group):
            group.refused, self._dirty = False, True

    def _arrive(self, at: int, progress: Callable[[int], None]) -> None:
        while self._next is not None and self._next.submitted_ms <= at:
            job = self._next
            self.work.submitted += 1
            self._tell({"at": at, "event": Happened.SUBMIT, "job": job.job, "work_ms": job.duration_ms})
            self._enqueue(job, attempt=1, left_ms=job.duration_ms)
            self._next = next(self._jobs, None)
            if self._next is not None and self._next.submitted_ms < job.submitted_ms:
                raise ValueError(f"job {self._next.job}: submitted before its predecessor; sort the jobs")
            progress(self.work.submitted)
        self.meter.still_arriving = self._next is not None

    def _enqueue(self, job: SimJob, *, attempt: int, left_ms: int) -> None:
        held = job.deferrable and self.settings.valley is not None
        if held and job.latest_start_ms is not None:
            held = job.latest_start_ms > self.now_ms
            if held:
                self._agenda.push(job.latest_start_ms, Kind.LATEST, job.job)
        runs_ms = self._run_times.runs_ms(job, left_ms, self.now_ms)
        group = self.pending.add(
            job, attempt=attempt, left_ms=left_ms, since_ms=self.now_ms, runs_ms=runs_ms, held=held
        )
        self._dirty |= not group.refused
        policy = self.settings.policy
        if policy.reserve_after_ms is None:
            return
        patience_ms = policy.patience.of_ms(runs_ms) if policy.patience else 0
        patient_at_ms = job.submitted_ms + patience_ms + policy.reserve_after_ms
        if patient_at_ms <= self.now_ms:
            self._try_again(job.job)
        else:
            self._agenda.push(patient_at_ms, Kind.PATIENT, job.job)

    def _maybe_cycle(self, at: int) -> None:
        if not self._dirty:
            return
        if at < self._next_cycle_ms:
            if not self._agenda.cycle_due:
                self._agenda.push(self._next_cycle_ms, Kind.CYCLE)
            return
        self._dirty = False
        self._next_cycle_ms = at + self.settings.cycle_ms
        if self.settings.policy.patience is not None and self._run_times.renewed(at):
            self.pending.foresee(lambda one: self._run_times.runs_ms(one.job, one.left_ms, at))
        self._deciding.run(at, self._start, with_held=self._holding.is_over(at))

    def _look_again(self, at: int) -> None:
        look, window_at = self._holding.look_at_ms(at), self._agenda.window_at
        if look is not None and (window_at is None or look < window_at):
            self._agenda.push(look, Kind.WINDOW)

    def _start(self, group: Group, waiting: Waiting, placed: Sequence[Placed]) -> None:
        job, now = waiting.job, self.now_ms
        self.pending.drop(group, waiting)
        self._agenda.started(job.job)
        parts = tuple(Part.of(p) for p in placed)
        for part in parts:
            self.cluster.book(part)
            self._on_node.setdefault(part.node, set()).add(job.job)
        pull = max(pull_ms(job, part, self.cluster) for part in parts)
        run = Running(job, waiting.attempt, parts, waiting.left_ms * PPM, now)
        self.running[job.job] = run
        self._standing.started(job, parts)
        self._run_times.started(job, now)
        if waiting.attempt == 1:
            self.waits.started(job, now - job.submitted_ms)
            self.waits.pulls.append(pull)
        else:
            self.waits.requeued.append(now - waiting.since_ms)
        self._tell(
            {
                "at": now,
                "event": Happened.PLACE,
                "job": job.job,
                "attempt": run.attempt,
                "left_ms": waiting.left_ms,
                "parts": [part_of(part) for part in parts],
            }
        )
        if pull:
            run.since_ms = now + pull
            run.version = self._new_version()
            self._agenda.push(now + pull, Kind.END, job.job, run.version)
        else:
            self._begin(run)

    def _new_version(self) -> int:
        """Never given before, also not to an earlier attempt of the same job."""
        self._versions += 1
        return self._versions

    def _begin(self, run: Running) -> None:
        """The image is there: from now on it works."""
        for part in run.parts:
            image = run.job.request.image
            if image is not None and not self.cluster.has_image(part.node, image):
                self.cluster.add_image(part.node, image)
        self._set_speed(run)
        for node in {part.node for part in run.parts}:
            self._respeed(node, but=run.job.job)

    def _set_speed(self, run: Running) -> None:
        speed = min(speed_ppm(run.job, part, self.cluster) for part in run.parts)
        if speed == run.speed_ppm:
            return
        self.meter.busy -= run.busy
        run.advance(self.now_ms)
        run.speed_ppm = speed
        run.version = self._new_version()
        self.meter.busy += run.busy
        self._agenda.push(run.end_ms(), Kind.END, run.job.job, run.version)
        self._tell({"at": self.now_ms, "event": Happened.SPEED, "job": run.job.job, "ppm": speed})

    def _respeed(self, node: int, *, but: int | None = None) -> None:
        """Reads of the node changed: the others on it run slower or faster."""
        if self.cluster.read_mib_s(node) is None:
            return
        for number in sorted(self._on_node.get(node, ())):
            run = self.running[number]
            if number != but and run.speed_ppm:
                self._set_speed(run)

    def _end(self, run: Running) -> None:
        """Of its image pull, or of its work."""
        if not run.speed_ppm:
            self._begin(run)
            return
        run.advance(self.now_ms)
        self._leave(run)
        self.work.completed += 1
        self.work.done += run.milli * run.job.duration_ms
        self._tell({"at": self.now_ms, "event": Happened.END, "job": run.job.job})

    def _leave(self, run: Running) -> None:
        del self.running[run.job.job]
        self._standing.left(run.job, run.parts)
        self._run_times.left(run.job, self.now_ms)
        self.meter.busy -= run.busy
        for part in run.parts:
            self.cluster.release(part)
            self._on_node[part.node].discard(run.job.job)
        for node in {part.node for part in run.parts}:
            self._respeed(node)
        self.pending.capacity_came_free()
        self._dirty |= self.pending.count > 0

    def _plan_failures(self) -> None:
        if self.settings.failures is None:
            return
        nodes = [info.node for info in self.cluster.state.infos]
        self._failures = Failures(self.settings.failures, nodes, seed=self.settings.seed)
        for node in nodes:
            self._agenda.push(self.now_ms + self._failures.next_failure_ms(node), Kind.FAIL, node)

    def _fail(self, node: int) -> None:
        """All jobs of the node go back to the queue with what their last checkpoint kept.

        A cluster on which nothing runs and that only waits for repairs is spared, so that these have an end.
        """
        assert self._failures is not None
        if self._next is None and self._agenda.only_repairs():
            self._agenda.push(self.now_ms + self._failures.next_failure_ms(node), Kind.FAIL, node)
            return
        self._tell({"at": self.now_ms, "event": Happened.NODE_FAILED, "node": node})
        for number in sorted(self._on_node.get(node, ())):
            run = self.running[number]
            if run.speed_ppm:
                run.advance(self.now_ms)
            every, done = run.job.checkpoint_ms, run.done_ms()
            kept = done - done % every if every else 0
            self._leave(run)
            self.work.requeued += 1
            self.work.lost += run.milli * (done - kept)
            self._tell({"at": self.now_ms, "event": Happened.REQUEUE, "job": number, "kept_ms": kept})
            if run.attempt < self.settings.most_attempts:
                self._enqueue(run.job, attempt=run.attempt + 1, left_ms=run.job.duration_ms - kept)
            else:
                self.work.given_up += 1
                self._tell({"at": self.now_ms, "event": Happened.GIVE_UP, "job": number})
        self.cluster.set_ready(node, "failed")
        self._agenda.push(self.now_ms + self._failures.repair_ms(node), Kind.REPAIR, node)

    def _repair(self, node: int) -> None:
        assert self._failures is not None
        self.cluster.set_ready(node, None)
        self._tell({"at": self.now_ms, "event": Happened.NODE_READY, "node": node})
        self._agenda.push(self.now_ms + self._failures.next_failure_ms(node), Kind.FAIL, node)
        self.pending.capacity_came_free()
        self._dirty |= self.pending.count > 0
