"""The engine's view of the cluster inside a server process, for explanations, dry runs and capacities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controlplane.base import clock
from inventory.models import Node
from scheduling.cycle import Worker
from scheduling.engine.ordering import in_service_order
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PendingJob, Reservation
from scheduling.estimates import expected_runs
from scheduling.expected import expected_jobs
from scheduling.outlook import look_ahead
from scheduling.pauses import Stop, stopped_queues
from scheduling.policy_bridge import CyclePolicy, current_policy
from scheduling.promises import load_promises
from scheduling.requests import load_pending
from scheduling.running import RunningCache
from scheduling.snapshot import hold_of
from scheduling.whatif import Situation

_SERVER = Worker()


@dataclass(frozen=True)
class Live:
    """The cluster, the policy and all waiting jobs as committed a moment ago. Jobs of the `stopped` queues (by id, with
    the pause) wait whatever is free. `running` is read when it is needed.
    """

    state: ClusterState
    policy: CyclePolicy
    pending: tuple[PendingJob, ...]
    now_ms: int
    stopped: Mapping[int, Stop]
    running: RunningCache = field(default_factory=RunningCache)


def live_view(*, pending: bool = True) -> Live:
    """The present state, for this caller to think about as long as it takes."""
    now_ms = clock.now_ms()
    policy = current_policy(capped=pending)
    waiting = load_pending(_SERVER.requests) if pending else []
    jobs = tuple(job for job, _shape in _SERVER.foresight.foresee(waiting, policy.engine))
    state = _SERVER.snapshot.still(now_ms=now_ms, whole_every_ms=policy.refresh_ms)
    return Live(state, policy, jobs, now_ms, stopped_queues() if pending else {})


def promised_before(live: Live, jobs: Sequence[PendingJob]) -> Mapping[int, tuple[Reservation, ...]]:
    """By job the places it has to leave alone: promised to jobs that are served before it, and not long enough from now
    for it to end by then. Jobs without any are not named. One query; three where something is promised.
    """
    promised = load_promises()
    if not promised or not jobs:
        return {}
    waiting = {job.job: job for job in (*live.pending, *jobs)}
    line = in_service_order(list(waiting.values()), live.policy.engine)
    place_of = {job.job: place for place, job in enumerate(line)}
    runs = expected_runs([job.job for job in jobs])
    found = {}
    for job in jobs:
        runs_ms = runs[job.job].runs_ms if job.job in runs else job.runs_ms
        found[job.job] = tuple(
            one
            for one in promised
            if place_of.get(one.job, -1) < place_of[job.job]
            and (runs_ms is None or live.now_ms + runs_ms > one.starts_at_ms)
        )
    return {number: places for number, places in found.items() if places}


def keeping(state: ClusterState, places: Iterable[Reservation]) -> ClusterState:
    """The state with these places kept for their jobs now."""
    twin = state.copy()
    for place in places:
        if place.node in twin.node.id:
            info = twin.info(place.node)
            twin.update(replace(info, holds=(*info.holds, hold_of(place))))
    return twin


def situation_of(live: Live, jobs: Sequence[PendingJob]) -> Situation:
    """What the next cycle would decide about these jobs from, with what was promised before. Two queries, and those of
    `look_ahead`.
    """
    policy, promised = live.policy.engine, load_promises()
    served, running = look_ahead(jobs, policy, now_ms=live.now_ms, promised=promised, running=live.running)
    return Situation(
        nodes=tuple(live.state.infos),
        jobs=served,
        policy=policy,
        now_ms=live.now_ms,
        seed=0,
        expected=expected_jobs(),
        stopped=frozenset(live.stopped),
        running=running,
        reservations=promised,
    )


def node_names(ids: Iterable[int]) -> dict[int, str]:
    """Names of nodes; no query when there are none to name."""
    wanted = set(ids)
    return dict(Node.objects.filter(pk__in=wanted).values_list("pk", "name")) if wanted else {}


def forget() -> None:
    """Read everything anew next time."""
    _SERVER.foresight.forget()
    with _SERVER.snapshot.lock:
        _SERVER.snapshot.forget()
