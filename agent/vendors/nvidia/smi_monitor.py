"""`nvidia-smi dmon` and `pmon`: a line per look and device, or process, below a line of names and one of units."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.protocol import Vendor
from agent.vendors.base import Process, Readout, to_int, to_mib
from agent.vendors.nvidia.look import Look, conclude, known, silent, to_index
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
        most = len(columns) - 1 if columns[-1:] == ["command"] else -1
        cells = line.split(maxsplit=most) if columns and _ROW.match(line) else []
        if not cells or len(cells) != len(columns):
            continue
        row = dict(zip(columns, cells, strict=True))
        look = _process(row) if "pid" in row else _device(row)
        if look.index >= 0:
            merged.add(silent(look) if "pid" in row else conclude(look))
    return Readout(vendor=Vendor.NVIDIA, readings=merged.readings())


def _columns(line: str) -> list[str]:
    if not line.lstrip().startswith("#"):
        return []
    words = line.replace("#", " ").lower().split()
    return words if "gpu" in words[:3] and TELLING & set(words) else []


def _index(row: Mapping[str, str]) -> int:
    index = to_index(row["gpu"])
    return -1 if index is None else index


def _device(row: Mapping[str, str]) -> Look:
    return Look(
        index=_index(row),
        used=_megabytes(row),
        utilization=row.get("sm"),
        temperature=row.get("gtemp", row.get("temp")),
        draws=(row["pwr"],) if "pwr" in row else (),
        words=tuple((f"dmon {name}", cell) for name, cell in row.items()),
        memory_due=False,
    )


def _process(row: Mapping[str, str]) -> Look:
    pid = to_int(row["pid"], low=0, high=1 << 31)
    name, used = known(row.get("command")), to_mib(_megabytes(row))
    processes = () if pid is None else (Process(pid=pid, name=name, memory_used_mib=used),)
    return Look(index=_index(row), processes=processes)


def _megabytes(row: Mapping[str, str]) -> str | None:
    return f"{row['fb']} MiB" if known(row.get("fb")) else None
