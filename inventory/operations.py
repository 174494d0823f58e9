"""What operators do to nodes and devices: guarded, audited by the caller's view, idempotent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from controlplane.alerts.service import clear_alert, forget_subject
from controlplane.base.problems import Problem, not_found
from controlplane.policy.active import active_policy
from inventory.boots import forget_boots
from inventory.device_health import Seen, apply_observations, thresholds_of
from inventory.health import ON_PROBATION, TAKES_JOBS, Observation
from inventory.ingest import effective_labels
from inventory.models import Device, DeviceHealth, Node, NodeContact, NodeState
from inventory.node_states import (
    DUPLICATE_ALERT,
    NOT_SIMULATED,
    RESTORED_ALERT,
    effective_state,
    finish_drain,
    give_up,
    rest,
    set_by_operator,
)
from inventory.revisions import node_changed
from inventory.wiring import UPWARD

_TARGETS: Mapping[str, NodeState] = {
    "cordon": NodeState.CORDONED,
    "uncordon": NodeState.READY,
    "drain": NodeState.DRAINING,
    "maintenance": NodeState.MAINTENANCE,
}


def change_node_state(
    node: Node, operation: str, *, reason: str, drain_deadline: datetime | None = None
) -> Node:
    """cordon, uncordon, drain or maintenance; a repeated operation changes nothing but reason and deadline."""
    target = _TARGETS[operation]
    with transaction.atomic():
        locked = _locked_node(node)
        standing = effective_state(locked)
        if standing == NodeState.QUARANTINED:
            raise Problem(409, "node-quarantined", message=_("Release the node from quarantine first."))
        if standing == NodeState.ENROLLED:
            raise Problem(409, "node-never-reported", message=_("The node has not reported yet."))
        if (standing, locked.state_reason, locked.drain_deadline) != (target, reason, drain_deadline):
            set_by_operator(locked, target, reason=reason, drain_deadline=drain_deadline)
    return locked


def finish_drains(*, busy: QuerySet[Any, Any]) -> int:
    """Nodes that are emptied and not among the `busy` ones (their ids) are in maintenance; how many."""
    empty = Node.objects.filter(state=NodeState.DRAINING).exclude(pk__in=busy).order_by("pk")
    finished = 0
    for node in empty:
        with transaction.atomic():
            finished += finish_drain(_locked_node(node))
    return finished


def label_node(
    node: Node, labels: Mapping[str, str], *, check: Callable[[Mapping[str, str]], object] | None = None
) -> Mapping[str, str]:
    """Sets the labels that operators give a node, all of them; they stand over those that its agent reports. Returns
    those before, with which `check` is called first, while nobody else can change them: what it raises stops this.
    """
    with transaction.atomic():
        locked = _locked_node(node)
        if check is not None:
            check(locked.own_labels)
        effective = effective_labels(locked.facts.get("agent_labels", {}), labels)
        if (locked.own_labels, locked.labels) != (labels, effective):
            Node.objects.filter(pk=node.pk).update(own_labels=dict(labels), labels=effective)
            node_changed(node.pk)
    before: Mapping[str, str] = locked.own_labels
    return before


def release_node(node: Node, *, reason: str) -> Node:
    """Ends the quarantine of a node that two machines claimed. The next machine that reports is the node."""
    with transaction.atomic():
        locked = _locked_node(node)
        if effective_state(locked) != NodeState.QUARANTINED:
            raise Problem(409, "node-not-quarantined", message=_("The node is not in quarantine."))
        if locked.state_reason == RESTORED_ALERT:
            raise Problem(
                409,
                "node-restored",
                message=_("The node obeyed a newer plan: an admin must let it obey this one."),
            )
        forget_boots(locked)
        set_by_operator(locked, NodeState.READY, reason=reason)
        clear_alert(DUPLICATE_ALERT, subject_type="node", subject_id=locked.pk)
    return locked


def obey_node(node: Node, *, reason: str) -> Node:
    """Lets a node follow the plan of a restored backup, which is older than the one that it obeyed last."""
    raise_epoch = UPWARD.raise_epoch
    assert raise_epoch is not None, "registered when the process starts"
    with transaction.atomic():
        contact = NodeContact.objects.select_for_update(of=("self",)).get(node=node.pk)
        if not clear_alert(RESTORED_ALERT, subject_type="node", subject_id=node.pk):
            raise Problem(
                409,
                "node-not-ahead",
                message=_("The node does not wait: it obeyed no newer plan than this one."),
            )
        raise_epoch(node.pk, contact.epoch)
        locked = _locked_node(node)
        # A node that is also claimed twice stays in quarantine for that.
        if locked.state_reason == RESTORED_ALERT:
            set_by_operator(locked, NodeState.READY, reason=reason)
    return locked


def rest_simulated_nodes() -> int:
    """Without a demo nothing simulates its nodes: they are no loss to anybody, only not there. How many there were."""
    resting = Q(state=NodeState.MAINTENANCE, state_reason=NOT_SIMULATED)
    left = Node.objects.filter(simulated=True).exclude(resting).exclude(state=NodeState.QUARANTINED)
    found = list(left.order_by("pk"))
    for node in found:
        with transaction.atomic():
            give_up(_locked_node(node))
        # In its own transaction, since its locks come before that of the node.
        if UPWARD.declare_lost is not None:
            UPWARD.declare_lost(node.pk)
        with transaction.atomic():
            rest(_locked_node(node))
    return len(found)


def _locked_node(node: Node) -> Node:
    """Contact before node, as everywhere."""
    contact = NodeContact.objects.select_for_update(of=("self",)).get(node=node.pk)
    return Node.objects.select_for_update(of=("self",)).select_related("node_set").get(pk=contact.pk)


def cordon_device(device: Device, *, cordoned: bool) -> Device:
    """Keeps new jobs off a device, or lets them on again; running jobs are not touched."""
    with transaction.atomic():
        if Device.objects.filter(pk=device.pk).exclude(cordoned=cordoned).update(cordoned=cordoned):
            node_changed(device.node_id)
    device.refresh_from_db()
    return device


def forget_device(device: Device) -> None:
    """Removes a device that left for good, with its slices and its history."""
    with transaction.atomic():
        locked = Device.objects.select_for_update().filter(pk=device.pk).first()
        if locked is None:
            raise not_found()
        if locked.health != DeviceHealth.MISSING:
            raise Problem(409, "device-present", message=_("Only a missing device can be removed."))
        gone = [locked.pk, *Device.objects.filter(parent=locked).values_list("pk", flat=True)]
        try:
            with transaction.atomic():
                locked.delete()
        except ProtectedError:
            message = _("A job still holds this device. It can be removed once that has ended.")
            raise Problem(409, "device-booked", message=message) from None
        forget_subject("device", gone)
        node_changed(device.node_id)


def release_device(device: Device, *, reason: str, actor: str) -> Device:
    """Takes a recovered device back into service."""
    thresholds = thresholds_of(active_policy().health)
    with transaction.atomic():
        rows = Device.objects.select_for_update(no_key=True, of=("self",)).order_by("pk")
        family = rows.filter(pk__in=[device.pk, device.parent_id]) | rows.filter(parent=device.pk)
        found = {row.pk: row for row in family}
        locked = found[device.pk]
        if locked.health in TAKES_JOBS:
            return locked
        _check_releasable(locked, found.get(locked.parent_id or 0))
        # With a device go its slices, which stood in quarantine because of it.
        freed = [row for row in found.values() if device.pk in (row.pk, row.parent_id)]
        freed = [row for row in freed if row.health == DeviceHealth.RECOVERED]
        released = Seen(Observation.RELEASED, reason, actor=actor)
        apply_observations(dict.fromkeys(freed, released), thresholds)
    return locked


def _check_releasable(device: Device, parent: Device | None) -> None:
    if device.health != DeviceHealth.RECOVERED:
        raise Problem(
            409,
            "device-not-recovered",
            message=_("Only a recovered device can be released; this one is %(health)s."),
            params={"health": device.health},
        )
    if parent is not None and parent.health in ON_PROBATION:
        raise Problem(
            409,
            "release-the-whole",
            message=_("This slice stands as its device does: release device %(device)s."),
            params={"device": parent.pk},
        )
