"""Files that only their owner may read: the server's keys and secrets, which no row ever holds."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MOST_BYTES = 1 << 20
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
OWNERS_ONLY = "the file must be readable for its owner only (chmod 600)"


class NotPrivate(Exception):
    """The file is not as it must be; the text says how."""


def read(path: Path) -> bytes:
    """The content. Raises FileNotFoundError, and NotPrivate for a link, no file, or what others may read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotPrivate(error.strerror or str(error)) from error
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & _OTHERS:
            raise NotPrivate(OWNERS_ONLY)
        return file.read(MOST_BYTES)


def make(path: Path, content: bytes) -> None:
    """A new file, in a folder that is made private where it is missing. FileExistsError where there is one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
