"""The CSV of nvidia-smi as other programs save it: cells in quotes, or another sign than the comma between them."""

from __future__ import annotations

import csv
import re

from agent.vendors.base import LONGEST_LINE
from agent.vendors.nvidia.smi_csv import header_of

SIGNS = (";", "\t", "|")
_DECIMAL = re.compile(r"^(-?\d{1,9}),(\d{1,6})(\s?[A-Za-z%/]{0,8})$")
_QUOTED = re.compile(r'^"[^"]*",\s?"')
_RULE = re.compile(r"^[\s|:+-]+$")


def respelled(captured: str) -> str:
    """The text with such rows as nvidia-smi itself writes them; every other line stays."""
    if '"' not in captured and not any(sign in captured for sign in SIGNS):
        return captured
    sign: str | None = None
    lines: list[str] = []
    for line in captured.splitlines():
        found = _sign_of(line)
        if found:
            sign = found
        if sign and sign in line:
            if not _RULE.match(line):
                lines.append(_joined(line, sign))
        else:
            sign = None
            lines.append(_joined(line, ",") if _QUOTED.match(line) else line)
    return "\n".join(lines)


def _sign_of(line: str) -> str | None:
    """What stands between the cells of a header that is not nvidia-smi's own, if the line is one."""
    for sign in SIGNS:
        if sign in line and len(line) <= LONGEST_LINE and header_of(_joined(line, sign)):
            return sign
    return None


def _joined(line: str, sign: str) -> str:
    clean = line.strip().strip("|") if sign == "|" else line
    try:
        cells = next(csv.reader([clean], delimiter=sign, skipinitialspace=True), [])
    except csv.Error:
        return line
    return ", ".join(_DECIMAL.sub(r"\1.\2\3", cell.strip()).replace(",", " ") for cell in cells)
