"""The active policy document in the engine's terms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from controlplane.base import clock
from controlplane.policy.active import ActivePolicy, active_version
from controlplane.policy.document import PolicyDocument
from controlplane.policy.hours import power_cap_w
from queues.models import Queue
from scheduling.engine.types import EnginePolicy, QueueInfo, Term

MW_PER_W = 1000


@dataclass(frozen=True)
class CyclePolicy:
    """The policy of one cycle: the engine's part, and the version that decisions are filed under."""

    engine: EnginePolicy
    number: int
    document: PolicyDocument

    @property
    def refresh_ms(self) -> int:
        """How often the whole state is read again."""
        return self.document.cycle.node_state_refresh_s * 1000


def engine_policy(
    document: PolicyDocument, queues: tuple[QueueInfo, ...], *, at: datetime | None
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
    )


def queue_infos() -> tuple[QueueInfo, ...]:
    """All queues, also closed ones: their jobs are still served."""
    return tuple(
        QueueInfo(
            queue=q.pk, name=q.name, priority=q.priority, quota_ppm=q.quota_ppm, preemptable=q.preemptable
        )
        for q in Queue.objects.order_by("-priority", "name")
    )


def lasting_policy() -> EnginePolicy:
    """The policy in force but for what holds only at some time of the day; two queries."""
    return engine_policy(active_version().document, queue_infos(), at=None)


def current_policy() -> CyclePolicy:
    """The policy in force now, with the power cap of the hour; two queries."""
    active: ActivePolicy = active_version()
    engine = engine_policy(active.document, queue_infos(), at=clock.now())
    return CyclePolicy(engine, active.number, active.document)
