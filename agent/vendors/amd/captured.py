"""All that a text of AMD's tools says, whichever of them wrote it, and however many of their outputs it holds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from agent.protocol import CheckResult, Link, normal_pci
from agent.vendors.amd import amd_smi, monitor, overview, partitions, ras, slices, smi_csv, topology
from agent.vendors.base import NO_INDEX, plain
from agent.vendors.reading import rocm
from agent.vendors.reading.complaints import add_complaints, nothing_found, with_damage
from agent.vendors.reading.documents import dig, find_json, looks_cut
from agent.vendors.reading.findings import COMMON_RULES, Capture, Finding, Table, merge, rule

TABLE = Table(
    rules=(
        rule(r"amdgpu.*(reset|hang)|gpu hang|ring \S+ timeout", CheckResult.FAILED, "driver-timeout"),
        rule(
            r"uncorrectable (hardware )?error|ras.*uncorrectable|poison",
            CheckResult.FAILED,
            "ecc-uncorrectable",
        ),
        rule(r"thermal_violation_status: active", CheckResult.FAILED, "over-temperature"),
        rule(r"bad_page_threshold_exceeded: (true|yes|1)$", CheckResult.FAILED, "bad-pages-exceeded"),
        rule(r"^status: unreservable", CheckResult.FAILED, "bad-pages-exceeded"),
        rule(r"^status: pending", CheckResult.FAILED, "page-retirement-pending"),
        rule(r"\bmultiple_errors\b|xgmi_status_error", CheckResult.FAILED, "error-state"),
        *COMMON_RULES,
    ),
    too_hot_c=110,  # where Instinct boards begin to shut down
)
_OF_CSV = re.compile(r"^(?:\d+,)?\d{1,4},")
_OF_LIST = re.compile(r"^GPU: \d|^[A-Z][A-Z0-9_]+(?: \d+)?:(?:\s|$)")


def collect(captured: str) -> Capture:
    """All that is said in this text, slices gathered to their devices."""
    return slices.gather(read_text(captured))


def read_text(captured: str) -> Capture:
    """All that is said in this text; devices of amd-smi and of rocm-smi are the same by address, else by number."""
    clean = plain(captured)
    documents, rest = find_json(clean)
    cards = [rocm.read_document(one) for one in documents if _is_of_cards(one)]
    cards += [rocm.read_lines(rest), rocm.read_table(rest), rocm.read_csv(rest), ras.read_blocks(rest)]
    gpus = [monitor.read_monitor(rest), overview.read_table(rest), partitions.read_table(rest)]
    gpus += [*smi_csv.read_csv(rest), *amd_smi.read_list(rest)]
    entries = [one for one in documents if not _is_of_cards(one)]
    gpus += [capture for one in entries for capture in amd_smi.read_entries(_entries(one))]
    capture = topology.with_topology(unite(merge(cards), merge(gpus)), rest)
    lines, asides = rocm.split_asides([line for line in rocm.loose(rest) if not _is_read(line)], TABLE)
    capture = merge([add_complaints(capture, lines, TABLE), asides])
    empty = any(document == [] or dig(document, "gpu_data") == [] for document in documents)
    capture = with_damage(capture, looks_cut(rest) or amd_smi.head_is_cut(rest), tool="amd-smi")
    return nothing_found(capture, "no devices" if empty else clean, tool="amd-smi")


def unite(cards: Capture, gpus: Capture) -> Capture:
    """What two tools say of the same host. They may number devices differently, and both may say the address."""
    found = list(gpus.findings)
    numbers: dict[int, int] = {}
    for finding in cards.findings:
        at = _same(finding, found)
        if at is None:
            taken = any(other.index == finding.index for other in found)
            found.append(replace(finding, index=NO_INDEX) if taken else finding)
        else:
            numbers[finding.index] = found[at].index
            found[at] = found[at].over(finding)
    links = {(link.a, link.b): link for link in (*_renumbered(cards.links, numbers), *gpus.links)}
    driver = cards.driver_version or gpus.driver_version
    return Capture(tuple(found), driver, tuple(links.values()), (*cards.warnings, *gpus.warnings))


def _same(finding: Finding, others: list[Finding]) -> int | None:
    """Where the same device stands among these: by its address, else by its number. Slices share their slot."""
    numbered = [at for at, other in enumerate(others) if other.index == finding.index]
    near = [at for at, other in enumerate(others) if other.slot == finding.slot is not None]
    at_home = [at for at in near if normal_pci(others[at].pci_bus_id) == normal_pci(finding.pci_bus_id)]
    if both := [at for at in near if at in numbered]:
        return both[0]
    if len(at_home) == 1:
        return at_home[0]
    return next((at for at in numbered if not finding.slot or not others[at].slot), None)


def _renumbered(links: tuple[Link, ...], numbers: dict[int, int]) -> list[Link]:
    found = []
    for link in links:
        a, b = sorted((numbers.get(link.a, link.a), numbers.get(link.b, link.b)))
        found += [Link(a=a, b=b, kind=link.kind, lanes=link.lanes)]
    return found


def _is_read(line: str) -> bool:
    """Whether this is a line of amd-smi's lists and tables, whose values are read with their device."""
    listed = _OF_LIST.match(line) is not None and amd_smi.is_of_list(line)
    return listed or monitor.is_row(line) or ras.is_row(line) or _OF_CSV.match(line) is not None


def _is_of_cards(document: Any) -> bool:
    """Whether rocm-smi wrote it."""
    names = [str(key).lower() for key in document] if isinstance(document, dict) else []
    return any(name.startswith("card") or name == "system" for name in names)


def _entries(document: Any, depth: int = 0) -> list[dict[str, Any]]:
    """The objects of devices in a list, a `gpu_data` object, or a list of such."""
    if isinstance(document, dict):
        inner = dig(document, "gpu_data")
        return [document] if inner is None else _entries(inner, depth + 1)
    if isinstance(document, list) and depth < 4:
        return [entry for item in document for entry in _entries(item, depth + 1)]
    return []
