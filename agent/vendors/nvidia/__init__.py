"""NVIDIA devices: NVML first, nvidia-smi where the library does not answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from agent.host.commands import run_command
from agent.host.numa import pci_cpus, pci_numa_node
from agent.notices import notice
from agent.protocol import Check, CheckResult
from agent.vendors.base import ProbeError, Reading, Readout
from agent.vendors.nvidia import nvml
from agent.vendors.nvidia.formats import parse_text

COMMAND_TIMEOUT_S = 8.0
DRIVER_MARKS = ("proc/driver/nvidia/version", "dev/nvidiactl")


class NvidiaProbe:
    """Keeps the last error counts, since only new errors count against a device."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._uncorrectable: dict[str, int] = {}

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
            readout = nvml.read_all()
        except nvml.Unavailable as error:
            readout = self._read_by_command(str(error))
        return msgspec.structs.replace(
            readout, readings=[self._complete(reading) for reading in readout.readings]
        )

    def _read_by_command(self, reason: str) -> Readout:
        if shutil.which("nvidia-smi") is None:
            raise ProbeError(f"{reason}; nvidia-smi is not on PATH")
        result = run_command(["nvidia-smi", "-q", "-x"], timeout_s=COMMAND_TIMEOUT_S)
        readout = self.parse(result.output)
        if result.problem and not readout.readings:
            raise ProbeError(f"{reason}; {result.problem}")
        matrix = run_command(["nvidia-smi", "topo", "-m"], timeout_s=COMMAND_TIMEOUT_S)
        links = parse_text(matrix.output).links if not matrix.problem else []
        problems = [
            notice("tool-failed", problem=problem) for problem in (result.problem, matrix.problem) if problem
        ]
        return msgspec.structs.replace(readout, links=links, warnings=[*readout.warnings, *problems])

    def _complete(self, reading: Reading) -> Reading:
        """Add what the kernel knows of the slot, and judge error counts against the last look."""
        facts = reading.facts
        if facts.pci_bus_id:
            facts = msgspec.structs.replace(
                facts,
                numa_node=pci_numa_node(self._root, facts.pci_bus_id),
                cpu_affinity=pci_cpus(self._root, facts.pci_bus_id),
            )
        return msgspec.structs.replace(reading, facts=facts, check=self._judge_errors(reading))

    def _judge_errors(self, reading: Reading) -> Check:
        name, count = reading.check.device, reading.uncorrectable
        before = self._uncorrectable.get(name)
        if count is not None:
            self._uncorrectable[name] = count
        if count is None or before is None or count <= before or reading.check.result is CheckResult.FATAL:
            return reading.check
        return Check(
            device=name,
            result=CheckResult.FAILED,
            code="ecc-uncorrectable",
            evidence=f"{count - before} new uncorrectable memory errors ({before} -> {count})",
        )
