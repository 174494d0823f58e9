"""Writing a result to standard output, whoever reads it or no longer does."""

from __future__ import annotations

import sys
from io import FileIO
from typing import TextIO


def print_whole(text: str, *, program: str) -> int:
    """The exit status: 1 where not all could be written, with one line on stderr unless the reader just went away."""
    if sys.stdout is None:
        return _told(program, "closed")
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        return 1
    except (OSError, ValueError) as error:  # ValueError: a file that is closed already.
        return _told(program, getattr(error, "strerror", None) or str(error))
    return 0


def _write(stream: TextIO, text: str) -> None:
    """Past the buffer: what stays in it would be tried again when Python ends, and fail with a traceback."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        stream.write(text)
        return
    stream.flush()
    left = memoryview(text.encode(stream.encoding, stream.errors or "strict"))
    with FileIO(number, "w", closefd=False) as file:
        while left:
            left = left[file.write(left) or 0 :]


def _told(program: str, problem: str) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"{program}: standard output: {problem}\n")
    return 1
