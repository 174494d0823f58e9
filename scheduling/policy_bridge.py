"""The active policy document in the engine's terms."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.policy.active import ActivePolicy, active_version
from controlplane.policy.document import PolicyDocument
from queues.models import Queue
from scheduling.engine.types import EnginePolicy, QueueInfo, Term


@dataclass(frozen=True)
class CyclePolicy:
    """The policy of one cycle: the engine's part, and the version that decisions are filed under."""

    engine: EnginePolicy
    number: int
    document: PolicyDocument


def engine_policy(document: PolicyDocument, queues: tuple[QueueInfo, ...]) -> EnginePolicy:
    """What `plan()` reads of a document; queues are rows, because jobs name them by id."""
    num, den = document.memory_precheck.ratio
    return EnginePolicy(
        weights_ppm={Term(name): weight for name, weight in document.scoring_weights.by_term().items()},
        queues=queues,
        precheck_num=num,
        precheck_den=den,
        high_bandwidth_node_sets=tuple(document.cpu_policy.high_bandwidth_nodesets),
        isolate_data_loader=document.cpu_policy.isolate_data_loader,
    )


def queue_infos() -> tuple[QueueInfo, ...]:
    """All queues, also closed ones: their jobs are still served."""
    return tuple(
        QueueInfo(
            queue=q.pk, name=q.name, priority=q.priority, quota_ppm=q.quota_ppm, preemptable=q.preemptable
        )
        for q in Queue.objects.order_by("-priority", "name")
    )


def current_policy() -> CyclePolicy:
    """The policy in force; two queries."""
    active: ActivePolicy = active_version()
    return CyclePolicy(engine_policy(active.document, queue_infos()), active.number, active.document)
