"""The active policy document in the engine's terms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from controlplane.base import clock
from controlplane.policy.active import ActivePolicy, active_version
from controlplane.policy.document import CheckpointTimeout, PolicyDocument, RunTimePatience
from controlplane.policy.hours import power_cap_w
from queues.models import Queue, TeamQuota
from scheduling.engine.types import EnginePolicy, ModelCap, Patience, QueueInfo, TeamCap, TeamShare, Term
from scheduling.fairshare import team_shares
from scheduling.holdings import Holdings

MW_PER_W = 1000


@dataclass(frozen=True)
class CyclePolicy:
    """The policy of one cycle: the engine's part, and the version that decisions are filed under."""

    engine: EnginePolicy
    number: int
    document: PolicyDocument
    # The revision of each queue that the engine's part was made from.
    revisions: Mapping[int, int] = field(default_factory=dict)

    @property
    def refresh_ms(self) -> int:
        """How often the whole state is read again."""
        return self.document.cycle.node_state_refresh_s * 1000


def engine_policy(
    document: PolicyDocument, queues: tuple[QueueInfo, ...], *, at: datetime | None, capped: bool = False
) -> EnginePolicy:
    """What `plan()` reads of a document at this moment (None: at no particular time of day); queues are rows, because
    jobs name them by id.
    """
    num, den = document.memory_precheck.ratio
    cap_w = document.power.cap_w if at is None else power_cap_w(document.power, at)
    return EnginePolicy(
        weights_ppm={Term(name): weight for name, weight in document.scoring_weights.by_term().items()},
        queues=queues,
        precheck_num=num,
        precheck_den=den,
        high_bandwidth_node_sets=tuple(document.cpu_policy.high_bandwidth_nodesets),
        isolate_data_loader=document.cpu_policy.isolate_data_loader,
        power_cap_mw=None if cap_w is None else MW_PER_W * cap_w,
        capped=capped,
        reserve_after_ms=1000 * document.cycle.reserve_after_s,
        patience=_patience(document.queue_policy.run_time_patience),
        preempts_unsaved=document.preemption.on_checkpoint_timeout is CheckpointTimeout.STOP,
    )


def _patience(section: RunTimePatience) -> Patience | None:
    if not section.times:
        return None
    return Patience(times=section.times, most_ms=1000 * section.most_s, unknown_ms=1000 * section.unknown_s)


def all_queues() -> list[Queue]:
    """All queues in the engine's order, also closed ones: their jobs are still served, within their caps."""
    return list(Queue.objects.order_by("-priority", "name"))


def queue_infos(
    queues: Iterable[Queue],
    team_caps: Mapping[int, tuple[TeamCap, ...]],
    shares: Mapping[int, tuple[TeamShare, ...]] = MappingProxyType({}),
) -> tuple[QueueInfo, ...]:
    """Rows in the engine's terms, with the caps of teams and what they have had by queue."""
    return tuple(
        QueueInfo(
            queue=q.pk,
            name=q.name,
            priority=q.priority,
            quota_ppm=q.quota_ppm,
            preemptable=q.preemptable,
            borrow=q.borrow,
            model_caps=tuple(ModelCap(model, ppm) for model, ppm in sorted(q.model_caps_ppm.items())),
            team_caps=team_caps.get(q.pk, ()),
            team_shares=shares.get(q.pk, ()),
        )
        for q in queues
    )


def with_queues_of(document: PolicyDocument) -> Callable[[EnginePolicy], EnginePolicy]:
    """The edit of a policy that gives its queues the priorities and caps of a document; queues that the document has
    not keep theirs, as closed ones do.
    """
    specs = {spec.name: spec for spec in document.queue_policy.queues}

    def edited(info: QueueInfo) -> QueueInfo:
        spec = specs.get(info.name)
        if spec is None:
            return info
        return replace(
            info,
            priority=spec.priority,
            quota_ppm=spec.quota_ppm,
            preemptable=spec.preemptable,
            borrow=spec.borrow,
            model_caps=tuple(ModelCap(model, ppm) for model, ppm in sorted(spec.model_caps_ppm.items())),
        )

    return lambda policy: replace(policy, queues=tuple(edited(info) for info in policy.queues))


def team_caps() -> dict[int, tuple[TeamCap, ...]]:
    """Quotas of teams and shares of their members, by queue; two queries."""
    found: dict[int, list[TeamCap]] = defaultdict(list)
    for quota in TeamQuota.objects.order_by("team_id", "model").prefetch_related("shares"):
        model = quota.model or None
        found[quota.queue_id].append(TeamCap(quota.team_id, model, quota.quota_milli))
        for share in sorted(quota.shares.all(), key=lambda row: row.user_id):
            found[quota.queue_id].append(TeamCap(quota.team_id, model, share.share_milli, share.user_id))
    return {queue: tuple(caps) for queue, caps in found.items()}


def lasting_policy() -> EnginePolicy:
    """The policy in force but for what holds only at some time of the day, and for caps; two queries."""
    return engine_policy(active_version().document, queue_infos(all_queues(), {}), at=None)


def current_policy(*, capped: bool = True) -> CyclePolicy:
    """The policy in force now, with the power cap of the hour; two queries. With the caps of queues and teams and what
    they hold, unless nothing is to be decided (`capped` False); seven queries at most.
    """
    queues = all_queues()
    # Revisions are read before what they are of: a change in between makes them old, never new.
    caps = team_caps() if capped else {}
    active: ActivePolicy = active_version()
    shares = team_shares() if capped else {}
    engine = engine_policy(active.document, queue_infos(queues, caps, shares), at=clock.now(), capped=capped)
    revisions = {queue.pk: queue.revision for queue in queues}
    engine = Holdings.load().within(engine) if capped else engine
    return CyclePolicy(engine, active.number, active.document, revisions)
