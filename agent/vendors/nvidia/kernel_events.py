"""New faults in the live kernel log, read as far as this user may."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

from agent.vendors.nvidia.kernel_log import Event, read_events

PATH = "dev/kmsg"
RECENT_S = 120.0
RECORD_BYTES = 8192
MOST_RECORDS = 50_000


class KernelLog:
    """Tells each fault once; of the time before the first look only the last two minutes."""

    def __init__(self, root: Path) -> None:
        self._path = root / PATH
        self._handle: int | None = None
        self._rest = b""
        self._since_us = int((time.monotonic() - RECENT_S) * 1_000_000)

    def read(self) -> list[Event]:
        """Faults since the last look; raises OSError where the log cannot be read."""
        if self._handle is None:
            self._handle = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        recent = [record for record in self._records(self._handle) if _stamp_us(record) >= self._since_us]
        told = read_events(record.partition(";")[2] for record in recent)
        return [event for _, event in told if event is not None]

    def _records(self, handle: int) -> list[str]:
        """All whole lines that are there now; the kernel's device gives one record per read."""
        parts = [self._rest]
        for _ in range(MOST_RECORDS):
            try:
                part = os.read(handle, RECORD_BYTES)
            except OSError as error:
                if error.errno == errno.EPIPE:  # older records were overwritten meanwhile
                    continue
                if error.errno == errno.EAGAIN:
                    break
                raise
            if not part:
                break
            parts.append(part)
        *whole, self._rest = b"".join(parts).split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole]


def _stamp_us(record: str) -> int:
    """Microseconds since boot of a record `priority,sequence,time,flags;text`; 0 where there are none."""
    fields = record.partition(";")[0].split(",")
    return int(fields[2]) if len(fields) > 2 and fields[2].isascii() and fields[2].isdecimal() else 0
