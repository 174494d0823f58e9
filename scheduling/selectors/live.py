"""The engine's view of the cluster inside a server process, for explanations, dry runs and capacities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controlplane.base import clock
from inventory.models import Node
from scheduling.cycle import Worker
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PendingJob
from scheduling.pauses import Stop, stopped_queues
from scheduling.policy_bridge import CyclePolicy, current_policy
from scheduling.requests import load_pending

_SERVER = Worker()


@dataclass(frozen=True)
class Live:
    """The cluster, the policy and all waiting jobs as committed a moment ago. Jobs of the `stopped` queues (by id, with
    the pause) wait whatever is free.
    """

    state: ClusterState
    policy: CyclePolicy
    pending: tuple[PendingJob, ...]
    now_ms: int
    stopped: Mapping[int, Stop]


def live_view(*, pending: bool = True) -> Live:
    """The present state, for this caller to think about as long as it takes."""
    now_ms = clock.now_ms()
    policy = current_policy(capped=pending)
    jobs = tuple(job for job, _shape in load_pending(_SERVER.requests)) if pending else ()
    state = _SERVER.snapshot.still(now_ms=now_ms, whole_every_ms=policy.refresh_ms)
    return Live(state, policy, jobs, now_ms, stopped_queues() if pending else {})


def node_names(ids: Iterable[int]) -> dict[int, str]:
    """Names of nodes; no query when there are none to name."""
    wanted = set(ids)
    return dict(Node.objects.filter(pk__in=wanted).values_list("pk", "name")) if wanted else {}


def forget() -> None:
    """Read everything anew next time."""
    with _SERVER.snapshot.lock:
        _SERVER.snapshot.forget()
