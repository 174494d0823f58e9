"""The table of current modes that `amd-smi partition` prints: a line per device or slice."""

from __future__ import annotations

import re

from agent.vendors.amd.amd_smi import slice_of
from agent.vendors.base import to_int
from agent.vendors.reading.findings import Capture, Finding

_HEAD = re.compile(r"^\s*GPU(?:_ID)?\s+MEMORY\s+ACCELERATOR_TYPE\s.*\bPARTITION_ID\s*$")


def read_table(text: str) -> Capture:
    """Devices and slices of all such tables; what else they print of partitions is what there could be."""
    columns: list[str] = []
    findings: list[Finding] = []
    for line in text.splitlines():
        words = line.split()
        if _HEAD.match(line):
            columns = words
        elif columns and len(words) == len(columns) and words[0].isdecimal():
            row = dict(zip(columns, words, strict=True))
            index = to_int(words[0], low=0, high=1 << 12)
            part = slice_of(row["ACCELERATOR_TYPE"], row["MEMORY"], row["PARTITION_ID"])
            findings += [] if index is None else [Finding(index=index, partitions=part, tells_memory=False)]
        else:
            columns = []
    return Capture(tuple(findings))
