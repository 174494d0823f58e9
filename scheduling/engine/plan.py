"""`plan()`: which of the pending jobs start where, which are promised a place, and what yields to them."""

from __future__ import annotations

from collections.abc import Sequence

from scheduling.engine.ordering import expected_shapes, in_service_order
from scheduling.engine.planner import Planner as Planner
from scheduling.engine.preemption import Outlook
from scheduling.engine.reservations import serve
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, ExpectedShape, PendingJob, Plan, Reservation, Running


def plan(
    state: ClusterState,
    jobs: Sequence[PendingJob],
    policy: EnginePolicy,
    *,
    now_ms: int,
    seed: int,
    expected: Sequence[ExpectedShape] = (),
    limit: int | None = None,
    running: Sequence[Running] = (),
    reservations: Sequence[Reservation] = (),
) -> Plan:
    """Place what fits, in order of service, and say why the rest does not. The state is not changed.

    Jobs: queue priority (high first, unknown queues last), job priority (high first), what the team had of late in
    steps of SHARE_STEP_PPM (least first), submitted_at_ms (with patience and what that allows to others), job id,
    attempt. Candidates: score (high first), node id, pool of the node (models by name, the unknown one first). Devices
    and cores within a node have their own written orders (`fitting`, `cpus`). The order is total, so the result depends
    on the arguments' values alone.

    Replicas of a gang start all or none. What a hold keeps is free for its job alone; what the job leaves of it stays
    kept. Under a cap on the draw of all nodes no placement exceeds what is left of it.

    At most `limit` jobs are considered; `exhausted` says whether those were all. A shape that was refused is not
    tried again: a plan only takes, so it could not fit later. Counts and near misses of refusals describe the cluster
    as this plan leaves it.

    A job that waited as long as the policy says is promised a place: where it starts first, should those that run
    (`running`) end as expected. Jobs behind it get of that only what they should give back in time. `reservations` were
    promised before: in force at once where their job is none of `jobs`, else kept where they are still as good.
    `seed` belongs to the contract of replays; nothing in today's terms depends on it.
    """
    planner = Planner(state, policy, expected_shapes(expected, jobs, policy))
    outlook = Outlook(now_ms, tuple(running), tuple(reservations))
    return serve(planner, in_service_order(jobs, policy), limit, outlook)
