"""The agent itself: reports what is, obeys what should be, and keeps both in step with the journal."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import msgspec

from agent import clock, protocol
from agent.collect import Collector, Readings
from agent.config import Identity
from agent.host import machine
from agent.journal import SILENCE_LIMIT_S, Journal, Obeyed
from agent.logs import TICK_S, LogShipper
from agent.outbox import Outbox, facts_digest
from agent.protocol import Assignment, ExitReason, GuardRules, Reply, Report, TaskPhase, TaskState
from agent.pruning import Pruning
from agent.reconcile import (
    Action,
    Ask,
    Forget,
    Recall,
    Settle,
    Stage,
    Start,
    Stop,
    Task,
    Verdict,
    judge,
    reconcile,
    silence_stops,
)
from agent.runners.base import Runner, RunnerError
from agent.runners.environment import visible_devices
from agent.task import Outcome, Record, TaskKey, key_of
from agent.task_states import task_state, told_key
from agent.transport import Backoff, Transport, TransportError

logger = logging.getLogger("headrace.agent.loop")
MEASURE_PATIENCE_S = 1.5
SHORTEST_WAKE_S = 0.5
SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S = 1, 300


class Agent:
    """One node. Collector and runner are given, so simulated nodes speak the same protocol through the same code."""

    def __init__(
        self,
        identity: Identity,
        *,
        transport: Transport,
        collector: Collector,
        runner: Runner,
        journal: Journal,
        boot_id: str | None = None,
        interval_s: int | None = None,
        observe_only: bool = False,
        log_tick_s: float = TICK_S,
    ) -> None:
        self.identity = identity
        self._transport = transport
        self._collector = collector
        self._runner = runner
        self._journal = journal
        self._boot_id = boot_id or machine.boot_id(Path("/"))
        self._fixed_interval_s = interval_s
        self._interval_s = interval_s or identity.report_interval_s
        self._observe_only = observe_only
        self._lock = threading.RLock()
        self._records: dict[TaskKey, Record] = {}
        self._past: set[TaskKey] = set()
        self._spooled: dict[TaskKey, Record] = {}
        self._obeyed = journal.read_obeyed()
        self._desired: tuple[Assignment, ...] | None = None
        self._rules: GuardRules | None = None
        self._complaints: set[str] = set()
        self._outbox = Outbox(journal, self._boot_id)
        # Grows over restarts of the agent within one boot.
        self._seq = max(int(machine.boot_clock_s() * 1000), self._outbox.doubtful_seq())
        self._known_digest: str | None = None
        self._want_facts = True
        self._offset = clock.OffsetEstimator()
        self._pruning = Pruning(runner)
        self._shipper = LogShipper(transport, self._log_done, tick_s=log_tick_s)
        self._event = threading.Event()
        self._changed = threading.Event()
        self._ready = threading.Event()
        self._stopping = threading.Event()
        self._measuring = False
        self._primed = False
        self._told: set[TaskKey] = set()  # ended, and the server has heard of it

    def run(self) -> None:
        """Work until stop() is called; jobs go on after that."""
        self._adopt()
        self._collector.start(self._on_ready)
        self._shipper.start()
        threading.Thread(target=self._wake_loop, name="wake", daemon=True).start()
        try:
            self._report_loop()
        finally:
            self._shipper.close()
            self._collector.close()
            self._runner.close()

    def stop(self) -> None:
        """Ask run() to return; safe in a signal handler."""
        self._stopping.set()
        self._event.set()

    def stop_jobs(self, *, timeout_s: float) -> None:
        """End every job and wait for it, for a supervisor that wants nothing left behind."""
        with self._lock:
            for key in list(self._records):
                self._stop_task(Stop(key, "the agent was told to stop its jobs"))
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and any(
            task.stage is not Stage.ENDED for task in self._tasks().values()
        ):
            self._changed.wait(0.1)
            self._changed.clear()

    # -- reporting

    def _report_loop(self) -> None:
        backoff = Backoff()
        next_tick_s = patience_s = time.monotonic()
        retry_s: float | None = None
        while not self._stopping.is_set():
            now_s = time.monotonic()
            if now_s >= next_tick_s:
                next_tick_s = max(next_tick_s + self._interval_s, now_s + self._interval_s / 2)
                patience_s = now_s + MEASURE_PATIENCE_S
                self._measuring = True
                self._begin_round()
            if self._is_due(now_s, patience_s, retry_s):
                retry_s = self._report_or_delay(backoff)
            measured_s = patience_s if self._measuring and self._primed else next_tick_s
            self._sleep_until(next_tick_s, measured_s if retry_s is None else retry_s)

    def _begin_round(self) -> None:
        """Whatever goes wrong here must not end the loop: the report itself is still due."""
        try:
            self._collector.begin()
            self._guard_silence()
        except Exception:
            logger.exception("a round began badly")

    def _is_due(self, now_s: float, patience_s: float, retry_s: float | None) -> bool:
        """Report when measured, when a task changed, or when measuring takes too long - but never before the
        first round.
        """
        self._primed = self._primed or self._ready.is_set()
        if not self._primed or (retry_s is not None and now_s < retry_s):
            return False
        overdue = self._measuring and now_s >= patience_s
        return retry_s is not None or overdue or self._ready.is_set() or self._changed.is_set()

    def _report_or_delay(self, backoff: Backoff) -> float | None:
        """Report; on failure the time to try again."""
        self._measuring = False
        try:
            self._report()
        except TransportError as error:
            self._complain(f"report: {error}")
            return time.monotonic() + backoff.next_s(error)
        except Exception:
            logger.exception("report failed")
            return time.monotonic() + backoff.next_s()
        backoff.reset()
        return None

    def _sleep_until(self, *moments: float) -> None:
        wait_s = min(moments) - time.monotonic()
        if wait_s > 0:
            self._event.wait(wait_s)
        self._event.clear()

    def _report(self) -> None:
        """Tell what is; first again what may have arrived, which is all where nothing is newer."""
        self._ready.clear()
        taken = self._collector.take()
        self._outbox.add(taken)
        self._runner.guard(self._rules, None if taken is None else taken.memories)
        self._runner.measure()
        doubtful = self._outbox.doubtful()
        if doubtful is not None:
            self._tell(doubtful)
            if self._outbox.waiting is None and not self._changed.is_set():
                return
        self._changed.clear()
        self._tell(self._build_report(self._outbox.waiting or Readings()))

    def _tell(self, report: Report) -> None:
        sent = clock.now()
        reply = self._outbox.send(
            msgspec.structs.replace(report, sent_at_ms=sent.wall_us // 1000), self._transport.report
        )
        received = clock.now()
        self._complaints.clear()
        self._told |= {told_key(task) for task in report.tasks if task.phase is TaskPhase.ENDED}
        self._offset.add(
            sent, received, server_received_ms=reply.received_at_ms, server_sent_ms=reply.sent_at_ms
        )
        if report.facts is not None:
            self._known_digest = report.facts_digest
        self._want_facts = reply.want_facts
        if reply.want_facts and report.facts is None:
            self._changed.set()
            self._event.set()
        if self._fixed_interval_s is None:
            self._interval_s = min(max(reply.report_interval_s, SHORTEST_INTERVAL_S), LONGEST_INTERVAL_S)
        if self.obey(reply) is Verdict.OBEY and report.kept:
            self._pruning.answered(reply.over, self._jobs_here())

    def _jobs_here(self) -> set[int]:
        with self._lock:
            return {record.assignment.job for record in self._records.values()}

    def _build_report(self, readings: Readings) -> Report:
        facts = self._collector.facts()
        digest = facts_digest(facts)
        self._seq += 1
        return Report(
            version=protocol.VERSION,
            boot_id=self._boot_id,
            seq=self._seq,
            sent_at_ms=0,
            facts_digest=digest,
            epoch=self._obeyed.epoch,
            cluster_id=self._obeyed.cluster_id or self.identity.cluster_id,
            facts=facts if self._want_facts or digest != self._known_digest else None,
            node=readings.node,
            samples=list(readings.samples),
            checks=list(readings.checks),
            tasks=self._task_states(),
            clock=self._offset.best(),
            kept=self._pruning.question(self._jobs_here()),
        )

    def _task_states(self) -> list[TaskState]:
        with self._lock:
            return [task_state(record, self._runner.progress(record)) for record in self._records.values()]

    # -- obeying

    def obey(self, reply: Reply) -> Verdict:
        """Bring the node towards the desired set, if the reply has the right to say so."""
        with self._lock:
            verdict = judge(reply, cluster_id=self.identity.cluster_id, epoch=self._obeyed.epoch)
            if verdict is Verdict.OLDER_EPOCH:
                logger.debug("overtaken reply of epoch %s passed over", reply.epoch)
                return verdict
            if verdict is not Verdict.OBEY:
                self._complain(
                    f"a reply was not obeyed: {verdict} (cluster {reply.cluster_id}, epoch {reply.epoch})"
                )
                return verdict
            moved = (reply.cluster_id, reply.epoch) != (self._obeyed.cluster_id, self._obeyed.epoch)
            self._obeyed = Obeyed(
                reply.cluster_id,
                reply.epoch,
                self._boot_id,
                machine.boot_clock_s(),
                reply.silence_limit_s or SILENCE_LIMIT_S,
            )
            self._desired, self._rules = tuple(reply.assignments), reply.guard
            self._settle()
            self._journal.write_obeyed(
                self._obeyed, durable=moved
            )  # after the starts, which wait for no disk but their own
            return verdict

    def _settle(self) -> None:
        """Apply the last obeyed desired set to how things stand now."""
        if self._desired is None:
            return
        actions = reconcile(self._tasks(), self._desired, past=self._past, observe_only=self._observe_only)
        for action in actions:
            try:  # the others must not wait for one that fails, and the next reply tries again
                self._do(action)
            except OSError as error:  # a full disk, say
                self._complain(f"{type(action).__name__}: {error}")
            except Exception:
                logger.exception("%s failed", type(action).__name__)

    def _do(self, action: Action) -> None:
        match action:
            case Start(assignment):
                self._start_task(assignment)
            case Stop():
                self._stop_task(action)
            case Ask(assignment):
                self._ask_checkpoint(assignment)
            case Forget(key):
                self._forget_task(key)
            case Settle(assignment, reason, message):
                self._keep(self._ended_record(assignment, reason, message))
            case Recall(assignment):
                outcome = self._journal.past_outcome(key_of(assignment))
                self._past.discard(key_of(assignment))
                record = self._ended_record(
                    assignment, ExitReason.LOST_PROCESS, "how it ended is not known any more"
                )
                self._keep(msgspec.structs.replace(record, outcome=outcome) if outcome else record)

    def _tasks(self) -> dict[TaskKey, Task]:
        with self._lock:
            return {key: self._task(record) for key, record in self._records.items()}

    def _task(self, record: Record) -> Task:
        progress = self._runner.progress(record)
        phase = progress.phase
        stages = {None: Stage.UNSTARTED, TaskPhase.STOPPING: Stage.STOPPING, TaskPhase.ENDED: Stage.ENDED}
        return Task(
            record.key,
            stages.get(phase, Stage.LIVE),
            strict_single=record.assignment.strict_single,
            told=record.key in self._told,
            asked=progress.asked,
        )

    def _start_task(self, assignment: Assignment) -> None:
        """Write down first, then start: after a crash between the two, the next agent goes on with the start."""
        key = key_of(assignment)
        try:
            record = self._records.get(key) or self._new_record(assignment)
            self._journal.write(record)
            self._records[key] = record
            self._runner.start(record)
            self._shipper.follow(key, self._runner.log_path(record))
        except (RunnerError, OSError) as error:
            logger.warning("placement %s cannot start: %s", key.placement, error)
            self._keep(
                self._ended_record(assignment, ExitReason.START_FAILED, str(error), self._records.get(key))
            )

    def _ask_checkpoint(self, assignment: Assignment) -> None:
        record = self._records[key_of(assignment)]
        if assignment.checkpoint_asked is not None and record.assignment.checkpoint is not None:
            self._runner.checkpoint(record, assignment.checkpoint_asked)

    def _new_record(self, assignment: Assignment) -> Record:
        return Record(
            assignment=assignment,
            boot_id=self._boot_id,
            created_at_ms=wall_ms(),
            uid=self._runner.reserve(assignment),
            devices_env=visible_devices(assignment.devices),
        )

    def _ended_record(
        self, assignment: Assignment, reason: ExitReason, message: str, base: Record | None = None
    ) -> Record:
        record = base or Record(assignment=assignment, boot_id=self._boot_id, created_at_ms=wall_ms())
        code = 126 if reason is ExitReason.START_FAILED else None
        outcome = Outcome(reason=reason, ended_at_ms=wall_ms(), exit_code=code, message=message)
        return msgspec.structs.replace(record, outcome=outcome)

    def _keep(self, record: Record) -> None:
        """Hold an ended task until the server drops it; a full disk must not keep it from being reported."""
        self._records[record.key] = record
        try:
            self._journal.write(record)
        except OSError as error:
            logger.warning("journal: %s", error)
        self._poke()

    def _stop_task(self, action: Stop) -> None:
        record = self._records.get(action.key)
        if record is None or self._task(record).stage is Stage.ENDED:
            return
        if not record.stop_wanted:
            logger.info("stopping placement %s: %s", action.key.placement, action.why or "as wanted")
        record = msgspec.structs.replace(record, stop_wanted=True)
        self._records[action.key] = record
        try:
            self._journal.write(record)
        finally:
            self._runner.stop(record)

    def _forget_task(self, key: TaskKey) -> None:
        record = self._records[key]
        self._runner.clear(record)  # first: what is written next may need the room
        self._journal.spool(key, self._runner.progress(record).outcome)
        del self._records[key]
        self._past.add(key)
        self._told.discard(key)
        self._runner.release(record)
        self._spooled[key] = record
        self._shipper.follow(key, self._runner.log_path(record), ended=True)
        if self._shipper.is_done(key):
            self._log_done(key)

    def _log_done(self, key: TaskKey) -> None:
        """An ended task's log is with the server: once the task is let go, nothing of it is needed here."""
        with self._lock:
            if self._spooled.pop(key, None) is not None:
                self._shipper.drop(key)
                self._journal.drop(key)

    def _guard_silence(self) -> None:
        with self._lock:
            if self._obeyed.boot_id != self._boot_id:
                return
            silence_s = machine.boot_clock_s() - self._obeyed.contact_s
            for action in silence_stops(
                self._tasks(), silence_s=silence_s, limit_s=self._obeyed.silence_limit_s
            ):
                self._do(action)

    # -- own life

    def _adopt(self) -> None:
        self._runner.on_change = self._on_change
        self._past = self._journal.past_keys()
        for record in self._journal.read_all():
            self._records[record.key] = record
            try:
                self._runner.adopt(record)
                self._shipper.follow(record.key, self._runner.log_path(record), ended=self._is_ended(record))
            except Exception:  # the other tasks are to be adopted all the same
                logger.exception("placement %s could not be adopted", record.key.placement)
        for record in self._journal.spooled():
            self._spooled[record.key] = record
            self._shipper.follow(record.key, self._runner.log_path(record), ended=True)
        try:
            self._runner.sweep(self._records.keys())
        except OSError as error:
            logger.warning("work folders could not be swept: %s", error)
        if self._records:
            logger.info("adopted %d tasks of an earlier run", len(self._records))

    def _is_ended(self, record: Record) -> bool:
        return self._runner.progress(record).phase is TaskPhase.ENDED

    def _on_change(self, key: TaskKey) -> None:
        """A task started or ended: report at once, and see whether something waited for that."""
        with self._lock:
            record = self._records.get(key)
            if record is not None and self._is_ended(record):
                self._runner.clear(record)
                self._shipper.follow(key, self._runner.log_path(record), ended=True)
                self._settle()
        self._poke()

    def _on_ready(self) -> None:
        self._ready.set()
        self._event.set()

    def _poke(self) -> None:
        self._changed.set()
        self._event.set()

    def _wake_loop(self) -> None:
        backoff = Backoff()
        while not self._stopping.is_set():
            began_s, epoch = time.monotonic(), self._obeyed.epoch
            try:
                reply = self._transport.wake(epoch)
            except TransportError as error:
                self._stopping.wait(backoff.next_s(error))
                continue
            except Exception:
                logger.exception("waiting for news failed")
                self._stopping.wait(backoff.next_s())
                continue
            backoff.reset()
            self._obey_wake(reply)
            if self._obeyed.epoch == epoch and time.monotonic() - began_s < SHORTEST_WAKE_S:
                self._stopping.wait(
                    SHORTEST_WAKE_S
                )  # a server that does not hold the request is not to be hammered

    def _obey_wake(self, reply: Reply) -> None:
        try:
            self.obey(reply)
        except Exception:
            logger.exception("obeying a reply failed; the next report tries again")
        if reply.want_facts:
            self._want_facts = True
            self._poke()

    def _complain(self, text: str) -> None:
        """Say the same trouble once until it is over."""
        if text not in self._complaints:
            self._complaints.add(text)
            logger.warning("%s", text)


def wall_ms() -> int:
    """This node's wall clock; shown only, nothing is decided by it."""
    return time.time_ns() // 1_000_000
