"""Probing devices by their vendor's command-line tools."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import msgspec

from agent.host.commands import run_command
from agent.host.numa import pci_cpus, pci_numa_node
from agent.notices import notice
from agent.protocol import Notice, Vendor
from agent.vendors.base import ProbeError, Reading, Readout, with_facts
from agent.vendors.error_counts import ErrorCounts
from agent.vendors.reading.conclusions import conclude
from agent.vendors.reading.findings import Capture, Table, merge

ROUND_TIMEOUT_S = 7.0


class Identities:
    """The identities that slots had in earlier looks: a tool may tell them by a question of its own, which may fail."""

    def __init__(self) -> None:
        self._by_slot: dict[str, str] = {}

    def keep(self, readout: Readout) -> Readout:
        """The readout, each device under the identity that it had before where the tool now tells none."""
        return msgspec.structs.replace(readout, readings=[self._identify(one) for one in readout.readings])

    def _identify(self, reading: Reading) -> Reading:
        facts = reading.facts
        slot = facts.pci_bus_id or f"{facts.vendor}-{facts.index}"
        uuid = self._by_slot[slot] = facts.uuid or self._by_slot.get(slot, "")
        if facts.uuid or not uuid:
            return reading
        return with_facts(reading, msgspec.structs.replace(facts, uuid=uuid))


@dataclass(frozen=True)
class Tool:
    """How a vendor's devices are asked for by a command: its names, of which the first `own` are nobody else's, where
    else it lies, files that show a loaded driver, and the questions of one look.
    """

    vendor: Vendor
    table: Table
    collect: Callable[[str], Capture]
    names: tuple[str, ...]
    questions: tuple[tuple[str, ...], ...]
    marks: tuple[str, ...]
    folders: tuple[str, ...] = ()
    own: int | None = None


class CommandProbe:
    """Probing by one tool; keeps identities and the last error counts, since only new errors count against a device."""

    tool: ClassVar[Tool]

    def __init__(self, root: Path) -> None:
        self._root = root
        self._counts = ErrorCounts()
        self._identities = Identities()

    @classmethod
    def present(cls, root: Path) -> bool:
        """A loaded driver, or a tool of this vendor's own."""
        tool = cls.tool
        loaded = any((root / mark).exists() for mark in tool.marks)
        return loaded or tool_on_path(tool.names[: tool.own], tool.folders) is not None

    @classmethod
    def parse(cls, captured: str) -> Readout:
        """Any of the tool's outputs; recognised by content."""
        return conclude(cls.tool.vendor, cls.tool.collect(captured), cls.tool.table)

    def read(self) -> Readout:
        """Facts and readings of all devices now; raises ProbeError."""
        tool = self.tool
        capture = ask(tool_on_path(tool.names, tool.folders), tool.questions, tool.collect)
        readout = self._identities.keep(conclude(tool.vendor, capture, tool.table))
        return complete(readout, self._root, self._counts)


def tool_on_path(names: Sequence[str], folders: Sequence[str] = ()) -> str | None:
    """The first of a vendor's tools that is on PATH or in one of the folders where the vendor installs it."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *folders])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def ask(
    tool: str | None,
    questions: Sequence[Sequence[str]],
    collect: Callable[[str], Capture],
    *,
    deadline_s: float | None = None,
) -> Capture:
    """One look by a tool's answers to several questions, within one time limit: the first must come, the others add
    what they can. Raises ProbeError, also where nothing in the first answer is known: that is no sign of devices
    that are gone. `deadline_s` is of the monotonic clock.
    """
    if tool is None:
        raise ProbeError("none of the vendor's tools is on PATH")
    deadline = time.monotonic() + ROUND_TIMEOUT_S if deadline_s is None else deadline_s
    captures: list[Capture] = []
    problems: list[Notice] = []
    for question in questions:
        left = deadline - time.monotonic()
        if left <= 0.2:
            problems.append(notice("tool-failed", problem=f"{tool}: no time left for {' '.join(question)}"))
            break
        result = run_command([tool, *question], timeout_s=left)
        capture = collect(result.output)
        if captures and (result.problem or not (capture.findings or capture.links)):
            continue
        if not capture.findings and not captures:
            _refuse(result.problem, capture)
        problems += [notice("tool-failed", problem=result.problem)] if result.problem else []
        captures.append(capture)
    merged = merge(captures)
    return replace(merged, warnings=(*merged.warnings, *problems))


def _refuse(problem: str, capture: Capture) -> None:
    if problem:
        raise ProbeError(problem)
    if not any(said.code == "no-devices" for said in capture.warnings):
        raise ProbeError("; ".join(_words(said) for said in capture.warnings) or "nothing was recognised")


def _words(said: Notice) -> str:
    return said.params.get("problem") or said.code


def complete(readout: Readout, root: Path, counts: ErrorCounts) -> Readout:
    """Add what the kernel knows of the slots where the tool says nothing, and judge error counts."""
    return msgspec.structs.replace(
        readout, readings=[_complete(reading, root, counts) for reading in readout.readings]
    )


def _complete(reading: Reading, root: Path, counts: ErrorCounts) -> Reading:
    facts = reading.facts
    if facts.pci_bus_id:
        node, cpus = pci_numa_node(root, facts.pci_bus_id), pci_cpus(root, facts.pci_bus_id)
        facts = msgspec.structs.replace(
            facts,
            numa_node=facts.numa_node if facts.numa_node is not None else node,
            cpu_affinity=facts.cpu_affinity or cpus,
        )
    return msgspec.structs.replace(counts.judge(reading), facts=facts)
