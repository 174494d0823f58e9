"""Nodes and devices as the API shows them: plain documents, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import F, Prefetch, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from controlplane.accounts.models import User
from controlplane.base.problems import Text
from inventory import catalogue
from inventory.models import Device, DeviceEvent, DeviceHealth, DeviceLink, Node, RemoteHost
from inventory.node_states import NOT_SIMULATED
from inventory.remote.problems import problem_text
from inventory.warnings import warning_text
from inventory.wiring import UPWARD

_SUMMARY_COLUMNS = (
    "id",
    "name",
    "state",
    "state_reason",
    "state_since",
    "cpu_model",
    "cpu_count",
    "memory_mib",
    "observe_only",
    "isolates_users",
    "simulated",
    "agent_version",
    "labels",
    "drain_deadline",
)
_DEVICE_COLUMNS = (
    "id",
    "index",
    "identity",
    "uuid",
    "pci_bus_id",
    "vendor",
    "model",
    "memory_total_mib",
    "memory_reserved_mib",
    "compute_units",
    "compute_milli",
    "memory_group",
    "driver_version",
    "numa_node",
    "cpu_affinity",
    "power_limit_w",
    "health",
    "health_since",
    "health_reason",
    "health_evidence",
    "flapping",
    "cordoned",
    "foreign_mib",
)
_READING_COLUMNS = ("at", "memory_used_mib", "utilization_pct", "temperature_c", "power_mw")
_REMOTE_COLUMNS = ("id", "address", "port", "tried_at", "answered_at", "problem", "problem_detail")
_HOST_READING_COLUMNS = ("at", "cpu_used_milli", "memory_used_mib", "load1_milli", "power_mw")


# Every device with its slices after it.
BY_PLACE = (
    Coalesce("parent__index", "index"),
    Coalesce("parent_id", "id"),
    F("parent_id").desc(nulls_first=True),
    "index",
    "id",
)

_REASONS: Mapping[str, Text] = {
    NOT_SIMULATED: _("Simulated, and nothing simulates it now. It comes back when the demo runs again.")
}


def node_rows(
    *, state: str | None = None, node_set: str | None = None, search: str | None = None
) -> QuerySet[Node]:
    """Nodes for a list, without their large facts."""
    present = Device.objects.filter(parent=None).exclude(health=DeviceHealth.MISSING)
    present = present.only("node_id", "model").order_by("index")
    rows = Node.objects.select_related("node_set", "contact", "remote").defer("facts", "remote__memory")
    rows = rows.prefetch_related(Prefetch("devices", queryset=present, to_attr="present_devices"))
    if state is not None:
        rows = rows.filter(state=state)
    if node_set is not None:
        rows = rows.filter(node_set__name=node_set)
    if search is not None:
        rows = rows.filter(Q(name__icontains=search) | Q(machine_id=search))
    return rows


def node_summary(node: Node) -> dict[str, Any]:
    """One line of the list; `node` comes from `node_rows`."""
    devices: Sequence[Device] = node.present_devices  # type: ignore[attr-defined]
    return {
        **{name: getattr(node, name) for name in _SUMMARY_COLUMNS},
        **_contact_part(node),
        "state_reason": str(_REASONS.get(node.state_reason, node.state_reason)),
        "node_set": node.node_set.name if node.node_set else None,
        "devices": len(devices),
        "device_models": sorted({device.model for device in devices if device.model}),
        "agentless": getattr(node, "remote", None) is not None,
    }


def _contact_part(node: Node) -> dict[str, Any]:
    contact = getattr(node, "contact", None)
    offset_us = contact.clock_offset_us if contact else None
    uncertainty_us = contact.clock_uncertainty_us if contact else None
    return {
        "last_report_at": contact.received_at if contact else None,
        "clock_offset_ms": None if offset_us is None else offset_us / 1000,
        "clock_uncertainty_ms": None if uncertainty_us is None else uncertainty_us / 1000,
    }


def node_detail(node_id: int, user: User) -> dict[str, Any] | None:
    """Everything about one node; None when there is none."""
    node = node_rows().defer(None).select_related("node_set", "contact", "reading").filter(pk=node_id).first()
    if node is None:
        return None
    bookings = UPWARD.node_bookings(node_id, user) if UPWARD.node_bookings else {}
    by_cpu: Mapping[int, Mapping[str, Any]] = bookings.get("by_cpu", {})
    links = DeviceLink.objects.filter(node=node_id).order_by("first_id", "second_id")
    return {
        **node_summary(node),
        **_facts_part(node, by_cpu),
        "devices": device_documents(device_rows(node=node_id).order_by(*BY_PLACE), user),
        "own_labels": node.own_labels,
        "remote": _remote(node),
        "links": [_link(link) for link in links],
        "reading": _reading(node, _HOST_READING_COLUMNS),
        "booked": bookings.get("booked", {"cores": 0, "memory_mib": 0}),
        "placements": bookings.get("placements", []),
    }


def _remote(node: Node) -> dict[str, Any] | None:
    host: RemoteHost | None = getattr(node, "remote", None)
    if host is None:
        return None
    return {
        **{name: getattr(host, name) for name in _REMOTE_COLUMNS},
        "problem_text": problem_text(host.problem),
    }


def _facts_part(node: Node, by_cpu: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    facts = node.facts
    reserved = set(facts.get("reserved_cpus", []))
    nobody: Mapping[str, Any] = {"placement": None, "job": None}
    cpus = [
        {**cpu, "reserved": cpu["id"] in reserved, **by_cpu.get(cpu["id"], nobody)}
        for cpu in facts.get("cpus", [])
    ]
    lists = ("numa", "mounts", "runtimes", "images", "stored_images", "datasets")
    texts = ("arch", "os", "kernel")
    return {
        "cpus": cpus,
        **{name: facts.get(name, []) for name in lists},
        **{name: facts.get(name) for name in texts},
        "warnings": [warning_text(entry) for entry in facts.get("warnings", [])],
    }


def _link(link: DeviceLink) -> dict[str, Any]:
    return {
        "a": link.first_id,
        "b": link.second_id,
        "kind": link.kind,
        "lanes": link.lanes,
        "bandwidth_mb_s": link.bandwidth_mb_s,
    }


def device_rows(
    *, node: int | None = None, model: str | None = None, health: str | None = None, vendor: str | None = None
) -> QuerySet[Device]:
    """Devices for a list."""
    wanted = {"node": node, "model": model, "health": health, "vendor": vendor}
    rows = Device.objects.select_related("node", "reading").defer("node__facts", "node__labels")
    return rows.filter(**{name: value for name, value in wanted.items() if value is not None})


def device_documents(devices: Collection[Device], user: User) -> list[dict[str, Any]]:
    """Devices with what is booked on them."""
    rows = list(devices)
    ids = [device.pk for device in rows]
    bookings = UPWARD.device_bookings(ids, user) if UPWARD.device_bookings and ids else {}
    return [_device(device, bookings.get(device.pk, {})) for device in rows]


def _device(device: Device, bookings: Mapping[str, Any]) -> dict[str, Any]:
    entry = None if device.parent_id else catalogue.find(device.vendor, device.model)
    return {
        **{name: getattr(device, name) for name in _DEVICE_COLUMNS},
        "parent": device.parent_id,
        "node": device.node_id,
        "node_name": device.node.name,
        "catalogue": entry
        and {
            "name": entry.name,
            "tdp_w": entry.tdp_w,
            "tflops": entry.tflops,
            "interconnect": entry.interconnect,
            "source": entry.source,
        },
        "booked": bookings.get("booked", {"memory_mib": 0, "compute_milli": 0}),
        "reading": _reading(device, _READING_COLUMNS),
        "placements": bookings.get("placements", []),
    }


def _reading(row: Node | Device, columns: Sequence[str]) -> dict[str, Any] | None:
    reading = getattr(row, "reading", None)
    return None if reading is None else {name: getattr(reading, name) for name in columns}


def device_events(device_id: int) -> QuerySet[DeviceEvent]:
    """All changes of a device's health."""
    return DeviceEvent.objects.filter(device=device_id)


def link_rows(
    *, node: int | None = None, device: int | None = None, kind: str | None = None
) -> QuerySet[DeviceLink]:
    """Links for a list."""
    rows = DeviceLink.objects.all()
    if node is not None:
        rows = rows.filter(node=node)
    if device is not None:
        rows = rows.filter(Q(first=device) | Q(second=device))
    return rows if kind is None else rows.filter(kind=kind)
