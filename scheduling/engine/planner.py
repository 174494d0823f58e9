"""One deterministic pass over jobs in a given order that decides which start where."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from scheduling.engine import filters, reasons, scores
from scheduling.engine.allocation import Allocation, rest_of
from scheduling.engine.board import Board, Choice
from scheduling.engine.boards import BOARD_BYTES, Boards
from scheduling.engine.claims import Claim, capped_verdicts, could_fit, missed, open_lines
from scheduling.engine.cpus import CoreChoices, split_loader
from scheduling.engine.gangs import room_for, together_ppm
from scheduling.engine.ledger import Ledger, rebased
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.quota import CODES, Quotas
from scheduling.engine.rooms import Expected
from scheduling.engine.scores.scale import rebased_scale, scale_of
from scheduling.engine.shapes import Demand, Shapes, demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    UNKNOWN,
    WHOLE_MILLI,
    Candidate,
    EnginePolicy,
    NearMiss,
    PendingJob,
    Placed,
    Plan,
    ReasonCode,
    Refusal,
    SliceChoice,
)

_RUNNERS_UP = 2


class Steward(Protocol):
    """Who keeps promises while jobs are served: told of every start and refusal, in order of service."""

    def backfill(self, claim: Claim) -> list[Placed] | None:
        """A start of a job that found no place beside all promises, and breaks none."""

    def forbids_loan(self, claim: Claim, placed: Sequence[Placed]) -> bool:
        """Whether this start beyond the caps of its queue would break a promise to another job of it."""

    def started(self, claim: Claim, placed: Sequence[Placed]) -> None:
        """The job got its places."""

    def refused(self, claim: Claim) -> None:
        """The job waits on."""

    def set_aside(self, job: int, order: Mapping[int, int]) -> tuple[int, ...]:
        """Lift what is promised to the job and to those that are behind it in this order, and say to whom."""

    def explained(self, claims: Sequence[Claim], refusals: Sequence[Refusal]) -> Sequence[Refusal]:
        """The refusals of these claims, each with the promise that it is for, if it is."""


class Planner:
    """The working set of one plan: ledger (a fresh one of the state unless it is given), shapes, boards. With
    `keep_boards` off every decision is computed anew, with the same result.
    """

    def __init__(
        self,
        state: ClusterState,
        policy: EnginePolicy,
        expected: Sequence[Expected],
        *,
        keep_boards: bool = True,
        ledger: Ledger | None = None,
    ) -> None:
        self.ledger = Ledger(state) if ledger is None else ledger
        self.policy = policy
        self._scale = scale_of(self.ledger, policy, expected)
        self._shapes = Shapes()
        self.boards = Boards(self.ledger, self._scale, most_bytes=BOARD_BYTES if keep_boards else 0)
        self._cores = CoreChoices(self.ledger)
        held = self.ledger.holds
        self.quotas = Quotas(self.ledger.state, policy, kept=held) if policy.capped else None
        self._refused: set[tuple[int, int, object]] = set()
        # What all nodes may draw although it is more than the cap.
        self._granted_uw = 0

    def rebase(self, state: ClusterState, policy: EnginePolicy) -> bool:
        """Take another state for the next plan, with a policy that differs in its queues only, and keep what still
        holds for it; False when nothing could be kept.
        """
        found = rebased(self.ledger, state)
        if found is None:
            return False
        ledger, changed = found
        scale = rebased_scale(self._scale, ledger, changed)
        if scale is None:
            return False
        self.ledger, self._scale = ledger, scale
        self.boards.rebase(ledger, scale)
        self._cores = CoreChoices(ledger)
        self.policy = policy
        self.quotas = Quotas(state, policy) if policy.capped else None
        self._refused.clear()
        return True

    @property
    def shapes_known(self) -> int:
        """How many different requests were seen."""
        return len(self._shapes.requests)

    def run(self, jobs: Sequence[PendingJob], limit: int | None, steward: Steward | None = None) -> Plan:
        """Decide jobs in the order given."""
        considered = jobs if limit is None else jobs[: max(0, limit)]
        placed: list[Placed] = []
        refused: list[Claim] = []
        for job in considered:
            claim = self.claim(job)
            decisions = self._serve(claim, steward)
            if decisions is None:
                refused.append(claim)
            else:
                placed += decisions
        opened, refused = self._opened(refused, steward)
        lent, refused = self._lend(refused, steward)
        late, refused = self._opened(refused, steward)
        return Plan(
            placed=(*placed, *opened, *lent, *late),
            refused=self._refusals(refused, steward),
            considered=len(considered),
            exhausted=len(considered) == len(jobs),
        )

    def _serve(self, claim: Claim, steward: Steward | None) -> list[Placed] | None:
        decisions = self._begin(claim, steward)
        if decisions is not None or steward is None:
            return decisions
        decisions = steward.backfill(claim)
        if decisions is None:
            steward.refused(claim)
        else:
            steward.started(claim, decisions)
        return decisions

    def _begin(self, claim: Claim, steward: Steward | None) -> list[Placed] | None:
        """A start beside all promises; a loan only where it leaves to others of its queue what is held for them, or was
        promised to them.
        """
        mark = self.checkpoint()
        decisions = self.start(claim)
        if decisions is None:
            return None
        if claim.borrows and self.quotas is not None:
            kept = self.quotas.keeps_within(claim.job.queue)
            if not kept or (steward is not None and steward.forbids_loan(claim, decisions)):
                self.roll_back(mark)
                return None
        if steward is not None:
            steward.started(claim, decisions)
        return decisions

    def _opened(self, refused: Sequence[Claim], steward: Steward | None) -> tuple[list[Placed], list[Claim]]:
        """Start jobs that their caps kept from the device that fitted best, when others have taken that one and the
        next counts for less. What started, and all that still wait.
        """
        placed: list[Placed] = []
        still, closed, place = list(refused), set[object](), 0
        while place < len(still):
            # A queue that was empty then may hold something by now, and with it have caps.
            claim = self.claim(still[place].job, borrows=still[place].borrows)
            mark, number, decisions = self.checkpoint(), claim.job.job, None
            own = () if steward is None else steward.set_aside(number, {number: 0})
            is_open = bool(claim.caps) and (bool(own) or claim.key not in closed) and self._is_open(claim)
            self.roll_back(mark)
            if is_open:
                self._refused -= claim.kinds
                # What is promised to the job itself does not keep it from a start.
                decisions = (self._serve if own else self._begin)(claim, steward)
            if decisions is None:
                closed.add(claim.key)
                place += 1
            else:
                placed += [replace(decision, borrowed=claim.borrows) for decision in decisions]
                del still[place]
                closed, place = set(), 0
        return placed, still

    def _is_open(self, claim: Claim) -> bool:
        board = self.board(claim.shape)
        lines = open_lines(claim, board, self.quotas) if board.demand.costs_vary else None
        return lines is not None and bool((lines & board.candidates(self.room_uw())).any())

    def _lend(self, refused: Sequence[Claim], steward: Steward | None) -> tuple[list[Placed], list[Claim]]:
        """Let jobs of borrowing queues have what all others left, beyond the caps of their queues; what was lent, and
        all that still wait.
        """
        if self.quotas is None or not self.policy.lending:
            return [], list(refused)
        lent: list[Placed] = []
        still: list[Claim] = []
        for claim in refused:
            claim = self.claim(claim.job, borrows=self.quotas.lends_to(claim.job.queue))
            decisions = self._serve(claim, steward) if claim.borrows else None
            if decisions is None:
                still.append(claim)
            else:
                lent += [replace(decision, borrowed=True) for decision in decisions]
        return lent, still

    def serve(self, job: int) -> None:
        """From now on ask for this job only: what is held for it is free, and what that draws already, it may draw
        even beyond the cap.
        """
        holds = self.ledger.holds.get(job, ())
        if holds:
            self._granted_uw = self._draw_uw()
        self.ledger.free_for(job)
        self._lift(job)

    def would_start(self, job: PendingJob) -> list[Placed] | None:
        """Where the replicas would go if this job were next, without taking anything; None when it would not start."""
        if job.replicas > 1 and not self._may_start(job, demand_of(job.request, self.policy)):
            return None
        mark = self.checkpoint()
        placed = self.all_or_none(self.alone(job))
        self.roll_back(mark)
        return None if placed is None else [decision for decision, _ in placed]

    def refusal_of(self, job: PendingJob) -> Refusal:
        """Why it would not."""
        return self._refusal(self.alone(job))

    def within_caps(self, job: PendingJob) -> bool:
        """Whether the caps of its queue, team and owner leave at least what the job books at least."""
        claim = self.alone(job)
        if self.quotas is None or not claim.caps:
            return True
        demand = demand_of(job.request, self.policy)
        return could_fit(claim, demand, self.quotas, self.ledger.state.interned.models)

    def open_to(self, job: PendingJob) -> Bools:
        """The lines of the job's board (pools; nodes where it wants no devices) that take a replica, within all
        caps.
        """
        claim = self.alone(job)
        board = self.board(claim.shape)
        found, lines = board.candidates(self.room_uw()), open_lines(claim, board, self.quotas)
        return found if lines is None else found & lines

    def room_uw(self) -> int | None:
        """What all nodes together may still draw; None without a cap."""
        left = self._left_uw()
        return None if left is None else max(0, left)

    def _may_start(self, job: PendingJob, demand: Demand) -> bool:
        """Not when not even this much room would do; a spread that may differ from replica to replica is not
        judged.
        """
        if demand.request.splittable:
            return True
        room = room_for(self.ledger, demand)
        return bool(np.minimum(room, job.replicas).sum() >= job.replicas)

    def board(self, shape: int) -> Board:
        """The up-to-date board of a shape."""
        return self.boards.of(shape, demand_of(self._shapes.requests[shape], self.policy))

    def claim(self, job: PendingJob, *, borrows: bool = False) -> Claim:
        shape = self._shapes.number(job.request)
        if self.quotas is None:
            return Claim(job, shape)
        cores = not demand_of(job.request, self.policy).wants_devices
        return Claim(job, shape, self.quotas.caps_of(job, cores=cores, borrows=borrows), borrows)

    def alone(self, job: PendingJob) -> Claim:
        """The claim of a job that nobody is before: it may borrow at once where its queue does."""
        lends = self.quotas is not None and self.policy.lending
        return self.claim(job, borrows=lends and self.quotas.lends_to(job.queue))  # type: ignore[union-attr]

    def start(self, claim: Claim) -> list[Placed] | None:
        """Every replica's place, or None. A job with holds gets them back for this and keeps what it left of them;
        what they draw already, it may draw even beyond the cap.
        """
        holds = self.ledger.holds.get(claim.job.job, ())
        if not holds and self._is_refused(claim):
            return None
        mark = self.checkpoint()
        placed = self._with_holds(claim, holds) if holds else None
        if placed is None:
            self.roll_back(mark)
            self._lift(claim.job.job)
            placed = self.all_or_none(claim)
        if placed is None:
            self.roll_back(mark)
            if not holds:
                self._refused.add(claim.key)
            return None
        return [decision for decision, _ in placed]

    def _is_refused(self, claim: Claim) -> bool:
        """Whether a like job was refused before, or one of its replicas alone; what fits nobody fits no owner."""
        return not claim.kinds.isdisjoint(self._refused)

    def _lift(self, job: int) -> None:
        """What is held for a job counts under caps for others alone."""
        if self.quotas is not None:
            self.quotas.lift(job)

    def checkpoint(self) -> tuple[int, int]:
        return self.ledger.checkpoint(), 0 if self.quotas is None else self.quotas.checkpoint()

    def roll_back(self, mark: tuple[int, int]) -> None:
        self.ledger.roll_back(mark[0])
        if self.quotas is not None:
            self.quotas.roll_back(mark[1])

    def _take(self, job: PendingJob, allocation: Allocation) -> None:
        self.ledger.take(allocation)
        if self.quotas is None:
            return
        devices, cores = allocation.devices, len(allocation.cpus)
        if len(devices):
            model, milli = int(self.ledger.device.model[devices[0]]), int(allocation.compute_milli.sum())
            self.quotas.take(job, model=model, milli=milli, cores=False)
        else:
            self.quotas.take(job, model=UNKNOWN, milli=WHOLE_MILLI * cores, cores=True)

    def _with_holds(
        self, claim: Claim, holds: Sequence[Allocation]
    ) -> list[tuple[Placed, Allocation]] | None:
        """As `all_or_none`; None, too, when the job and what stays kept would draw too much together."""
        self._granted_uw = self._draw_uw()
        self._lift(claim.job.job)
        for hold in holds:
            self.ledger.give_back(hold)
        placed = self.all_or_none(claim)
        if placed is not None:
            self._keep_rest(holds, placed)
            left = self._left_uw()
            placed = placed if left is None or left >= 0 else None
        self._granted_uw = 0
        return placed

    def _keep_rest(self, holds: Sequence[Allocation], placed: Sequence[tuple[Placed, Allocation]]) -> None:
        for node in sorted({hold.node for hold in holds}):
            here = [hold for hold in holds if hold.node == node]
            self.ledger.take(rest_of(node, here, [a for _, a in placed if a.node == node]))

    def all_or_none(
        self, claim: Claim, shunned: Collection[int] = ()
    ) -> list[tuple[Placed, Allocation]] | None:
        """Take a place for every replica, on none of the nodes that are shunned; what was taken before one fails is
        left to the caller's roll back.
        """
        placed: list[tuple[Placed, Allocation]] = []
        job = claim.job
        room = room_for(self.ledger, self.board(claim.shape).demand) if job.replicas > 1 else None
        for replica in range(job.replicas):
            together = None
            if room is not None:
                used = {allocation.node for _, allocation in placed}
                together = together_ppm(self.ledger, used, room, job.replicas)
            found = self._place(claim, replica, together, shunned)
            if found is None:
                return None
            self._take(job, found[1])
            placed.append(found)
        return placed

    def _place(
        self, claim: Claim, replica: int, together: Ints | None, shunned: Collection[int] = ()
    ) -> tuple[Placed, Allocation] | None:
        job, board, room_uw = claim.job, self.board(claim.shape), self.room_uw()
        lines = open_lines(claim, board, self.quotas)
        tried = board.lines_beside(lines, shunned) if shunned else lines
        choices = board.best(1 + _RUNNERS_UP, room_uw=room_uw, lines=tried, together_ppm=together)
        if not choices:
            return None
        verdicts = board.verdicts_within(room_uw)
        if lines is not None:
            open_now = lines & board.candidates(room_uw)
            verdicts = board.verdicts_of(open_now, verdicts, CODES[claim.caps[0].kind])
        cores = [self._cores.of(board.demand, choice.node, choice.slots) for choice in choices]
        counts = filters.counts(verdicts)
        loader = split_loader(self.ledger, board.demand, cores[0], isolate=self.policy.isolate_data_loader)
        decision = Placed(
            job=job.job,
            attempt=job.attempt,
            node=int(self.ledger.node.id[choices[0].node]),
            slices=self._slices(choices[0]),
            cpus=self._cpu_numbers(cores[0]),
            loader_cpus=self._cpu_numbers(loader),
            host_memory_mib=job.request.host_memory_mib or 0,
            read_bandwidth_mib_s=job.request.read_bandwidth_mib_s or 0,
            chosen=self._candidate(choices[0], cores[0]),
            runners_up=tuple(
                self._candidate(c, rows) for c, rows in zip(choices[1:], cores[1:], strict=True)
            ),
            candidates=int(counts[-1]),
            counts=reasons.filter_counts(counts),
            replica=replica,
        )
        return decision, _allocation(choices[0], cores[0], job)

    def _left_uw(self) -> int | None:
        """The same, below 0 where they draw too much."""
        cap = self.policy.power_cap_mw
        return None if cap is None else max(WHOLE_MILLI * cap, self._granted_uw) - self._draw_uw()

    def _draw_uw(self) -> int:
        return int(self.ledger.node.draw_uw.sum())

    def _cpu_numbers(self, rows: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(self.ledger.cpu.cpu[list(rows)].tolist()))

    def _slices(self, choice: Choice) -> tuple[SliceChoice, ...]:
        ids = self.ledger.device.id[choice.devices].tolist()
        given = zip(ids, choice.memory.tolist(), choice.milli.tolist(), strict=True)
        return tuple(SliceChoice(device, memory, milli) for device, memory, milli in given)

    def _candidate(self, choice: Choice, cores: Sequence[int]) -> Candidate:
        terms = scores.term_scores(self.policy.weights_ppm, choice.values_ppm)
        node = int(self.ledger.node.id[choice.node])
        return Candidate(node, choice.score_ppm, terms, self._slices(choice), self._cpu_numbers(cores))

    def _refusals(self, refused: Sequence[Claim], steward: Steward | None) -> tuple[Refusal, ...]:
        known: dict[object, Refusal] = {}
        claims, found = [], []
        # What is promised to the job itself, and to those behind it, is no reason why it waits.
        order = {one.job.job: place for place, one in enumerate(refused)}
        for earlier in refused:
            job, mark = earlier.job, self.checkpoint()
            mine = job.job if job.job in self.ledger.holds else None
            if mine is not None:
                self._lift(mine)
            aside = () if steward is None else steward.set_aside(job.job, order)
            # A queue that was empty then may hold something by now, and with it have caps.
            claim = earlier if self.quotas is None else self.claim(job, borrows=earlier.borrows)
            key = (claim.key, mine, aside)
            if key not in known:
                known[key] = self._refusal(claim)
            self.roll_back(mark)
            claims.append(claim)
            found.append(replace(known[key], job=job.job))
        return tuple(found if steward is None else steward.explained(claims, found))

    def _refusal(self, claim: Claim) -> Refusal:
        job, board, room_uw = claim.job, self.board(claim.shape), self.room_uw()
        verdicts = board.verdicts_within(room_uw)
        miss = None if self.quotas is None else missed(claim, board, self.quotas, room_uw)
        if miss is not None:
            capped = capped_verdicts(verdicts, miss)
            if (capped == filters.number_of(CODES[miss.kind])).any():
                return replace(reasons.refusal_of(job.job, self.ledger, board.demand, capped), cap=miss)
        near: tuple[NearMiss, ...] = ()
        least = board.least_added_uw()
        if least is not None and room_uw is not None and least[1] > room_uw:
            node, added = int(self.ledger.node.id[least[0]]), -(-least[1] // WHOLE_MILLI)
            near = (NearMiss(node, ReasonCode.POWER_CAP, added, room_uw // WHOLE_MILLI),)
        passed = verdicts == filters.PASSED
        if passed.any():
            fit = self._replicas_that_fit(claim)
            if claim.borrows and fit == job.replicas:
                # All of it has room, but nothing was lent: what holds it is the share of its queue.
                return self._refusal(self.claim(job))
            node = int(self.ledger.node.id[np.flatnonzero(passed)[0]])
            near = (NearMiss(node, ReasonCode.GANG, job.replicas, min(fit, job.replicas - 1)),)
            verdicts = np.where(passed, filters.number_of(ReasonCode.GANG), verdicts)
        return reasons.refusal_of(job.job, self.ledger, board.demand, verdicts, near)

    def _replicas_that_fit(self, claim: Claim) -> int:
        job, mark, count = claim.job, self.checkpoint(), 0
        room = room_for(self.ledger, self.board(claim.shape).demand)
        used: set[int] = set()
        while count < job.replicas:
            found = self._place(claim, count, together_ppm(self.ledger, used, room, job.replicas))
            if found is None:
                break
            self._take(job, found[1])
            used.add(found[1].node)
            count += 1
        self.roll_back(mark)
        return count


def _allocation(choice: Choice, cores: Sequence[int], job: PendingJob) -> Allocation:
    return Allocation(
        node=choice.node,
        devices=choice.devices,
        memory_mib=choice.memory,
        compute_milli=choice.milli,
        cpus=np.array(cores, dtype=np.int64),
        host_memory_mib=job.request.host_memory_mib or 0,
        read_bandwidth_mib_s=job.request.read_bandwidth_mib_s or 0,
    )
