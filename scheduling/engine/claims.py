"""What one job claims under the caps that bind it: which lines of a board they leave, and which cap it misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine import filters
from scheduling.engine.board import Board
from scheduling.engine.columns import Interner
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.quota import CODES, Cap, Quotas
from scheduling.engine.shapes import Demand
from scheduling.engine.types import WHOLE_MILLI, CapMiss, PendingJob, ReasonCode

# Refusals that time can cure; all others say that no node is made for the job, whatever its share.
FOR_WANT_OF_ROOM: tuple[ReasonCode, ...] = (
    ReasonCode.DEVICE_BUSY,
    ReasonCode.DEVICE_COMPUTE,
    ReasonCode.DEVICE_MEMORY_TOTAL,
    ReasonCode.DEVICE_MEMORY_PIECE,
    ReasonCode.FOREIGN_USE,
    ReasonCode.CORES_FREE,
    ReasonCode.HOST_MEMORY_FREE,
    ReasonCode.READ_BANDWIDTH,
    ReasonCode.NODE_POWER,
    ReasonCode.POWER_CAP,
)


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A job, the number of its shape, and the caps that bound it before its first replica was taken: all but those of
    its queue when it `borrows`.
    """

    job: PendingJob
    shape: int
    caps: Sequence[Cap] = ()
    borrows: bool = False

    @property
    def key(self) -> tuple[int, int, object]:
        """Jobs with the same key find the same answer: with caps, only those of one owner in one queue."""
        job = self.job
        owner = (job.queue, job.team, job.owner, self.borrows) if self.caps else None
        return (self.shape, job.replicas, owner)

    @property
    def kinds(self) -> set[tuple[int, int, object]]:
        """The keys of jobs that ask for no more than this one."""
        shape, replicas, owner = self.key
        return {(shape, 1, owner), (shape, replicas, owner), (shape, 1, None), (shape, replicas, None)}


def open_lines(claim: Claim, board: Board, quotas: Quotas | None) -> Bools | None:
    """The lines of the board whose placement all caps allow; None: every line."""
    if not claim.caps or quotas is None:
        return None
    if not board.demand.wants_devices:
        room_milli = min(cap.room_milli for cap in claim.caps)
        return np.full(board.lines, WHOLE_MILLI * claim.job.request.cores <= room_milli, dtype=np.bool_)
    room = quotas.room_by_model(claim.caps)
    if board.most_milli <= room.min():
        return None
    allowed: Bools = board.costs_milli() <= room[board.line_models()]
    return allowed


def missed(claim: Claim, board: Board, quotas: Quotas, room_uw: int | None) -> CapMiss | None:
    """The cap that keeps the job from starting, whatever else is missing for the moment; None when no cap does."""
    if not claim.caps:
        return None
    replicas, cores = claim.job.replicas, not board.demand.wants_devices
    if cores:
        asked = replicas * WHOLE_MILLI * claim.job.request.cores
        return next((cap.miss(asked) for cap in claim.caps if cap.room_milli < asked), None)
    lines = np.flatnonzero(board.candidates(room_uw))
    if len(lines):
        costs = replicas * board.costs_milli()[lines]
    else:
        lines = np.flatnonzero(board.demand.model_flags(board.interned_models)[board.line_models()])
        costs = np.full(len(lines), replicas * least_milli(board.demand), dtype=np.int64)
    models = board.line_models()[lines]
    over = costs - quotas.room_by_model(claim.caps)[models]
    if not len(lines) or over.min() <= 0:
        return None
    nearest = int(np.argmin(over))
    asked, model = int(costs[nearest]), models[nearest]
    binding = (cap for cap in claim.caps if cap.models is None or cap.models[model])
    return next(cap.miss(asked) for cap in binding if cap.room_milli < asked)


def could_fit(claim: Claim, demand: Demand, quotas: Quotas, models: Interner) -> bool:
    """Whether all caps leave the least that such a job may cost."""
    if not demand.wants_devices:
        asked = claim.job.replicas * WHOLE_MILLI * claim.job.request.cores
        return all(cap.room_milli >= asked for cap in claim.caps)
    room = quotas.room_by_model(claim.caps)[demand.model_flags(models)]
    return bool((room >= claim.job.replicas * least_milli(demand)).any())


def least_milli(demand: Demand) -> int:
    """What one replica books of devices at least."""
    request = demand.request
    each = WHOLE_MILLI if demand.whole else max(1, request.device_compute_milli)
    return max(1, request.devices) * each


def capped_verdicts(verdicts: Ints, miss: CapMiss) -> Ints:
    """Nodes that have room, or would have it sometime, refuse the job because of the cap."""
    room = [filters.PASSED, *(filters.number_of(code) for code in FOR_WANT_OF_ROOM)]
    found: Ints = np.where(np.isin(verdicts, room), filters.number_of(CODES[miss.kind]), verdicts)
    return found
