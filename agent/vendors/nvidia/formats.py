"""Which of NVIDIA's formats a captured text is in; a text may hold several, one after the other."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agent.notices import notice
from agent.vendors.base import Readout, plain
from agent.vendors.nvidia import (
    exported,
    kernel_log,
    smi_csv,
    smi_list,
    smi_mig,
    smi_monitor,
    smi_table,
    smi_text,
    smi_xml,
    text,
    topology,
)
from agent.vendors.nvidia.merging import merge_readouts, settled

# A character or word without which it is not worth looking, how the format is told, and what reads it.
FORMATS: tuple[tuple[str, Callable[[str], bool], Callable[[str], Readout]], ...] = (
    (":", smi_text.looks_like_report, smi_text.parse_report),
    ("|", smi_table.looks_like_table, smi_table.parse_table),
    ("", smi_mig.looks_like_mig, smi_mig.parse_mig),
    ("GPU ", smi_list.looks_like_list, smi_list.parse_list),
    ("GPU", topology.looks_like_matrix, topology.parse_matrix),
    ("", kernel_log.looks_like_log, kernel_log.parse_log),
    ("#", smi_monitor.looks_like_monitor, smi_monitor.parse_monitor),
    (",", smi_csv.looks_like_csv, smi_csv.parse_csv),
)


def parse_text(captured: str) -> Readout:
    """All that a text says of devices; never raises, says in `warnings` what it could not read."""
    clean = exported.respelled(plain(captured))
    found: list[Readout] = []
    rest = clean
    if smi_xml.looks_like_xml(clean):
        found.append(smi_xml.parse_xml(clean))
        rest = smi_xml.outside(clean)
    found += [parse(rest) for mark, looks_like, parse in FORMATS if mark in rest and looks_like(rest)]
    lines = text.parse_lines(clean)
    recognised = bool(found or lines.readings or lines.warnings)
    readout = merge_readouts([*found, lines])
    readout = msgspec.structs.replace(readout, readings=settled(readout.readings))
    if recognised:
        return readout
    return msgspec.structs.replace(readout, warnings=[notice("not-recognised")])
