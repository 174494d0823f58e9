"""NVIDIA devices: NVML first, nvidia-smi where the library does not answer, and the kernel log for Xids."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from agent.host.commands import run_command
from agent.host.files import read_text
from agent.notices import notice
from agent.protocol import DeviceFacts, DeviceSample, Notice, Vendor
from agent.vendors.base import NO_INDEX, ProbeError, Reading, Readout
from agent.vendors.command import complete
from agent.vendors.error_counts import ErrorCounts
from agent.vendors.nvidia.formats import parse_text
from agent.vendors.nvidia.kernel_events import KernelLog
from agent.vendors.nvidia.kernel_log import Event, check_of
from agent.vendors.nvidia.merging import join, merge_readouts
from agent.vendors.nvidia.nvml import Nvml, Unavailable

COMMAND_TIMEOUT_S = 5.0
DRIVER_MARKS = ("proc/driver/nvidia/version", "dev/nvidiactl")


class NvidiaProbe:
    """Keeps the last error counts and how far the kernel log was read, since only what is new counts."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._nvml = Nvml()
        self._counts = ErrorCounts()
        self._log = KernelLog(root)

    @staticmethod
    def present(root: Path) -> bool:
        """A loaded driver, or its tool on PATH."""
        return any((root / mark).exists() for mark in DRIVER_MARKS) or shutil.which("nvidia-smi") is not None

    @staticmethod
    def parse(captured: str) -> Readout:
        """Any output of NVIDIA's tools, or lines of the kernel log; recognised by content."""
        return parse_text(captured)

    def read(self) -> Readout:
        """Facts and readings of all devices now."""
        try:
            readout = self._nvml.read()
        except Unavailable as error:
            readout = read_by_command(str(error))
        events, warnings = self._events()
        readout = complete(readout, self._root, self._counts)
        readings = _with_events([self._with_names(reading) for reading in readout.readings], events)
        return msgspec.structs.replace(readout, readings=readings, warnings=[*readout.warnings, *warnings])

    def _events(self) -> tuple[list[Event], list[Notice]]:
        try:
            return self._log.read(), []
        except OSError as error:
            problem = f"the kernel log is not readable ({error.strerror}): Xids are not seen"
            return [], [notice("tool-failed", problem=problem)]

    def _with_names(self, reading: Reading) -> Reading:
        """Add the names of processes of which the driver tells only the number."""
        processes = [
            process
            if process.name
            else msgspec.structs.replace(process, name=read_text(self._root / f"proc/{process.pid}/comm"))
            for process in reading.processes
        ]
        return msgspec.structs.replace(reading, processes=processes)


def read_by_command(reason: str) -> Readout:
    """The devices as nvidia-smi prints them; raises ProbeError, naming also why the library did not do."""
    if shutil.which("nvidia-smi") is None:
        raise ProbeError(f"{reason}; nvidia-smi is not on PATH")
    result = run_command(["nvidia-smi", "-q", "-x"], timeout_s=COMMAND_TIMEOUT_S)
    readout = parse_text(f"{result.output}\n{result.errors}")
    none_found = any(said.code == "no-devices" for said in readout.warnings)
    if not readout.readings and not (none_found and result.output):
        raise ProbeError(f"{reason}; {result.problem or 'nvidia-smi: its output was not recognised'}")
    more, problems = [], [result.problem]
    for arguments in (["-L"], ["topo", "-m"]):
        other = run_command(["nvidia-smi", *arguments], timeout_s=COMMAND_TIMEOUT_S / 4)
        problems.append(other.problem)
        if not other.problem:
            more.append(msgspec.structs.replace(parse_text(other.output), warnings=[]))
    said = [notice("tool-failed", problem=problem) for problem in dict.fromkeys(problems) if problem]
    merged = merge_readouts([readout, *more])
    return msgspec.structs.replace(merged, warnings=[*merged.warnings, *said])


def _with_events(readings: list[Reading], events: list[Event]) -> list[Reading]:
    """Faults of the kernel log at their devices; a device that the library forgot is there again as lost."""
    places = {reading.facts.pci_bus_id: number for number, reading in enumerate(readings)}
    found = list(readings)
    for event in events:
        if event.result is None:
            continue
        facts = DeviceFacts(vendor=Vendor.NVIDIA, index=NO_INDEX, pci_bus_id=event.bus_id)
        told = Reading(facts, DeviceSample(device=event.bus_id), check_of(event, event.bus_id))
        at = places.setdefault(event.bus_id, len(found))
        if at == len(found):
            found.append(told)
        else:
            found[at] = join(found[at], told)
    return found
