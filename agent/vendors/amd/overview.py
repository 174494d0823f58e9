"""The boxed overview that amd-smi 7 prints when it is asked nothing: devices of two lines each, then the processes."""

from __future__ import annotations

import re
from dataclasses import replace

from agent.protocol import Partition
from agent.vendors.amd.amd_smi import driver_number
from agent.vendors.base import MOST_ERRORS, Process, to_int
from agent.vendors.reading.findings import Capture, Finding, mib

_BOX_FIRST = re.compile(r"^\|\s*([0-9A-Fa-fXx*:.]{7,16})\s+(\S[^|]*?)\s*\|([^|]*)\|")
_BOX_SECOND = re.compile(r"^\|\s*(\d{1,4})\s+[^|]*\|([^|]*)\|")
_SIZE = r"(?:[\d.]+ [KMGT]?B|N/A)"
_PROCESS = re.compile(
    rf"^\|\s*(\d{{1,4}})\s+(\d{{1,10}})\s+([^|]*?)\s+{_SIZE}\s+({_SIZE})\s+{_SIZE}\s[^|]*\|\s*$"
)


def read_table(text: str) -> Capture:
    """The boxed overview of amd-smi 7: two lines per device, address and name first."""
    findings: list[Finding] = []
    first: re.Match[str] | None = None
    for line in text.splitlines():
        opened, closed = _BOX_FIRST.match(line), _BOX_SECOND.match(line)
        if opened and ":" in opened.group(1):
            first = opened
        elif first and closed:
            findings.append(_boxed(first, closed))
            first = None
        elif line.startswith("| Process"):
            first = None
    processes = _processes(text)
    findings = [replace(finding, processes=tuple(processes.get(finding.index, ()))) for finding in findings]
    driver = re.search(r"amdgpu version:\s*(\S+)", text, re.IGNORECASE)
    return Capture(tuple(findings), driver_number(driver.group(1) if driver else None))


def _processes(text: str) -> dict[int, list[Process]]:
    """Processes of each device, with what they use of its own memory."""
    found: dict[int, list[Process]] = {}
    for line in text.splitlines():
        match = _PROCESS.match(line)
        if match:
            device, pid, name, memory = match.groups()
            process = Process(pid=int(pid), name=name, memory_used_mib=mib(memory, unit="B"))
            listed = found.setdefault(int(device), [])
            listed += [] if process in listed else [process]
    return found


def _boxed(first: re.Match[str], second: re.Match[str]) -> Finding:
    upper, lower = first.group(3), second.group(2)
    heat = re.search(r"(-?[\d.]+)\s*°?C\b", upper)
    power = re.search(r"([\d.]+)\s*(?:/\s*([\d.]+|N/A)\s*)?W", upper)
    mode = re.search(r"\b([A-Z]{3})/(NPS\d)\b", second.group(0))
    errors = re.search(r"C\s+(\d+)\s", upper)
    use = re.match(r"\s*([\d.]+)\s*%", lower)
    memory = re.search(r"(\d+)\s*/\s*(\d+)\s*([MG]i?B)", lower)
    return Finding(
        index=int(second.group(1)),
        pci_bus_id=first.group(1),
        model=first.group(2),
        temperature=heat.group(1) if heat else None,
        power=power.group(1) if power else None,
        power_limit=power.group(2) if power else None,
        utilization=use.group(1) if use else None,
        memory_used=f"{memory.group(1)} {memory.group(3)}" if memory else None,
        memory_total=f"{memory.group(2)} {memory.group(3)}" if memory else None,
        uncorrectable=to_int(errors.group(1), low=0, high=MOST_ERRORS) if errors else None,
        complaints=(upper, lower, second.group(0)),
        partitions=(Partition(name=f"{mode.group(1)}/{mode.group(2)}"),) if mode else (),
    )
