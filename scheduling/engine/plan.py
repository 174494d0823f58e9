"""`plan()`: one deterministic pass over the pending jobs that decides which start where."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduling.engine import scores
from scheduling.engine.board import Board, Choice
from scheduling.engine.cpus import choose_cores, numas_of, split_loader
from scheduling.engine.ledger import Allocation, Ledger
from scheduling.engine.ordering import expected_shapes, in_service_order
from scheduling.engine.reasons import filter_counts, refusal_of
from scheduling.engine.rooms import Expected, Rooms
from scheduling.engine.scores.scale import Scale, worth_of_models
from scheduling.engine.shapes import Shapes, demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    Candidate,
    EnginePolicy,
    ExpectedShape,
    PendingJob,
    Placed,
    Plan,
    Refusal,
    SliceChoice,
)

_RUNNERS_UP = 2


def plan(
    state: ClusterState,
    jobs: Sequence[PendingJob],
    policy: EnginePolicy,
    *,
    now_ms: int,
    seed: int,
    expected: Sequence[ExpectedShape] = (),
    limit: int | None = None,
) -> Plan:
    """Place what fits, in order of service, and say why the rest does not. The state is not changed.

    Jobs: queue priority (high first, unknown queues last), job priority (high first), submitted_at_ms, job id,
    attempt. Candidates: score (high first), node id, pool of the node (models by name, the unknown one first).
    Devices and cores within a node have their own written orders (`fitting`, `cpus`). The order is total, so the
    result depends on the arguments' values alone.

    At most `limit` jobs are considered; `exhausted` says whether those were all. A shape that was refused is not
    tried again: a plan only takes, so it could not fit later. Counts and near misses of refusals describe the cluster
    as this plan leaves it. `now_ms` and `seed` belong to the contract of replays; nothing in today's terms depends on
    them.
    """
    return Planner(state, policy, expected_shapes(expected, jobs, policy)).run(
        in_service_order(jobs, policy), limit
    )


class Planner:
    """The working set of one plan: ledger, shapes, boards. With `keep_boards` off every decision is computed anew,
    with the same result.
    """

    def __init__(
        self,
        state: ClusterState,
        policy: EnginePolicy,
        expected: Sequence[Expected],
        *,
        keep_boards: bool = True,
    ) -> None:
        self.ledger = Ledger(state)
        self._policy = policy
        self._scale = Scale(policy, Rooms(self.ledger, expected), worth_of_models(state))
        self._shapes = Shapes()
        self._boards: dict[int, Board] = {}
        self._refused: set[int] = set()
        self._keep_boards = keep_boards

    def run(self, jobs: Sequence[PendingJob], limit: int | None) -> Plan:
        """Decide jobs in the order given."""
        considered = jobs if limit is None else jobs[: max(0, limit)]
        placed: list[Placed] = []
        refused: list[tuple[PendingJob, int]] = []
        for job in considered:
            shape = self._shapes.number(job.request)
            decision = None if shape in self._refused else self._place(job, shape)
            if decision is None:
                self._refused.add(shape)
                refused.append((job, shape))
            else:
                placed.append(decision)
        return Plan(
            placed=tuple(placed),
            refused=self._refusals(refused),
            considered=len(considered),
            exhausted=len(considered) == len(jobs),
        )

    def board(self, shape: int) -> Board:
        """The up-to-date board of a shape."""
        board = self._boards.get(shape) if self._keep_boards else None
        if board is None:
            demand = demand_of(self._shapes.requests[shape], self._policy)
            board = self._boards[shape] = Board(self.ledger, demand, self._scale)
        board.renew()
        return board

    def _place(self, job: PendingJob, shape: int) -> Placed | None:
        board = self.board(shape)
        choices = board.best(1 + _RUNNERS_UP)
        if not choices:
            return None
        cores = [self._cores(board, choice) for choice in choices]
        counts = board.counts()
        loader = split_loader(self.ledger, board.demand, cores[0], isolate=self._policy.isolate_data_loader)
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
            counts=filter_counts(counts),
        )
        self.ledger.take(_allocation(choices[0], cores[0], job))
        return decision

    def _cores(self, board: Board, choice: Choice) -> tuple[int, ...]:
        return choose_cores(self.ledger, board.demand, choice.node, numas_of(self.ledger, choice.slots))

    def _cpu_numbers(self, rows: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(int(self.ledger.cpu.cpu[row]) for row in rows))

    def _slices(self, choice: Choice) -> tuple[SliceChoice, ...]:
        ids = self.ledger.device.id[choice.devices].tolist()
        given = zip(ids, choice.memory.tolist(), choice.milli.tolist(), strict=True)
        return tuple(SliceChoice(device, memory, milli) for device, memory, milli in given)

    def _candidate(self, choice: Choice, cores: Sequence[int]) -> Candidate:
        terms = scores.term_scores(self._policy.weights_ppm, choice.values_ppm)
        node = int(self.ledger.node.id[choice.node])
        return Candidate(node, choice.score_ppm, terms, self._slices(choice), self._cpu_numbers(cores))

    def _refusals(self, refused: Sequence[tuple[PendingJob, int]]) -> tuple[Refusal, ...]:
        by_shape: dict[int, Refusal] = {}
        found = []
        for job, shape in refused:
            if shape not in by_shape:
                board = self.board(shape)
                by_shape[shape] = refusal_of(job.job, self.ledger, board.demand, board.verdicts)
            known = by_shape[shape]
            found.append(Refusal(job.job, known.code, known.nodes, known.counts, known.near))
        return tuple(found)


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
