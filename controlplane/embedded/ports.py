"""Whether an address is free, and who holds it when it is not."""

import errno
import os
import socket
from pathlib import Path

from controlplane.embedded.errors import EmbeddedError

LISTEN = "0A"


def require_free(host: str, port: int) -> None:
    """Raises a message that names the holder of the port, where it can be found."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise EmbeddedError(explain(error, host=host, port=port)) from error


def explain(error: OSError, *, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        fix = "stop that, or choose another: HEADRACE_PORT=8001 make run"
        return f"port {port} is in use by {holder_of(port)}.\nFix: {fix}"
    if error.errno == errno.EACCES:
        return (
            f"this account may not listen on port {port}.\nFix: choose a port above 1023: HEADRACE_PORT=8000"
        )
    return f"cannot listen on {host}: {error.strerror}.\nFix: set HEADRACE_HOST to an address of this machine"


def holder_of(port: int) -> str:
    for pid in holders(listening_inodes(port)):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        command = b" ".join(words).decode(errors="replace").strip()
        return f"process {pid} ({command[:120]})"
    return "another process (of another user, so its name is hidden)"


def listening_inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == LISTEN and int(fields[1].rsplit(":", 1)[1], 16) == port:
                found.add(fields[9])
    return found


def holders(inodes: set[str]) -> list[int]:
    wanted = {f"socket:[{inode}]" for inode in inodes}
    return [pid for pid in all_pids() if wanted & open_files(pid)]


def all_pids() -> list[int]:
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def open_files(pid: int) -> set[str]:
    folder = Path(f"/proc/{pid}/fd")
    found: set[str] = set()
    try:
        for entry in folder.iterdir():
            found.add(os.readlink(entry))
    except OSError:
        return found
    return found
