"""The probe cycle over SSH: every node without an agent that is due, many at a time, none waiting for another."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import structlog
from django.db import DataError, IntegrityError

from agent.protocol import RemoteAnswer, RemoteRound
from controlplane.base import clock
from controlplane.policy.document import Health
from inventory.models import RemoteProblem
from inventory.remote import hosts, taking
from inventory.remote.hosts import Claimed
from inventory.remote.looking import NODE_LIMIT_S, SLACK_S, Seen, look
from inventory.remote.reading import ANSWER_LIMIT_S, Reader

log = structlog.get_logger(__name__)

PARALLEL = 16
# Of those at most so many at nodes whose last look failed: nodes that hang together leave room for the others.
PARALLEL_TROUBLED = 8
# Reading what a node says takes milliseconds, what floods takes seconds. This is the limit for nodes whose last look
# failed, and for all once one was slow: so a claim still holds when its turn comes after all others.
SHORT_LIMIT_S = 2.0
assert NODE_LIMIT_S + SLACK_S + ANSWER_LIMIT_S + (PARALLEL - 1) * SHORT_LIMIT_S < hosts.CLAIM_S
# So long one tick starts looks; what falls due later is the next one's.
TICK_S = 8.0

Look = Callable[[Claimed], Seen]


@dataclass(slots=True)
class Looked:
    """How many looks one tick had, and how many of them gave a report."""

    looks: int = 0
    reports: int = 0


@dataclass(slots=True)
class _Tick:
    health: Health
    reader: Reader
    pool: ThreadPoolExecutor
    look: Look
    ends_s: float
    running: dict[Future[Seen], Claimed] = field(default_factory=dict)
    troubled: set[Future[Seen]] = field(default_factory=set)
    looked: Looked = field(default_factory=Looked)
    slow: bool = False

    def start(self) -> None:
        """As many looks as there are nodes due and room for them."""
        while len(self.running) < PARALLEL and clock.monotonic_s() < self.ends_s:
            claimed = hosts.claim(troubled=False)
            troubled = claimed is None
            if claimed is None and len(self.troubled) < PARALLEL_TROUBLED:
                claimed = hosts.claim(troubled=True)
            if claimed is None:
                break
            future = self.pool.submit(self.look, claimed)
            self.running[future] = claimed
            if troubled:
                self.troubled.add(future)

    def finish_one(self) -> None:
        """Wait for looks that end, and take in what one of them gave; nodes whose last look failed come last."""
        done, _ = wait(self.running, return_when=FIRST_COMPLETED)
        future = min(done, key=lambda one: (one in self.troubled, self.running[one].at))
        self.troubled.discard(future)
        self._settle(self.running.pop(future), future.result())

    def _settle(self, claimed: Claimed, seen: Seen) -> None:
        self.looked.looks += 1
        try:
            if seen.problem is not None:
                hosts.settle_badly(claimed, seen.problem, seen.detail)
            else:
                answer = self._read(claimed, seen)
                taking.take(claimed, answer, taking.Arrival(clock.now(), seen.peer, self.health))
                self.looked.reports += 1
        except taking.NotTaken as error:
            hosts.settle_badly(claimed, error.problem, error.detail)
        except taking.Stale:
            log.info("remote-look-too-late", host=claimed.host_id)
        except (DataError, IntegrityError) as error:
            log.exception("remote-look-not-stored", host=claimed.host_id)
            hosts.settle_badly(claimed, RemoteProblem.NOT_UNDERSTOOD, type(error).__name__)
        hosts.give_back(claimed, seen, interval_s=self.health.report_interval_s)

    def _read(self, claimed: Claimed, seen: Seen) -> RemoteAnswer:
        limit_s = SHORT_LIMIT_S if self.slow or claimed.failures else ANSWER_LIMIT_S
        begun_s = clock.monotonic_s()
        answer = self.reader.ask(
            RemoteRound(outputs=list(seen.outputs), memory=claimed.memory), limit_s=limit_s
        )
        self.slow = self.slow or clock.monotonic_s() - begun_s > SHORT_LIMIT_S
        return answer


def probe(health: Health, *, look: Look | None = None) -> Looked:
    """Looks at all nodes that are due; harmless beside others of its kind, here and on other servers."""
    with Reader() as reader, ThreadPoolExecutor(PARALLEL, thread_name_prefix="ssh") as pool:
        tick = _Tick(health, reader, pool, look or _look, clock.monotonic_s() + TICK_S)
        tick.start()
        while tick.running:
            tick.finish_one()
            tick.start()
    return tick.looked


def _look(claimed: Claimed) -> Seen:
    """Touches no database: it runs in a thread of its own."""
    try:
        return look(claimed.way, with_host=claimed.with_host, paused=claimed.paused)
    except Exception as error:  # a fault of ours, or of a library, at one node is no other's
        log.exception("remote-look-failed", host=claimed.host_id)
        return Seen(problem=RemoteProblem.NOT_UNDERSTOOD, detail=type(error).__name__)
