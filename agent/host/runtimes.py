"""Container runtimes present on the node and their versions."""

from __future__ import annotations

import re
import shutil

from agent.host.commands import run_command
from agent.protocol import Runtime

COMMANDS = {
    "podman": ["podman", "--version"],
    "docker": ["docker", "--version"],
    "containerd": ["containerd", "--version"],
}
_VERSION = re.compile(r"(?<!\d)(\d{1,9}\.\d{1,9}(?:\.\d{1,9})?[-+~.\w]{0,80})")


def read_runtimes(*, timeout_s: float = 5.0) -> list[Runtime]:
    """Runtimes on PATH; the version is unknown when the command fails or hangs."""
    found = []
    for name, argv in COMMANDS.items():
        if shutil.which(name):
            found.append(
                Runtime(name=name, version=parse_version(run_command(argv, timeout_s=timeout_s).output))
            )
    return found


def parse_version(text: str) -> str | None:
    """First version number in a tool's version line."""
    match = _VERSION.search(text)
    return match.group(1).rstrip(".") if match else None
