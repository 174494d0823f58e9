"""How devices are recognised: UUID, else PCI bus id in one spelling, else vendor and index."""

from __future__ import annotations

import re

_PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-9a-f]))?")
MAX_IDENTITY = 128


def normal_pci(text: str | None) -> str | None:
    """`00000000:3B:00.0` and `3b:00.0` as `0000:3b:00.0`; what is no PCI address is None."""
    match = _PCI.fullmatch((text or "").strip().lower().removeprefix("pci:"))
    if match is None:
        return None
    domain, bus, slot, function = (int(part or "0", 16) for part in match.groups())
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def normal_uuid(text: str | None) -> str | None:
    """A UUID as the vendor spells it, without blanks; empty and over-long ones are None."""
    stripped = (text or "").strip()
    return stripped if 0 < len(stripped) <= MAX_IDENTITY and stripped.isprintable() else None


def normal_identity(text: str) -> str:
    """The identity that a sample or a check names: a PCI bus id in one spelling, or the UUID as it is."""
    return normal_pci(text) or text.strip()[:MAX_IDENTITY]
