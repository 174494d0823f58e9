"""The resource map: every node and device in one compact document, five queries however large the cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Sum

from controlplane.base import clock
from inventory.models import Device, DeviceHealth, Node
from scheduling.models import LIVE_PHASES, CoreBooking, Placement, Slice

NODE_COLUMNS = (
    "id", "name", "state", "node_set", "cpu_count", "booked_cores", "cpu_used_milli", "memory_mib", "booked_memory_mib",
    "memory_used_mib", "devices",
)  # fmt: skip
DEVICE_COLUMNS = (
    "id", "index", "model_idx", "health", "cordoned", "memory_total_mib", "booked_mib", "booked_milli", "used_mib",
    "util_pct", "temp_c", "power_mw", "jobs_count", "parent",
)  # fmt: skip


def resource_map() -> dict[str, Any]:
    """The whole document but for its time."""
    models, devices = _devices()
    nodes = list(_nodes())
    return {
        "groups": _groups(nodes, models, devices),
        "nodes": [[*node, devices.get(node[0], [])] for node in nodes],
        "models": models,
        "columns": {"nodes": list(NODE_COLUMNS), "devices": list(DEVICE_COLUMNS)},
    }


def stamped(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the time it was made."""
    return {"at": clock.now().isoformat().replace("+00:00", "Z"), **document}


def _nodes() -> Iterable[list[Any]]:
    cores = dict(CoreBooking.objects.order_by().values_list("node_id").annotate(n=Count("id")))
    live = Placement.objects.filter(phase__in=LIVE_PHASES).order_by().values_list("node_id")
    memory = dict(live.annotate(total=Sum("host_memory_mib")))
    rows = Node.objects.order_by("name", "id").values_list(
        "id", "name", "state", "node_set__name", "cpu_count", "reading__cpu_used_milli", "memory_mib",
        "reading__memory_used_mib",
    )  # fmt: skip
    for node, name, state, node_set, cpu_count, cpu_used, memory_mib, memory_used in rows:
        yield [
            node, name, state, node_set, cpu_count, cores.get(node, 0), cpu_used, memory_mib, memory.get(node, 0),
            memory_used,
        ]  # fmt: skip


def _devices() -> tuple[list[str], dict[int, list[list[Any]]]]:
    """Models by number, and the rows of each node's devices; slices that are gone and held by nobody are left out."""
    slices = Slice.objects.order_by().values_list("device_id")
    booked = {
        device: (memory, milli, jobs)
        for device, memory, milli, jobs in slices.annotate(
            memory=Sum("memory_mib"), milli=Sum("compute_milli"), jobs=Count("id")
        )
    }
    numbers: dict[str, int] = {}
    found: dict[int, list[list[Any]]] = defaultdict(list)
    rows = Device.objects.order_by("node_id", "index", "id").values_list(
        "node_id", "id", "index", "model", "health", "cordoned", "memory_total_mib", "parent_id",
        "reading__memory_used_mib", "reading__utilization_pct", "reading__temperature_c", "reading__power_mw",
    )  # fmt: skip
    for node, device, index, model, health, cordoned, total, parent, *reading in rows:
        if parent is not None and health == DeviceHealth.MISSING and device not in booked:
            continue
        number = None if model is None else numbers.setdefault(model, len(numbers))
        memory, milli, jobs = booked.get(device, (0, 0, 0))
        found[node].append(
            [device, index, number, health, cordoned, total, memory, milli, *reading, jobs, parent]
        )
    return list(numbers), found


def _groups(
    nodes: list[list[Any]], models: list[str], devices: dict[int, list[list[Any]]]
) -> list[dict[str, Any]]:
    """Nodes of one node set and first device model together, in the order people read them; nodes without come last."""
    members: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
    for node, _name, _state, node_set, *_rest in nodes:
        number = devices[node][0][2] if devices.get(node) else None
        members[node_set, None if number is None else models[number]].append(node)
    order = sorted(members, key=lambda key: (key[0] is None, key[0] or "", key[1] is None, key[1] or ""))
    return [{"node_set": key[0], "model": key[1], "nodes": members[key]} for key in order]
