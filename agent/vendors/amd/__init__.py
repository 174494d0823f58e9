"""AMD devices: amd-smi first, rocm-smi where it is the only tool."""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.notices import notice
from agent.protocol import CheckResult, Vendor
from agent.vendors import command, rocm
from agent.vendors.amd import amd_smi, slices
from agent.vendors.base import ProbeError, Readout, plain
from agent.vendors.command import Identities, ask, complete, tool_on_path
from agent.vendors.complaints import add_complaints, nothing_found, with_damage
from agent.vendors.conclusions import conclude
from agent.vendors.documents import dig, find_json, looks_cut
from agent.vendors.error_counts import ErrorCounts
from agent.vendors.findings import COMMON_RULES, Capture, Table, merge, rule

TABLE = Table(
    rules=(
        rule(r"amdgpu.*(reset|hang)|gpu hang|ring \S+ timeout", CheckResult.FAILED, "driver-timeout"),
        rule(
            r"uncorrectable (hardware )?error|ras.*uncorrectable|poison",
            CheckResult.FAILED,
            "ecc-uncorrectable",
        ),
        *COMMON_RULES,
    ),
    too_hot_c=110,  # where Instinct boards begin to shut down
)
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


def collect(captured: str) -> Capture:
    """All that is said in this text, slices gathered to their devices."""
    return slices.gather(read_text(captured))


def read_text(captured: str) -> Capture:
    """All that is said in this text, whatever tool wrote it."""
    clean = plain(captured)
    documents, rest = find_json(clean)
    captures = [_read_document(document) for document in documents]
    if not any(capture.findings or capture.links for capture in captures):
        if re.search(r"^GPU: \d+", rest, re.MULTILINE):
            captures.append(amd_smi.read_list(rest))
        elif re.search(r"^\|.*\bGPU-Name\b", rest, re.MULTILINE):
            captures.append(amd_smi.read_table(rest))
        else:
            captures += [rocm.read_lines(rest), rocm.read_table(rest), rocm.read_csv(rest)]
    capture = merge(captures)
    loose = [line for line in rocm.loose(rest) if not re.match(r"GPU: \d+$", line)]
    capture = add_complaints(capture, loose, TABLE)
    empty = any(document == [] or dig(document, "gpu_data") == [] for document in documents)
    capture = with_damage(capture, looks_cut(rest), tool="amd-smi")
    return nothing_found(capture, "no devices" if empty else clean, tool="amd-smi")


def _read_document(document: Any) -> Capture:
    if isinstance(document, dict) and any(
        str(key).lower().startswith("card") or str(key).lower() == "system" for key in document
    ):
        return rocm.read_document(document)
    return merge(amd_smi.read_entries(_entries(document)))


def _entries(document: Any, depth: int = 0) -> list[dict[str, Any]]:
    """The objects of devices in a list, a `gpu_data` object, or a list of such."""
    if isinstance(document, dict):
        inner = dig(document, "gpu_data")
        return [document] if inner is None else _entries(inner, depth + 1)
    if isinstance(document, list) and depth < 4:
        return [entry for item in document for entry in _entries(item, depth + 1)]
    return []
