"""The state folder: where it is, what lies in it, who may enter."""

import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane.embedded.errors import EmbeddedError

CLONE = Path(__file__).resolve().parents[2]
SYSTEM_STATE = Path("/var/lib/headrace")
# sockaddr_un holds 108 bytes with the closing zero; the longest name we put into a folder is PostgreSQL's.
SOCKET_NAME = ".s.PGSQL.5432.lock"
SOCKET_PATH_LIMIT = 107


@dataclass(frozen=True)
class StateFolder:
    """Everything that survives a stop of `make run`."""

    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def valkey(self) -> Path:
        return self.root / "valkey"

    @property
    def agent(self) -> Path:
        return self.root / "agent"

    @property
    def beat(self) -> Path:
        return self.root / "beat"

    @property
    def secret_key(self) -> Path:
        return self.root / "secret.key"

    @property
    def admin_password(self) -> Path:
        return self.root / "admin.password"

    @property
    def enrolment_token(self) -> Path:
        return self.agent / "enrolment.token"

    @property
    def demo(self) -> Path:
        return self.root / "demo"

    @property
    def demo_tokens(self) -> Path:
        return self.demo / "enrolment.tokens"

    def ensure(self) -> None:
        """Makes the folders; as root others may pass through (jobs have accounts of their own), nobody may list."""
        passable = 0o711 if os.geteuid() == 0 else 0o700
        try:
            make_folder(self.root, mode=passable)
            make_folder(self.agent, mode=passable)
            for folder in (self.run, self.logs, self.valkey, self.beat):
                make_folder(folder, mode=0o700)
            make_folder(self.postgres, mode=passable)
        except OSError as error:
            raise EmbeddedError(
                f"cannot use the state folder {self.root}: {error.strerror}.\n"
                "Fix: make it writable for this account, or name another one in HEADRACE_STATE"
            ) from error

    def secret(self, path: Path) -> str:
        """The secret in a file of mode 0600, made on first use."""
        if not path.exists() or not path.read_text().strip():
            write_private(path, secrets.token_urlsafe(32))
        return path.read_text().strip()


def find_state(environ: Mapping[str, str] = os.environ, *, clone: Path = CLONE) -> StateFolder:
    """HEADRACE_STATE, else a system folder for root (one per clone), else a folder inside the clone."""
    named = environ.get("HEADRACE_STATE")
    if named:
        return StateFolder(Path(named).absolute())
    if os.geteuid() == 0:
        return StateFolder(SYSTEM_STATE / hashlib.sha256(str(clone).encode()).hexdigest()[:12])
    return StateFolder(clone / ".headrace")


def make_folder(folder: Path, *, mode: int) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    folder.mkdir(exist_ok=True, mode=mode)
    if stat.S_IMODE(folder.stat().st_mode) != mode:
        folder.chmod(mode)


def write_private(path: Path, text: str) -> None:
    """Writes whole or not at all, never readable for others in between."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def socket_folder(state: StateFolder, *, uid: int, gid: int) -> Path:
    """A 0700 folder of the given account for unix sockets, short enough for a socket address."""
    folder = state.root / "sockets"
    if len(os.fsencode(folder / SOCKET_NAME)) > SOCKET_PATH_LIMIT:
        digest = hashlib.sha256(str(state.root).encode()).hexdigest()[:12]
        folder = Path(tempfile.gettempdir()) / f"headrace-{uid}-{digest}"
    folder.mkdir(exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), uid):
        raise EmbeddedError(
            f"{folder} belongs to somebody else.\nFix: remove it, or set HEADRACE_STATE to a shorter path"
        )
    if (found.st_uid, found.st_gid) != (uid, gid) and os.geteuid() == 0:
        os.chown(folder, uid, gid, follow_symlinks=False)
    folder.chmod(0o700)
    return folder


def may_enter(folder: Path, *, uid: int, gid: int) -> bool:
    """Whether an account without extra groups can pass through the folder and all folders above it."""
    for place in (folder, *folder.parents):
        found = place.stat()
        if uid == found.st_uid:
            wanted = stat.S_IXUSR
        else:
            wanted = stat.S_IXGRP if gid == found.st_gid else stat.S_IXOTH
        if not found.st_mode & wanted:
            return False
    return True
