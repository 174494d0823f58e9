"""`rocm-smi --showrasinfo`: the blocks of each device that watch for errors, and how many they counted."""

from __future__ import annotations

import re

from agent.vendors.reading.findings import Capture, Finding

_DEVICE = re.compile(r"^GPU\[(\d{1,4})\]\s*:\s*RAS INFO\s*$", re.IGNORECASE)
_HEADER = re.compile(r"^Block\s+Status\s+Correctable Error\s+Uncorrectable Error$")
_BLOCK = re.compile(
    r"^[A-Z][A-Z0-9_]{1,15}\s+(ENABLED|DISABLED|NONE|UNKNOWN ERROR|SING|MULT|POSITION)"
    r"(?:\s+\d{1,15}\s+(\d{1,15}))?$"
)


def is_row(line: str) -> bool:
    """Whether this is a line of such a table."""
    clean = line.strip()
    return any(shape.match(clean) for shape in (_DEVICE, _HEADER, _BLOCK))


def read_blocks(text: str) -> Capture:
    """A device per heading; its errors are those that all blocks counted."""
    states: dict[int, set[str]] = {}
    counts: dict[int, list[int]] = {}
    device: int | None = None
    for line in (line.strip() for line in text.splitlines()):
        heading, block = _DEVICE.match(line), _BLOCK.match(line)
        if heading:
            device = int(heading.group(1))
            states.setdefault(device, set())
        elif block and device is not None:
            states[device].add(block.group(1))
            counts.setdefault(device, []).extend([int(block.group(2))] if block.group(2) else [])
        elif line and not _HEADER.match(line):
            device = None
    return Capture(tuple(_finding(index, told, counts.get(index)) for index, told in states.items()))


def _finding(index: int, told: set[str], counts: list[int] | None) -> Finding:
    known = told & {"ENABLED", "DISABLED"}
    return Finding(
        index=index,
        ecc="ENABLED" in known if known else None,
        uncorrectable=sum(counts) if counts else None,
        tells_memory=False,
    )
