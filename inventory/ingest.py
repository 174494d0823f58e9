"""Facts of an agent into rows: node columns, devices by identity, links.

Never fails because something shrank or left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.protocol import Facts
from controlplane.base import clock
from inventory.device_facts import CleanDevice, CleanLink
from inventory.device_health import Seen, apply_observations, inherited_health
from inventory.facts import UNSEEN_BY_SCHEDULING, CleanFacts, clean_facts
from inventory.health import Observation, Thresholds
from inventory.images.sizes import note_sizes
from inventory.matching import match_devices
from inventory.models import Device, DeviceHealth, DeviceLink, Node, NodeSet
from inventory.revisions import node_changed, node_shown
from inventory.wiring import UPWARD

UNSEEN_COLUMNS = frozenset(
    {"agent_version", "cpu_model", "driver_version", "facts_digest", "facts_at", "uuid"}
)


def apply_facts(node: Node, facts: Facts, *, digest: str, thresholds: Thresholds) -> None:
    """Makes the rows of `node` say what `facts` say.

    Call inside the report's transaction, with the contact row locked.
    """
    clean = clean_facts(facts)
    devices = list(Device.objects.filter(node=node).order_by("id"))
    seen = _apply_node(node, clean, digest=digest)
    seen |= _apply_devices(node, devices, clean, thresholds)
    seen |= _apply_links(node, clean.links)
    if seen:
        node_changed(node.pk)
    else:
        node_shown(node.pk)


def _apply_node(node: Node, clean: CleanFacts, *, digest: str) -> bool:
    labels = effective_labels(clean.columns["labels"], node.own_labels)
    columns = {**clean.columns, "labels": labels, "facts_digest": digest[:128], "facts_at": clock.now()}
    if clean.node_set is not None:
        columns["node_set_id"] = NodeSet.objects.get_or_create(name=clean.node_set)[0].pk
    changed = _update(node, columns)
    if clean.facts != node.facts:
        if clean.facts["stored_images"] != node.facts.get("stored_images"):
            note_sizes(clean.facts["stored_images"])
        changed |= {key for key, value in clean.facts.items() if node.facts.get(key) != value}
        node.facts = clean.facts
        Node.objects.filter(pk=node.pk).update(facts=clean.facts)
    return bool(changed - UNSEEN_COLUMNS - UNSEEN_BY_SCHEDULING)


def effective_labels(reported: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Those that operators gave stand over those that the agent reports."""
    return {**reported, **own}


def _update(row: Node | Device, columns: dict[str, Any]) -> set[str]:
    """Writes the columns that differ and names them."""
    changed = {name: value for name, value in columns.items() if getattr(row, name) != value}
    if changed:
        for name, value in changed.items():
            setattr(row, name, value)
        row.save(update_fields=list(changed))
    return set(changed)


def _apply_devices(node: Node, devices: list[Device], clean: CleanFacts, thresholds: Thresholds) -> bool:
    # A card that is there has a better claim to its address than one that left.
    devices.sort(key=lambda device: (device.health == DeviceHealth.MISSING, device.pk))
    by_id = {device.pk: device for device in devices}
    unsized = [device for device in devices if device.memory_total_mib is None]
    parts = [part for whole in clean.devices for part in whole.partitions]
    whole_of = {part.identity: whole.identity for whole in clean.devices for part in whole.partitions}
    matches = match_devices(devices, [*clean.devices, *parts])
    rows = {reported.identity: by_id[device_id] for device_id, reported in matches.same}
    new_parts = [one for one in matches.new if one.identity in whole_of]
    # A slice starts with the health of its device, so that one comes first and is judged first.
    rows |= {one.identity: _create(node, one, None) for one in matches.new if one.identity not in whole_of}
    changed = [
        _refresh(by_id[device_id], one, rows.get(whole_of.get(one.identity, "")))
        for device_id, one in matches.same
    ]
    apply_observations(
        {by_id[device_id]: Seen(Observation.VANISHED, "not-reported") for device_id in matches.gone}
        | {by_id[device_id]: Seen(Observation.RETURNED, "reported-again") for device_id, _ in matches.same},
        thresholds,
    )
    for one in new_parts:
        _create(node, one, rows[whole_of[one.identity]])
    sized = [device.pk for device in unsized if device.memory_total_mib is not None]
    if sized and UPWARD.book_sizes is not None:
        UPWARD.book_sizes(sized)
    return bool(matches.new) or any(changed)


def _refresh(device: Device, reported: CleanDevice, parent: Device | None) -> bool:
    columns = dict(reported.columns)
    if columns["uuid"] is None:
        # A card in error may not tell its UUID; its address then says which one it is.
        columns["uuid"] = device.uuid
    columns["identity"] = columns["uuid"] or reported.identity
    columns["parent_id"] = None if parent is None else parent.pk
    return bool(_update(device, columns) - UNSEEN_COLUMNS)


def _create(node: Node, reported: CleanDevice, parent: Device | None) -> Device:
    """A new slice of a device that lost its trust has none either: cutting a card anew heals nothing."""
    health = {} if parent is None else inherited_health(parent)
    return Device.objects.create(
        node=node,
        identity=reported.identity,
        parent=parent,
        health_since=clock.now(),
        **health,
        **reported.columns,
    )


def _apply_links(node: Node, links: tuple[CleanLink, ...]) -> bool:
    present = Device.objects.filter(node=node, parent=None).exclude(health=DeviceHealth.MISSING)
    ids = dict(present.values_list("index", "id"))
    wanted = dict(_link_row(link, ids) for link in links if link.first in ids and link.second in ids)
    known = {
        (link.first_id, link.second_id): (link.kind, link.lanes, link.bandwidth_mb_s)
        for link in DeviceLink.objects.filter(node=node)
    }
    if wanted == known:
        return False
    DeviceLink.objects.filter(node=node).delete()
    DeviceLink.objects.bulk_create(
        DeviceLink(node=node, first_id=a, second_id=b, kind=kind, lanes=lanes, bandwidth_mb_s=bandwidth)
        for (a, b), (kind, lanes, bandwidth) in wanted.items()
    )
    return True


def _link_row(
    link: CleanLink, ids: dict[int, int]
) -> tuple[tuple[int, int], tuple[str, int | None, int | None]]:
    a, b = sorted((ids[link.first], ids[link.second]))
    return (a, b), (link.columns["kind"], link.columns["lanes"], link.columns["bandwidth_mb_s"])
