"""Links between the devices that NVML sees."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent.protocol import Link, normal_pci
from agent.vendors.base import Port, from_library

MOST_NVLINKS = 18
ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
SWITCH = 2  # remote device type of a link that ends in an NVSwitch


class Linked(Protocol):
    """A device that can be asked; see nvml.Device."""

    index: int
    handle: Any

    def maybe(self, function: str, *arguments: Any, of: Any = None) -> Any: ...


def read_ports(device: Linked) -> list[Port]:
    """The device's own ends of NVLinks; a link that it does not have is no answer."""
    states = ((link, device.maybe("nvmlDeviceGetNvLinkState", link)) for link in range(MOST_NVLINKS))
    return [Port(number=link, active=bool(state)) for link, state in states if state is not None]


def read_links(devices: Sequence[Linked], bus_ids: Mapping[int, str | None]) -> list[Link]:
    """NVLinks between devices or through switches, else the way over PCIe."""
    lanes, switched = _nvlinks(devices, bus_ids)
    found = []
    for one, other in itertools.combinations(devices, 2):
        a, b = one.index, other.index
        direct = lanes.get((a, b), 0)
        if direct:
            found.append(Link(a=a, b=b, kind="NV", lanes=direct))
        elif switched.get(a) and switched.get(b):
            found.append(Link(a=a, b=b, kind="NVSWITCH", lanes=min(switched[a], switched[b])))
        elif one.handle is not None and other.handle is not None:
            level = one.maybe("nvmlDeviceGetTopologyCommonAncestor", other.handle)
            if level in ANCESTORS:
                found.append(Link(a=a, b=b, kind=ANCESTORS[level]))
    return found


def _nvlinks(
    devices: Sequence[Linked], bus_ids: Mapping[int, str | None]
) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """(active direct links per pair, active links into switches per device)."""
    lanes: dict[tuple[int, int], int] = {}
    switched: dict[int, int] = {}
    place = {bus_id: number for number, bus_id in bus_ids.items() if bus_id}
    for device in devices:
        number = device.index
        for link in range(MOST_NVLINKS):
            if not device.maybe("nvmlDeviceGetNvLinkState", link):
                continue
            remote = device.maybe("nvmlDeviceGetNvLinkRemotePciInfo", link)
            other = place.get(normal_pci(from_library(getattr(remote, "busId", None))) or "")
            if other is not None and number < other:
                lanes[number, other] = lanes.get((number, other), 0) + 1
            elif other is None and device.maybe("nvmlDeviceGetNvLinkRemoteDeviceType", link) == SWITCH:
                switched[number] = switched.get(number, 0) + 1
    return lanes, switched
