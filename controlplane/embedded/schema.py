"""Whether the schema of the embedded database is known to be current, so that a start need not wait for a migration."""

import hashlib
from pathlib import Path

from controlplane.embedded.state import CLONE, StateFolder, write_private

# Migrations of packages change with the lock, our own with their files.
LOCK = CLONE / "requirements" / "server.lock"


def is_current(state: StateFolder, data: Path) -> bool:
    try:
        return stamp(state).read_text() == digest(data)
    except OSError:
        return False


def mark_current(state: StateFolder, data: Path) -> None:
    write_private(stamp(state), digest(data))


def stamp(state: StateFolder) -> Path:
    return state.postgres / "schema.digest"


def digest(data: Path) -> str:
    """Of every migration's text and of the data folder's identity: a folder put in its place is another one."""
    found = hashlib.sha256(f"{data.stat().st_dev} {data.stat().st_ino}".encode())
    for path in [LOCK, *migrations(CLONE)]:
        found.update(path.read_bytes())
    return found.hexdigest()


def migrations(root: Path) -> list[Path]:
    folders = ("controlplane", "inventory", "queues", "scheduling")
    return sorted(path for name in folders for path in (root / name).glob("**/migrations/*.py"))
