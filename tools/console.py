"""Progress lines and child commands of the build tools."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAILURE_TAIL_LINES = 25


class BuildError(Exception):
    """A step that cannot go on; the message names the cause and the fix."""


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    say(f"  .. {title}")
    started_s = time.monotonic()
    yield
    say(f"  ok {title} ({time.monotonic() - started_s:.1f} s)")


def run_quietly(
    command: Sequence[str | Path], *, fix: str, env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> None:
    """Runs a command and shows its last lines only when it fails."""
    shown = " ".join(str(part) for part in command)
    try:
        code, output = run_captured(command, env=env, cwd=cwd)
    except OSError as error:
        raise BuildError(f"cannot start: {shown}\n{error}\nFix: {fix}") from error
    if code != 0:
        tail = "\n".join(output.splitlines()[-FAILURE_TAIL_LINES:])
        raise BuildError(f"{tail}\nfailed with exit status {code}: {shown}\nFix: {fix}")


def run_captured(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> tuple[int, str]:
    """Exit status of a command, and all it wrote."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=merged(env),
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def run_shown(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> int:
    """Runs a command with its output on the terminal; its exit status."""
    sys.stdout.flush()
    return subprocess.run([str(part) for part in command], cwd=cwd, env=merged(env), check=False).returncode


def merged(env: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, **(env or {})}
