"""The reply to a report or a wake: what should be on this node."""

from __future__ import annotations

from datetime import datetime

from agent import protocol
from agent.protocol import Reply
from controlplane.agentapi.quiet import Quiet
from controlplane.base import clock
from controlplane.base.identity import this_cluster
from controlplane.policy.document import Health
from inventory.models import Node, NodeState
from scheduling.backends.agent import GRACE_S, desired_set, set_as_seen


def build_reply(node: Node, *, received_at: datetime, health: Health, want_facts: bool) -> Reply:
    """The node's whole desired set.

    Not authoritative while two machines claim the node: neither may change anything.
    """
    authoritative = node.state != NodeState.QUARANTINED
    epoch, assignments = desired_set(node)
    return Reply(
        version=protocol.VERSION,
        cluster_id=str(this_cluster().uid),
        authoritative=authoritative,
        epoch=epoch,
        received_at_ms=clock.to_ms(received_at),
        sent_at_ms=clock.now_ms(),
        report_interval_s=health.report_interval_s,
        want_facts=want_facts,
        assignments=assignments if authoritative else [],
        silence_limit_s=silence_limit_s(health),
    )


def quiet_reply(quiet: Quiet, *, received_at: datetime) -> Reply:
    """The same for a report that said nothing new: the set as it stood then."""
    epoch, assignments = set_as_seen(quiet.node_id, quiet.seen)
    return Reply(
        version=protocol.VERSION,
        cluster_id=quiet.cluster_id,
        authoritative=True,
        epoch=epoch,
        received_at_ms=clock.to_ms(received_at),
        sent_at_ms=clock.now_ms(),
        report_interval_s=quiet.health.report_interval_s,
        want_facts=False,
        assignments=assignments,
        silence_limit_s=silence_limit_s(quiet.health),
    )


def silence_limit_s(health: Health) -> int:
    """So early that a stopped task is gone before the node can be declared lost and the job started elsewhere."""
    return max(1, health.lost_after_s - GRACE_S - 2 * health.report_interval_s)
