"""Ascend devices now: npu-smi's table every time, the rest of what it can tell in turns within one time limit."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from agent.host.commands import run_command
from agent.notices import notice
from agent.protocol import Notice, Partition
from agent.vendors.ascend.boards import board_errors
from agent.vendors.ascend.chips import Chip, Findings, combine, conclude
from agent.vendors.ascend.fields import parse_fields
from agent.vendors.ascend.mapping import parse_mapping
from agent.vendors.ascend.slices import Template, parse_slices, parse_templates, with_slices
from agent.vendors.ascend.states import OK, UNKNOWN, Verdict
from agent.vendors.ascend.table import TOOL, looks_like_table, parse_table
from agent.vendors.ascend.topology import parse_topology
from agent.vendors.base import ProbeError, Readout, plain
from agent.vendors.command import complete
from agent.vendors.error_counts import ErrorCounts

TOOL_PLACES = ("usr/local/sbin/npu-smi", "usr/local/bin/npu-smi", "usr/local/Ascend/driver/tools/npu-smi")
DRIVER_MARK = "dev/davinci_manager"
ROUND_S = 7.0
LEAST_S = 0.5
LAYOUT_AGE_S = 600.0
SLICES_AGE_S = 60.0
SLICEABLE = ("310P", "910")
UNLISTED: Verdict = (UNKNOWN, "no-reading", "the mapping names the device, the table does not")


def is_here(root: Path) -> bool:
    """Whether the driver or the tool is here."""
    return (root / DRIVER_MARK).exists() or tool_path(root) is not None


def tool_path(root: Path) -> str | None:
    """Where npu-smi is; the PATH of a service often lacks its folder."""
    return shutil.which(TOOL) or next(
        (str(root / place) for place in TOOL_PLACES if (root / place).is_file()), None
    )


class LiveNpus:
    """Keeps what seldom changes."""

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._deadline = 0.0
        self._stuck: subprocess.Popen[bytes] | None = None
        self._problems: list[Notice] = []
        self._layout: list[Findings] = []
        self._layout_at = -LAYOUT_AGE_S
        self._counts = ErrorCounts()
        self._turn = 0
        self._places: set[tuple[int, int]] = set()
        self._seen: set[tuple[int, int]] = set()
        self._slices: dict[tuple[int, int], tuple[Partition, ...]] = {}
        self._slices_at = -SLICES_AGE_S
        self._templates: dict[str, Template] = {}

    def read(self) -> Readout:
        """One look; raises ProbeError where npu-smi does not answer."""
        self._deadline, self._problems = self._clock() + ROUND_S, []
        table = self._table()
        places = {(chip.npu, chip.chip) for chip in table.chips}
        changed, self._places = places != self._places, places
        self._read_layout(changed=changed)
        self._read_slices(table, changed=changed)
        details = [self._health(chip) for chip in table.chips if chip.verdict and chip.verdict[0] is not OK]
        errors = self._errors(sorted({chip.npu for chip in table.chips}))
        found = combine([*filter(None, details), table, *self._layout, *errors])
        found = replace(found, chips=self._with_unlisted(found.chips, places))
        readout = complete(conclude(found, by_logic=True), self._root, self._counts)
        return msgspec.structs.replace(readout, warnings=[*readout.warnings, *self._problems])

    def _table(self) -> Findings:
        output, problem = self._run("info")
        if not looks_like_table(output):
            raise ProbeError(problem or f"{TOOL}: {output.strip()[:300] or 'no output'}")
        table = parse_table(output)
        if problem:
            self._problems.append(notice("tool-failed", problem=problem))
        if not table.chips:
            raise ProbeError(problem or f"{TOOL} lists no devices")
        return table

    def _read_layout(self, *, changed: bool) -> None:
        """Mapping and topology, from time to time; the last ones stay where npu-smi does not tell them now."""
        if not changed and self._clock() - self._layout_at < LAYOUT_AGE_S:
            return
        mapping, topology = self._ask("info", "-m"), self._ask("info", "-t", "topo")
        self._layout = [parse_mapping(mapping), replace(parse_topology(topology), warnings=())]
        if mapping:
            self._layout_at = self._clock()

    def _read_slices(self, table: Findings, *, changed: bool) -> None:
        if not changed and self._clock() - self._slices_at < SLICES_AGE_S:
            return
        self._slices_at = self._clock()
        sliceable = [chip for chip in table.chips if (chip.name or "").startswith(SLICEABLE)]
        for chip in sliceable:
            output = self._ask(
                "info", "-t", "info-vnpu", "-i", str(chip.npu), "-c", str(chip.chip), quiet=True
            )
            if not output:
                break  # a driver that cannot tell of one chip cannot tell of any
            found = parse_slices(output, self._templates)
            if found.chips and not self._templates:
                self._templates = parse_templates(self._ask("info", "-t", "template-info", quiet=True))
                found = parse_slices(output, self._templates)
            self._slices[chip.npu, chip.chip] = (found.chips[0].partitions or ()) if found.chips else ()

    def _health(self, chip: Chip) -> Findings | None:
        """Error codes of a device that is not well, as evidence."""
        output = self._ask("info", "-t", "health", "-i", str(chip.npu), "-c", str(chip.chip), quiet=True)
        told = [found for found in parse_fields(output).chips if found.verdict and found.verdict[0] is not OK]
        if not told:
            return None
        return Findings(chips=(Chip(npu=chip.npu, chip=chip.chip, verdict=told[0].verdict),))

    def _errors(self, npus: list[int]) -> list[Findings]:
        """Error counts of as many boards as there is time for, in turns."""
        found: list[Findings] = []
        for _ in npus:
            if self._deadline - self._clock() < ROUND_S / 2:
                break
            npu = npus[self._turn % len(npus)]
            self._turn += 1
            output = self._ask("info", "-t", "ecc", "-i", str(npu), quiet=True)
            found.append(Findings(chips=tuple(board_errors(npu, output))))
        return found

    def _with_unlisted(self, chips: tuple[Chip, ...], listed: set[tuple[int, int]]) -> tuple[Chip, ...]:
        """The table's devices, and those that only the mapping names: of one that was in the table before, the agent
        knows that it is missing.
        """
        self._seen |= listed
        return tuple(
            with_slices(chip, self._slices.get((chip.npu, chip.chip), ()))
            if (chip.npu, chip.chip) in listed
            else replace(chip, verdict=UNLISTED)
            for chip in chips
            if (chip.npu, chip.chip) in listed or (chip.npu, chip.chip) not in self._seen
        )

    def _ask(self, *arguments: str, quiet: bool = False) -> str:
        """The output of a question that may go unanswered."""
        output, problem = self._run(*arguments)
        if problem and not quiet:
            self._problems.append(notice("tool-failed", problem=f"{' '.join(arguments)}: {problem}"))
        return "" if problem else output

    def _run(self, *arguments: str) -> tuple[str, str]:
        """(output, problem); while one hangs that cannot be killed, no other is started."""
        if self._stuck is not None and self._stuck.poll() is None:
            return "", f"{TOOL} still hangs and cannot be killed; no other is started"
        self._stuck = None
        left = self._deadline - self._clock()
        tool = tool_path(self._root)
        if tool is None:
            return "", f"{TOOL} is not on PATH"
        if left < LEAST_S:
            return "", f"{TOOL}: no time left"
        result = run_command([tool, *arguments], timeout_s=left)
        self._stuck = result.stuck
        return plain(result.output), result.problem
