"""How devices are recognised: UUID, else PCI bus id in one spelling, else vendor and index."""

from __future__ import annotations

from agent.protocol import normal_pci

MAX_IDENTITY = 128


def normal_uuid(text: str | None) -> str | None:
    """A UUID as the vendor spells it, without blanks; empty and over-long ones are None."""
    stripped = (text or "").strip()
    return stripped if 0 < len(stripped) <= MAX_IDENTITY and stripped.isprintable() else None


def normal_identity(text: str) -> str:
    """The identity that a sample or a check names: a PCI bus id in one spelling, or the UUID as it is."""
    return normal_pci(text) or text.strip()[:MAX_IDENTITY]
