"""AMD devices: amd-smi first, rocm-smi where it is the only tool."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from pathlib import Path

from agent.notices import notice
from agent.protocol import Vendor
from agent.vendors import command
from agent.vendors.amd import amd_smi, slices
from agent.vendors.amd.captured import TABLE, collect, read_text
from agent.vendors.base import ProbeError, Readout
from agent.vendors.command import Identities, ask, complete, tool_on_path
from agent.vendors.error_counts import ErrorCounts
from agent.vendors.reading.conclusions import conclude
from agent.vendors.reading.findings import Capture

TOOLS = ("amd-smi", "rocm-smi")
FOLDERS = ("/opt/rocm/bin",)
FACTS_AGE_S = 60.0
AMD_SMI_METRIC = ["metric", "--json"]
AMD_SMI_FACTS = (["static", "--json"], ["list", "--json"], ["topology", "--json"])
ROCM_SMI = [
    "--showproductname",
    "--showbus",
    "--showuniqueid",
    "--showmeminfo",
    "vram",
    "--showtemp",
    "--showpower",
    "--showmaxpower",
    "--showuse",
    "--showtoponuma",
    "--showtopotype",
    "--showdriverversion",
    "--json",
]


class AmdProbe:
    """Keeps what seldom changes for a while, since amd-smi takes about a second per question."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._counts = ErrorCounts()
        self._identities = Identities()
        self._facts = Capture()
        self._facts_at_s = -FACTS_AGE_S

    @staticmethod
    def present(root: Path) -> bool:
        """One of AMD's tools; Hygon's rocm-smi on PATH is Hygon's."""
        if tool_on_path(("amd-smi",), FOLDERS):
            return True
        hygon = (root / "sys/module/hydcu").exists() or tool_on_path(("hy-smi",)) is not None
        return not hygon and tool_on_path(("rocm-smi",), FOLDERS) is not None

    @staticmethod
    def parse(captured: str) -> Readout:
        """amd-smi's JSON and lists, rocm-smi's JSON, CSV, lines and table; recognised by content."""
        return conclude(Vendor.AMD, collect(captured), TABLE)

    def read(self) -> Readout:
        """Facts and readings of all devices now; raises ProbeError."""
        deadline_s = time.monotonic() + command.ROUND_TIMEOUT_S
        tools = [tool for name in TOOLS if (tool := tool_on_path((name,), FOLDERS))]
        if not tools:
            raise ProbeError("neither amd-smi nor rocm-smi is on PATH")
        try:
            capture = self._by_tool(tools[0], deadline_s)
        except ProbeError as error:
            if len(tools) == 1 or time.monotonic() > deadline_s:
                raise
            capture = ask(tools[1], [ROCM_SMI], collect, deadline_s=deadline_s)
            capture = replace(
                capture, warnings=(*capture.warnings, notice("tool-failed", problem=str(error)))
            )
        readout = self._identities.keep(conclude(Vendor.AMD, capture, TABLE))
        return complete(readout, self._root, self._counts)

    def _by_tool(self, tool: str, deadline_s: float) -> Capture:
        if not tool.endswith("amd-smi"):
            return ask(tool, [ROCM_SMI], collect, deadline_s=deadline_s)
        metric = ask(tool, [AMD_SMI_METRIC], read_text, deadline_s=deadline_s)
        others = {found.key for found in metric.findings} != {found.key for found in self._facts.findings}
        if others or time.monotonic() - self._facts_at_s >= FACTS_AGE_S:
            with contextlib.suppress(ProbeError):  # what was known before still holds
                self._facts = ask(tool, AMD_SMI_FACTS, read_text, deadline_s=deadline_s)
                self._facts_at_s = time.monotonic()
        return slices.gather(amd_smi.join(self._facts, metric))
