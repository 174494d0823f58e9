"""The reply to a report or a wake: what should be on this node."""

from __future__ import annotations

from datetime import datetime

from agent import protocol
from agent.protocol import GuardRules, Reply
from controlplane.agentapi.quiet import Quiet, Standing
from controlplane.base import clock
from controlplane.base.identity import this_cluster
from controlplane.policy.document import Health, MemoryGuard, PolicyDocument
from inventory.models import Node, NodeState
from scheduling.backends.agent import GRACE_S, desired_set, set_as_seen


def build_reply(
    node: Node,
    *,
    received_at: datetime,
    policy: PolicyDocument,
    want_facts: bool,
    standing: Standing | None = None,
) -> Reply:
    """The node's whole desired set; no query for what `standing`, read just now, says already.

    Not authoritative while two machines claim the node: neither may change anything.
    """
    authoritative = node.state != NodeState.QUARANTINED
    epoch, assignments = desired_set(node) if standing is None else set_as_seen(node.pk, standing.seen)
    cluster_id = standing.cluster_id if standing is not None else None
    return Reply(
        version=protocol.VERSION,
        cluster_id=cluster_id or str(this_cluster().uid),
        authoritative=authoritative,
        epoch=epoch,
        received_at_ms=clock.to_ms(received_at),
        sent_at_ms=clock.now_ms(),
        report_interval_s=policy.health.report_interval_s,
        want_facts=want_facts,
        assignments=assignments if authoritative else [],
        silence_limit_s=silence_limit_s(policy.health),
        guard=guard_rules(policy.memory_guard),
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
        report_interval_s=quiet.policy.health.report_interval_s,
        want_facts=False,
        assignments=assignments,
        silence_limit_s=silence_limit_s(quiet.policy.health),
        guard=guard_rules(quiet.policy.memory_guard),
    )


def silence_limit_s(health: Health) -> int:
    """So early that a stopped task is gone before the node can be declared lost and the job started elsewhere."""
    return max(1, health.lost_after_s - GRACE_S - 2 * health.report_interval_s)


def guard_rules(guard: MemoryGuard) -> GuardRules:
    """By what the agent watches the memory of jobs."""
    return GuardRules(
        shared_percent=guard.shared_percent,
        whole_percent=guard.whole_percent,
        host_percent=guard.host_percent,
        clear_percent=guard.clear_percent,
        leak_window_s=guard.leak_window_s,
        leak_within_s=guard.leak_within_s,
    )
