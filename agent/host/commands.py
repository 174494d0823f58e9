"""Running a foreign command with a time-out, without ever waiting for one that cannot be killed; while one hangs, the
same is not started again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass

MOST_BYTES = 16 << 20
# A driver that hangs keeps whoever asks it, even killed: asked every few seconds, they would fill the machine.
_hanging: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}
ENVIRONMENT = {
    "LC_ALL": "C",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/",
}


@dataclass(frozen=True)
class CommandResult:
    """What came of a command; `problem` is empty when it ended with status 0 and some output. `errors` is what it
    wrote beside its output.
    """

    output: str
    problem: str = ""
    stuck: subprocess.Popen[bytes] | None = None
    errors: str = ""


def run_command(argv: list[str], *, timeout_s: float, path: str | None = None) -> CommandResult:
    """Run and read; on time-out its whole group is killed. One that does not die is handed back as `stuck`,
    not waited for.
    """
    before = _hanging.get(tuple(argv))
    if before is not None and before.poll() is None:
        problem = f"{argv[0]}: it still hangs and cannot be killed; no other is started"
        return CommandResult("", problem, before)
    _hanging.pop(tuple(argv), None)
    environment = {**ENVIRONMENT, "PATH": path or os.environ.get("PATH") or ENVIRONMENT["PATH"]}
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )
    except OSError as error:
        return CommandResult("", f"{argv[0]}: {error.strerror}")
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        stuck = _kill(process)
        if stuck is not None:
            _hanging[tuple(argv)] = stuck
        return CommandResult("", f"{argv[0]}: no answer within {timeout_s:g} s", stuck)
    text = output[:MOST_BYTES].decode("utf-8", "replace")
    beside = errors[:MOST_BYTES].decode("utf-8", "replace").strip()
    if process.returncode != 0:
        detail = beside[:300] or text.strip()[:300]
        problem = f"{argv[0]}: exit status {process.returncode} {detail}".strip()
        return CommandResult(text, problem, errors=beside)
    return CommandResult(text, "" if text.strip() else f"{argv[0]}: empty output", errors=beside)


def _kill(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes] | None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        return process
    finally:
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
    return None
