"""`npu-smi info -m`: which chip of which board has which number."""

from __future__ import annotations

import re

from agent.host.files import parse_count
from agent.vendors.ascend.chips import Chip, Findings

LABELS = ("NPU ID", "Slot ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name")
_LABEL = re.compile("|".join(sorted(LABELS, key=len, reverse=True)))


def looks_like_mapping(captured: str) -> bool:
    """Whether some line is the header of the mapping."""
    return any(_columns(line) for line in captured.splitlines())


def parse_mapping(captured: str) -> Findings:
    """Chips that compute; controllers have neither a logic nor a physical id."""
    columns: list[str] = []
    chips: list[Chip] = []
    for line in captured.splitlines():
        columns = _columns(line) or columns
        tokens = line.split(maxsplit=max(0, len(columns) - 1))
        if len(tokens) != len(columns) or not tokens:
            continue
        cells = dict(zip(columns, tokens, strict=True))
        npu = parse_count(cells["NPU ID"])
        logic, phy = (parse_count(cells.get(label, "")) for label in ("Chip Logic ID", "Chip Phy-ID"))
        if npu is None or npu > 1 << 16 or (logic is None and phy is None):
            continue
        chip = parse_count(cells["Chip ID"]) or 0
        name = cells["Chip Name"].removeprefix("Ascend ").strip()
        chips.append(Chip(npu=npu, chip=chip, logic=logic, phy=phy, name=name or None))
    return Findings(chips=tuple(chips))


def _columns(line: str) -> list[str]:
    found = _LABEL.findall(line)
    needed = {"NPU ID", "Chip ID", "Chip Name"} <= set(found)
    return found if needed and found[-1] == "Chip Name" and not _LABEL.sub("", line).strip() else []
