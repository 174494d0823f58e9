"""Which reported device is which known one. Pure: identity, never index or order, decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from inventory.device_facts import CleanDevice


class Known(Protocol):
    """What a known device must show to be recognised."""

    id: int
    identity: str
    uuid: str | None
    pci_bus_id: str | None


@dataclass(frozen=True, slots=True)
class Matches:
    """`same` pairs ids of known devices with what is reported, `new` were never seen, `gone` not reported."""

    same: tuple[tuple[int, CleanDevice], ...]
    new: tuple[CleanDevice, ...]
    gone: tuple[int, ...]


def match_devices(known: Sequence[Known], reported: Iterable[CleanDevice]) -> Matches:
    """Pairs by identity, then by PCI address where one side cannot tell its UUID (no driver, card in error)."""
    open_known = {device.id: device for device in known}
    by_identity = {device.identity: device.id for device in known}
    same: list[tuple[int, CleanDevice]] = []
    rest: list[CleanDevice] = []
    for device in reported:
        known_id = by_identity.get(device.identity)
        if known_id is None:
            rest.append(device)
        else:
            same.append((known_id, device))
            del open_known[known_id]
    new: list[CleanDevice] = []
    for device in rest:
        known_id = _by_address(open_known.values(), device)
        if known_id is None:
            new.append(device)
        else:
            same.append((known_id, device))
            del open_known[known_id]
    return Matches(tuple(same), tuple(new), tuple(sorted(open_known)))


def _by_address(known: Iterable[Known], device: CleanDevice) -> int | None:
    address, uuid = device.columns["pci_bus_id"], device.columns["uuid"]
    if address is None:
        return None
    return next(
        (one.id for one in known if one.pci_bus_id == address and (uuid is None or one.uuid is None)),
        None,
    )
