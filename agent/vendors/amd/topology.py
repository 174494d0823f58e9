"""The matrices that `amd-smi topology` prints: devices by their addresses, and the types of the links between them."""

from __future__ import annotations

import re
from dataclasses import replace

from agent.protocol import Link, normal_pci
from agent.vendors.base import NO_INDEX
from agent.vendors.reading.findings import Capture, Finding

_TITLE = re.compile(r"^\s*([A-Z][A-Z -]*) TABLE:\s*$")
_KINDS = ("XGMI", "PCIE")


def with_topology(capture: Capture, text: str) -> Capture:
    """The capture, with the links of the matrices in this text. Their order is the tool's numbering, which counts
    where nothing else gives an address its number.
    """
    order, kinds = _read(text)
    if not order:
        return capture
    numbers = {address: f.index for f in capture.findings if (address := normal_pci(f.pci_bus_id))}
    findings = {finding.key: finding for finding in capture.findings}
    for position, address in enumerate(order):
        older = findings.get(position, Finding(index=position))
        if address not in numbers and normal_pci(older.pci_bus_id) is None:
            numbers[address] = position
            findings[position] = replace(older, pci_bus_id=address)
    links = {(link.a, link.b): link for link in capture.links}
    for (one, other), kind in kinds.items():
        a, b = sorted((numbers.get(one, NO_INDEX), numbers.get(other, NO_INDEX)))
        if NO_INDEX < a < b:
            links.setdefault((a, b), Link(a=a, b=b, kind=kind))
    return replace(capture, findings=tuple(findings.values()), links=tuple(links.values()))


def _read(text: str) -> tuple[list[str], dict[tuple[str, str], str]]:
    """(addresses in the tool's order, the type of link for each pair)."""
    order: list[str] = []
    kinds: dict[tuple[str, str], str] = {}
    title, columns = "", list[str]()
    for line in text.splitlines():
        words = line.split()
        addresses = [normal_pci(word) for word in words]
        heading = _TITLE.match(line)
        if heading:
            title, columns = heading.group(1), []
        elif title and addresses and all(addresses) and not columns:
            columns = [address for address in addresses if address]
            order += [address for address in columns if address not in order]
        elif (
            columns and addresses and addresses[0] and len(words) == len(columns) + 1 and title == "LINK TYPE"
        ):
            pairs = zip(columns, words[1:], strict=True)
            kinds |= {(addresses[0], other): kind for other, kind in pairs if kind in _KINDS}
    return order, kinds
