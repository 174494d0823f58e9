"""The only writer of Node.state: guarded transitions, each with its reason."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from controlplane.alerts.models import Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.base import clock
from inventory.cleaning import text
from inventory.models import Node, NodeState
from inventory.revisions import node_changed

AWAY = (NodeState.SILENT, NodeState.LOST)
SILENT_ALERT = "node-silent"
LOST_ALERT = "node-lost"
DUPLICATE_ALERT = "duplicate-machine"
CLAIM_ALERT = "identity-claimed"
RESTORED_ALERT = "restored-backup"
# Why a simulated node is in maintenance while nothing simulates it; its next report ends that.
NOT_SIMULATED = "not-simulated"
# What `is_resting` says, for queries.
RESTING = Q(simulated=True, state=NodeState.MAINTENANCE, state_reason=NOT_SIMULATED)


def heard_from(node: Node) -> None:
    """A report arrived: a new node becomes ready, one that was away goes back to where it stood."""
    state = NodeState(node.state)
    if state == NodeState.ENROLLED or is_resting(node):
        _move(node, NodeState.READY, reason="")
    elif state in AWAY:
        _move(node, NodeState(node.state_before_silence or NodeState.READY), reason=node.state_reason)
        clear_alert(SILENT_ALERT, subject_type="node", subject_id=node.pk)
        clear_alert(LOST_ALERT, subject_type="node", subject_id=node.pk)


def mark_silent(node: Node) -> bool:
    """No new jobs go to a node that does not report. False when another transaction moved it meanwhile."""
    if node.state in (*AWAY, NodeState.ENROLLED):
        return False
    before = NodeState(node.state)
    if not _move(node, NodeState.SILENT, reason=node.state_reason, before_silence=before):
        return False
    _raise(SILENT_ALERT, Severity.WARNING, node)
    return True


def mark_lost(node: Node) -> bool:
    """The silence lasted too long: its placements are given up (by the caller, in the same transaction)."""
    if node.state != NodeState.SILENT:
        return False
    moved = _move(node, NodeState.LOST, reason=node.state_reason, before_silence=node.state_before_silence)
    if moved:
        clear_alert(SILENT_ALERT, subject_type="node", subject_id=node.pk)
        _raise(LOST_ALERT, Severity.CRITICAL, node)
    return moved


def is_resting(node: Node) -> bool:
    """Whether this is a simulated node of a demo that does not run: nobody expects a report of it."""
    return node.simulated and node.state == NodeState.MAINTENANCE and node.state_reason == NOT_SIMULATED


def give_up(node: Node) -> bool:
    """Whoever simulated this node is gone: lost at once, without an alert."""
    clear_alert(SILENT_ALERT, subject_type="node", subject_id=node.pk)
    clear_alert(LOST_ALERT, subject_type="node", subject_id=node.pk)
    return node.state == NodeState.LOST or _move(node, NodeState.LOST, reason=NOT_SIMULATED)


def rest(node: Node) -> bool:
    """After its placements were given up."""
    return node.state == NodeState.LOST and _move(node, NodeState.MAINTENANCE, reason=NOT_SIMULATED)


def quarantine_duplicate(node: Node, details: dict[str, object]) -> None:
    """Two live machines report as this node: it takes no new jobs until an operator releases it."""
    if node.state != NodeState.QUARANTINED:
        _move(node, NodeState.QUARANTINED, reason=DUPLICATE_ALERT)
    _raise(DUPLICATE_ALERT, Severity.CRITICAL, node, **details)


def quarantine_restored(node: Node, *, obeyed_epoch: int, epoch: int) -> None:
    """The node obeyed a newer plan than this database has: it follows the older one only when an admin says so."""
    if node.state != NodeState.QUARANTINED:
        _move(node, NodeState.QUARANTINED, reason=RESTORED_ALERT)
    _raise(RESTORED_ALERT, Severity.CRITICAL, node, obeyed_epoch=obeyed_epoch, epoch=epoch)


def note_claim(node_id: int, *, why: str, details: dict[str, object]) -> None:
    """Another machine claimed this node's identity and was refused: the node goes on, a person should look."""
    claim = {"why": why, "at_ms": clock.now_ms(), **details}
    raise_alert(CLAIM_ALERT, Severity.WARNING, subject_type="node", subject_id=node_id, details=claim)


def set_by_operator(
    node: Node, state: NodeState, *, reason: str, drain_deadline: datetime | None = None
) -> bool:
    """What an operator wants of a node; while it is away this is only noted.

    False when somebody else was faster.
    """
    node.drain_deadline = drain_deadline
    reason = text(reason, 500) or ""
    if node.state in AWAY:
        return _move(node, NodeState(node.state), reason=reason, before_silence=state)
    return _move(node, state, reason=reason)


def finish_drain(node: Node) -> bool:
    """Nothing runs any more on a node that is being emptied. False when it no longer is."""
    return node.state == NodeState.DRAINING and _move(node, NodeState.MAINTENANCE, reason=node.state_reason)


def effective_state(node: Node) -> NodeState:
    """Where the node stands apart from being away."""
    if node.state in AWAY:
        return NodeState(node.state_before_silence or NodeState.READY)
    return NodeState(node.state)


def _move(node: Node, state: NodeState, *, reason: str, before_silence: str | None = None) -> bool:
    columns: dict[str, object] = {
        "state": state,
        "state_reason": reason,
        "state_before_silence": before_silence,
        "drain_deadline": node.drain_deadline if NodeState.DRAINING in (state, before_silence) else None,
    }
    if state != node.state:
        columns["state_since"] = clock.now()
    guard = {"pk": node.pk, "state": node.state, "state_before_silence": node.state_before_silence}
    if not Node.objects.filter(**guard).update(**columns):
        return False
    for name, value in columns.items():
        setattr(node, name, value)
    node_changed(node.pk)
    return True


def _raise(code: str, severity: Severity, node: Node, **details: object) -> None:
    raise_alert(
        code, severity, subject_type="node", subject_id=node.pk, details={"name": node.name, **details}
    )
