"""Printed files of /proc and /sys laid out again as files, so that the readers of a live host read them, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

# `path:line`, as `grep -H` prints; nothing else of a node's answer is ever written, and only below the folder.
_PRINTED = re.compile(
    r"/(etc/(?:machine-id|os-release)|usr/lib/os-release|proc/(?:cpuinfo|meminfo|mounts|stat|loadavg|uptime)"
    r"|proc/sys/kernel/(?:osrelease|hostname|random/boot_id)|proc/driver/nvidia/gpus/[0-9a-f:.]{1,20}/numa_status"
    r"|sys/devices/system/cpu/(?:present|online|cpu\d{1,5}/(?:topology|cpufreq)/\w{1,30})"
    r"|sys/devices/system/node/node\d{1,4}/\w{1,20}|sys/bus/pci/devices/[0-9a-f:.]{1,20}[0-9a-f]/\w{1,20}"
    r"|sys/class/dmi/id/product_uuid):(.*)",
    re.ASCII,
)
_SAID = re.compile(r"#([a-z-]{1,20})(?: (.{0,500}))?")
MOST_FILES = 60_000


def printed_files(text: str) -> dict[str, str]:
    """Contents by path without the leading slash."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        match = _PRINTED.fullmatch(line)
        if match and (match.group(1) in found or len(found) < MOST_FILES):
            found.setdefault(match.group(1), []).append(match.group(2))
    return {path: "\n".join(lines) for path, lines in found.items()}


def printed_words(text: str) -> dict[str, list[str]]:
    """Lines `#name value` by name."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        match = _SAID.fullmatch(line.rstrip())
        if match:
            found.setdefault(match.group(1), []).append(match.group(2) or "")
    return found


@contextmanager
def laid_out(files: dict[str, str]) -> Iterator[Path]:
    """A folder with these files, gone afterwards."""
    with TemporaryDirectory(prefix="headrace-node-") as name:
        root = Path(name)
        for path, content in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content + "\n", encoding="utf-8")
        yield root
