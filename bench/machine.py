"""What machine a figure was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    """CPU model (null where unknown), usable cores, memory, Python and load at the start."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    page_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return {
        "cpu": models[0] if models else None,
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": page_mib,
        "python": platform.python_version(),
        "load1": round(os.getloadavg()[0], 2),
    }


def peak_mib() -> int:
    """The most memory that this process has had so far."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024
