"""Huawei Ascend NPUs by npu-smi: what it printed once, and what it says now."""

from __future__ import annotations

import re
from pathlib import Path

from agent.notices import notice
from agent.protocol import Notice
from agent.vendors.ascend.chips import Chip, Findings, combine, conclude
from agent.vendors.ascend.fields import looks_like_fields, parse_fields
from agent.vendors.ascend.live import LiveNpus, is_here
from agent.vendors.ascend.mapping import looks_like_mapping, parse_mapping
from agent.vendors.ascend.slices import looks_like_slices, parse_slices
from agent.vendors.ascend.states import complained_device, complaints
from agent.vendors.ascend.table import TOOL, looks_like_table, parse_table
from agent.vendors.ascend.topology import looks_like_topology, parse_topology
from agent.vendors.ascend.watch import looks_like_watch, parse_watch
from agent.vendors.base import Readout, plain

MOST_COMPLAINTS = 20
NO_CARD = "There is no NPU"
_QUOTED = re.compile(r"^[ \t]*> ?", re.MULTILINE)
FORMATS = (
    (looks_like_slices, parse_slices),
    (looks_like_table, parse_table),
    (looks_like_topology, parse_topology),
    (looks_like_mapping, parse_mapping),
    (looks_like_watch, parse_watch),
    (looks_like_fields, parse_fields),
)


class AscendProbe:
    """The plug-in of Ascend."""

    def __init__(self, root: Path) -> None:
        self._live = LiveNpus(root)

    @staticmethod
    def present(root: Path) -> bool:
        """A loaded driver, or its tool on PATH."""
        return is_here(root)

    @staticmethod
    def parse(captured: str) -> Readout:
        """Any of npu-smi's outputs, also several in one text, and what it says when it fails."""
        clean = _QUOTED.sub("", plain(captured))
        parts = [parse(clean) for looks_like, parse in FORMATS if looks_like(clean)]
        found = combine([*parts, _complained(clean)])
        if not parts and not found.warnings and not found.chips:
            said = notice("no-devices", tool=TOOL) if NO_CARD in clean else notice("not-recognised")
            found = Findings(warnings=(said,))
        return conclude(found)

    def read(self) -> Readout:
        """Facts and readings of all devices now; raises ProbeError."""
        return self._live.read()


def _complained(captured: str) -> Findings:
    """What complaints say: a device named in one is not healthy, and one known from it alone is not forgotten."""
    chips: list[Chip] = []
    warnings: list[Notice] = []
    for line in complaints(captured):
        said = notice("tool-failed", problem=line)
        if said not in warnings:
            warnings.append(said)
        device = complained_device(line)
        if device is not None:
            chips.append(Chip(npu=device[0], verdict=device[1]))
    return Findings(chips=tuple(chips), warnings=tuple(warnings[:MOST_COMPLAINTS]))
