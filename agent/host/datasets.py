"""Datasets present on the node: the folders just below those that the configuration names."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.host.commands import run_command
from agent.notices import notice
from agent.protocol import Notice

MOST_DATASETS = 4000
TIMEOUT_S = 10.0


@dataclass
class DatasetFolders:
    """Looks below the configured folders; one that hangs (a dead file server) is not asked again while it does."""

    folders: Sequence[str]
    timeout_s: float = TIMEOUT_S
    _stuck: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def read(self) -> tuple[list[str], list[Notice]]:
        """(names, what could not be read)."""
        names: set[str] = set()
        notices: list[Notice] = []
        for folder in self.folders:
            found, problem = self._names(folder)
            names |= set(found)
            if problem:
                notices.append(notice("datasets-unread", folder=folder, problem=problem))
        return sorted(names)[:MOST_DATASETS], notices

    def _names(self, folder: str) -> tuple[list[str], str]:
        stuck = self._stuck.pop(folder, None)
        if stuck is not None and stuck.poll() is None:
            self._stuck[folder] = stuck
            return [], "it still does not answer"
        argv = ["find", "-L", folder, "-mindepth", "1", "-maxdepth", "1", "-type", "d", "!", "-name", ".*"]
        result = run_command(argv, timeout_s=self.timeout_s)
        if result.stuck is not None:
            self._stuck[folder] = result.stuck
        problem = "" if result.problem.endswith("empty output") else result.problem
        return [Path(line).name for line in result.output.splitlines() if line.startswith(folder)], problem
