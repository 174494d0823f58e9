"""What becomes of placements whose node is lost: they are given up, their jobs wait again as a new attempt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from inventory.models import Node, NodeState
from queues.derive import Ending, Stage
from queues.lifecycle import Exit, Progress
from queues.models import Job
from scheduling.backends.agent import bump_epoch
from scheduling.bookings import FAILED, failed_devices, locked_live, set_free
from scheduling.gangs import follow_end
from scheduling.models import LIVE_PHASES, Phase, Placement, Slice

NODE_LOST_TEXT = "The node stopped reporting."
UNSTOPPABLE_TEXT = "It could not be stopped."
# A silent node is judged by its silence.
REPORTING = (NodeState.READY, NodeState.CORDONED, NodeState.DRAINING, NodeState.MAINTENANCE)


def declare_lost_nodes() -> int:
    """Give up the placements of all lost nodes; the number of placements. Usually one query that finds nothing."""
    live = Placement.objects.filter(phase__in=LIVE_PHASES, node__state=NodeState.LOST)
    nodes = sorted(set(live.values_list("node_id", flat=True)))
    return sum(declare_lost(node) for node in nodes)


def declare_lost(node_id: int) -> int:
    """Give up the live placements of a node that is lost (nothing when it came back meanwhile); how many.

    The node's agent, should it return, is told nothing of them and so stops them; their late answers change nothing.
    """
    with transaction.atomic():
        live = Placement.objects.filter(node_id=node_id, phase__in=LIVE_PHASES)
        jobs, placements = locked_live(live)
        if not placements:
            return 0
        bump_epoch([node_id])
        if not Node.objects.filter(pk=node_id, state=NodeState.LOST).exists():
            return 0
        for placement in placements:
            _give_up(placement, jobs[placement.job_id], Exit(Ending.NODE_LOST, message=NODE_LOST_TEXT))
        after_commit(Topic.CYCLE_WAKE)
        return len(placements)


def give_up_unstoppable(endings: Mapping[str, Ending], *, before: datetime) -> int:
    """Give up placements that were told to stop before that time and still have not, for one of these reasons or on a
    device that failed for good and may hold their process for ever; how many. Late answers of theirs change nothing.
    """
    on_failed = Slice.objects.filter(FAILED).values("placement_id")
    # A checkpoint takes as long as its job said, and what is asked for one was not told to stop yet.
    told = ~Q(phase=Phase.CHECKPOINTING)
    hopeless = Q(told, stop_reason__in=endings) | Q(pk__in=on_failed)
    stuck = Placement.objects.filter(
        hopeless, phase__in=LIVE_PHASES, stopping_at__lte=before, node__state__in=REPORTING
    )
    if not stuck.exists():
        return 0
    with transaction.atomic():
        jobs, placements = locked_live(stuck)
        bump_epoch({placement.node_id for placement in placements})
        for placement in placements:
            ending = endings.get(placement.stop_reason, Ending.DEVICE_FAILED)
            _give_up(placement, jobs[placement.job_id], Exit(ending, message=UNSTOPPABLE_TEXT))
        after_commit(Topic.CYCLE_WAKE)
        return len(placements)


def _give_up(placement: Placement, job: Job, exit_: Exit) -> None:
    failed = failed_devices(placement)
    reason = placement.stop_reason or exit_.ending.value
    Placement.objects.filter(pk=placement.pk).update(
        phase=Phase.LOST,
        ended_at=clock.now(),
        stop_reason=reason,
        exit_message=exit_.message,
        ending=exit_.ending.value,
        failed_devices=list(failed),
    )
    set_free([placement.pk])
    progress = Progress(
        Stage.LOST,
        attempt=placement.attempt,
        node=placement.node_id,
        exit=exit_,
        failed_devices=failed,
        details={"placement": placement.pk},
    )
    follow_end(placement, job, progress)
