"""Writing a result to standard output, whoever reads it or no longer does."""

from __future__ import annotations

import os
import sys


def print_whole(text: str, *, program: str) -> int:
    """The exit status: 1 where not all could be written, with one line on stderr unless the reader just went away."""
    stream = sys.stdout
    if stream is None:
        return _told(program, "closed")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _let_go()
        return 1
    except (OSError, ValueError) as error:  # ValueError: a file that is closed already.
        _let_go()
        return _told(program, getattr(error, "strerror", None) or str(error))
    return 0


def _told(program: str, problem: str) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"{program}: standard output: {problem}\n")
    return 1


def _let_go() -> None:
    """What is left unwritten would be tried again when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return
    finally:
        os.close(nowhere)
