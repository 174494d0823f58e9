"""The resource map: every node and device in one compact document, five queries however large the cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Sum
from django.db.models.fields.json import KT

from inventory.models import Device, DeviceHealth, Node
from scheduling.models import LIVE_PHASES, CoreBooking, Placement, Slice

NODE_COLUMNS = (
    "id", "name", "state", "node_set", "cpu_count", "booked_cores", "cpu_used_milli", "memory_mib", "booked_memory_mib",
    "memory_used_mib", "rack", "devices",
)  # fmt: skip
DEVICE_COLUMNS = (
    "id", "index", "model_idx", "health", "cordoned", "memory_total_mib", "booked_mib", "booked_milli", "used_mib",
    "util_pct", "temp_c", "power_mw", "jobs_count", "parent", "queue_idx", "team_idx",
)  # fmt: skip
RACK_LABEL = "rack"


def resource_map(seen_teams: Collection[str] | None = None) -> dict[str, Any]:
    """The whole document but for its time. Each device names the queue and the team that hold most of it, the team only
    where it is one of `seen_teams` (slugs; None: all).
    """
    bookings = _bookings()
    queues = sorted({queue for _team, queue in bookings.holders.values()})
    teams = sorted(
        team
        for team in {team for team, _queue in bookings.holders.values()}
        if seen_teams is None or team in seen_teams
    )
    models, devices = _devices(bookings, queues, teams)
    nodes = list(_nodes())
    return {
        "groups": _groups(nodes, models, devices),
        "nodes": [[*node, devices.get(node[0], [])] for node in nodes],
        "models": models,
        "queues": queues,
        "teams": teams,
        "columns": {"nodes": list(NODE_COLUMNS), "devices": list(DEVICE_COLUMNS)},
    }


def _nodes() -> Iterable[list[Any]]:
    cores = dict(CoreBooking.objects.order_by().values_list("node_id").annotate(n=Count("id")))
    live = Placement.objects.filter(phase__in=LIVE_PHASES).order_by().values_list("node_id")
    memory = dict(live.annotate(total=Sum("host_memory_mib")))
    rows = Node.objects.order_by("name", "id").values_list(
        "id", "name", "state", "node_set__name", "cpu_count", "reading__cpu_used_milli", "memory_mib",
        "reading__memory_used_mib", KT(f"labels__{RACK_LABEL}"),
    )  # fmt: skip
    for node, name, state, node_set, cpu_count, cpu_used, memory_mib, memory_used, rack in rows:
        yield [
            node, name, state, node_set, cpu_count, cores.get(node, 0), cpu_used, memory_mib, memory.get(node, 0),
            memory_used, rack,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Bookings:
    """By device: memory, compute and number of jobs, and the team and queue that hold most."""

    sums: Mapping[int, tuple[int, int, int]]
    holders: Mapping[int, tuple[str, str]]


def _bookings() -> _Bookings:
    slices = Slice.objects.order_by().values_list(
        "device_id", "placement__job__team__slug", "placement__job__queue__name"
    )
    sums: dict[int, tuple[int, int, int]] = {}
    most: dict[int, tuple[tuple[int, int], str, str]] = {}
    for device, team, queue, memory, milli, jobs in slices.annotate(
        memory=Sum("memory_mib"), milli=Sum("compute_milli"), jobs=Count("id")
    ):
        known = sums.get(device, (0, 0, 0))
        sums[device] = (known[0] + memory, known[1] + milli, known[2] + jobs)
        most[device] = max(most.get(device, ((-1, -1), "", "")), ((milli, memory), team, queue))
    return _Bookings(sums, {device: (team, queue) for device, (_held, team, queue) in most.items()})


def _devices(
    bookings: _Bookings, queues: list[str], teams: list[str]
) -> tuple[list[str], dict[int, list[list[Any]]]]:
    """Models by number, and the rows of each node's devices; slices that are gone and held by nobody are left out."""
    queue_numbers = {name: number for number, name in enumerate(queues)}
    team_numbers = {slug: number for number, slug in enumerate(teams)}
    numbers: dict[str, int] = {}
    found: dict[int, list[list[Any]]] = defaultdict(list)
    rows = Device.objects.order_by("node_id", "index", "id").values_list(
        "node_id", "id", "index", "model", "health", "cordoned", "memory_total_mib", "parent_id",
        "reading__memory_used_mib", "reading__utilization_pct", "reading__temperature_c", "reading__power_mw",
    )  # fmt: skip
    for node, device, index, model, health, cordoned, total, parent, *reading in rows:
        if parent is not None and health == DeviceHealth.MISSING and device not in bookings.sums:
            continue
        number = None if model is None else numbers.setdefault(model, len(numbers))
        booked_mib, milli, jobs = bookings.sums.get(device, (0, 0, 0))
        team, queue = bookings.holders.get(device, ("", ""))
        known = [device, index, number, health, cordoned, total, booked_mib, milli]
        found[node].append([*known, *reading, jobs, parent, queue_numbers.get(queue), team_numbers.get(team)])
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
