"""Whether there is room for jobs: free space of the folders that they and the agent write to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from agent.notices import notice
from agent.protocol import Notice

# A disk that was low has to have a fourth more than the bound free before it counts as well again.
WELL_NUMERATOR, WELL_DENOMINATOR = 5, 4
LOW = "disk-low"


def free_mib(folder: Path) -> int | None:
    """Free for those who are not root; None for a folder that is not there."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize >> 20


class DiskWatch:
    """Below `least_mib` in any of the folders the node takes no new jobs. The notice names no figure that changes, or
    facts would be told anew with every look.
    """

    def __init__(
        self,
        folders: Iterable[Path],
        least_mib: int,
        *,
        free: Callable[[Path], int | None] = free_mib,
    ) -> None:
        self._folders = list(dict.fromkeys(folders))
        self._least_mib = least_mib
        self._free = free
        self._low: set[Path] = set()

    def look(self) -> list[Notice]:
        """The folders that are low now; what cannot be read stays as it was."""
        for folder in self._folders:
            free = self._free(folder)
            if free is None:
                continue
            if free < self._least_mib:
                self._low.add(folder)
            elif free * WELL_DENOMINATOR >= self._least_mib * WELL_NUMERATOR:
                self._low.discard(folder)
        return [
            notice(LOW, folder=folder, least_mib=self._least_mib)
            for folder in self._folders
            if folder in self._low
        ]
