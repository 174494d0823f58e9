"""`nvidia-smi dmon` and `pmon`: a line per look and device, or process, below a line of names and one of units."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.protocol import Vendor
from agent.vendors.base import Process, Readout, to_int, to_mib
from agent.vendors.nvidia.look import Look, conclude, known, silent, to_index, told
from agent.vendors.nvidia.merging import Merged

TELLING = frozenset({"pwr", "gtemp", "temp", "sm", "mclk", "fb", "rxpci", "sbecc", "pviol", "pid"})
_ROW = re.compile(r"^\s*(?:\d{8}\s+[\d:]{8}\s+)?\d{1,4}\s")


def looks_like_monitor(captured: str) -> bool:
    """Whether some line names the columns."""
    return any(_columns(line) for line in captured.splitlines() if "#" in line)


def parse_monitor(captured: str) -> Readout:
    """The last look at each device, and the processes of all looks."""
    merged = Merged()
    columns: list[str] = []
    for line in captured.splitlines():
        columns = _columns(line) or columns
        look = _look(line, columns) if columns and _ROW.match(line) else None
        if look:
            merged.add(silent(look) if "pid" in columns else conclude(look))
    return Readout(vendor=Vendor.NVIDIA, readings=merged.readings())


def _columns(line: str) -> list[str]:
    if not line.lstrip().startswith("#"):
        return []
    words = line.replace("#", " ").lower().split()
    return words if "gpu" in words[:3] and TELLING & set(words) else []


def _look(line: str, columns: list[str]) -> Look | None:
    """What a row says; of one with too few or too many cells only whose it is, and whether it complains."""
    most = len(columns) - 1 if columns[-1] == "command" else -1
    cells = line.split(maxsplit=most)
    place = columns.index("gpu")
    index = to_index(cells[place]) if place < len(cells) else None
    if index is None:
        return None
    if len(cells) != len(columns):
        return Look(index=index, words=(("row", line),), cut=True)
    row = dict(zip(columns, cells, strict=True))
    return _process(index, row) if "pid" in row else _device(index, row)


def _device(index: int, row: Mapping[str, str]) -> Look:
    return Look(
        index=index,
        used=_megabytes(row),
        utilization=row.get("sm"),
        temperature=row.get("gtemp", row.get("temp")),
        draws=(row["pwr"],) if "pwr" in row else (),
        words=tuple((f"dmon {name}", cell) for name, cell in row.items()),
        memory_due=False,
    )


def _process(index: int, row: Mapping[str, str]) -> Look:
    pid = to_int(row["pid"], low=0, high=1 << 31)
    name, used = told(row.get("command")), to_mib(_megabytes(row))
    processes = () if pid is None else (Process(pid=pid, name=name, memory_used_mib=used),)
    return Look(index=index, processes=processes)


def _megabytes(row: Mapping[str, str]) -> str | None:
    return f"{row['fb']} MiB" if known(row.get("fb")) else None
