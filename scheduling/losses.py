"""What becomes of placements whose node is lost: they are given up, their jobs wait again as a new attempt."""

from __future__ import annotations

from django.db import transaction

from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from inventory.models import Node, NodeState
from queues import lifecycle
from queues.derive import Ending, Stage
from queues.lifecycle import Exit, Progress
from scheduling.backends.agent import bump_epoch
from scheduling.bookings import locked_live, set_free
from scheduling.evacuation import failed_devices
from scheduling.models import LIVE_PHASES, Phase, Placement

NODE_LOST_TEXT = "The node stopped reporting."


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
        failed = {placement.pk: failed_devices(placement) for placement in placements}
        for placement in placements:
            _give_up(placement)
            lifecycle.follow(
                jobs[placement.job_id],
                Progress(
                    Stage.LOST,
                    attempt=placement.attempt,
                    node=node_id,
                    exit=Exit(Ending.NODE_LOST, message=NODE_LOST_TEXT),
                    failed_devices=failed[placement.pk],
                    details={"placement": placement.pk},
                ),
            )
        after_commit(Topic.CYCLE_WAKE)
        return len(placements)


def _give_up(placement: Placement) -> None:
    Placement.objects.filter(pk=placement.pk).update(
        phase=Phase.LOST, ended_at=clock.now(), stop_reason="node-lost"
    )
    set_free([placement.pk])
