"""The small files through which a task's supervisor and the agent know of each other; see `shim.py`."""

from __future__ import annotations

import os
import time
from pathlib import Path

from agent.fact_files import number, read_facts
from agent.journal import write_all
from agent.protocol import ExitReason
from agent.task import Outcome, Record

CLAIM_PATIENCE_S = 5.0


def is_fresh_claim(path: Path) -> bool:
    """Whether a supervisor has just made its start file and not yet written its name into it."""
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_size == 0 and time.time() - status.st_mtime < CLAIM_PATIENCE_S


def read_exit(folder: Path, record: Record) -> Outcome | None:
    """How the task ended, from the record or its supervisor's last word."""
    if record.outcome is not None:
        return record.outcome
    facts = read_facts(folder / "exit")
    if not facts:
        return None
    try:
        reason = ExitReason(facts.get("reason", ""))
    except ValueError:
        reason = ExitReason.LOST_PROCESS
    return Outcome(
        reason=reason,
        ended_at_ms=number(facts.get("ended_at_ms")) or 0,
        exit_code=number(facts.get("exit_code")),
        signal=number(facts.get("signal")),
        message=facts.get("message", ""),
        log_bytes=size_of(folder / "log"),
        started_at_ms=number(read_facts(folder / "started").get("started_at_ms")),
    )


def write_exit(folder: Path, reason: ExitReason, message: str, *, ended_at_ms: int | None = None) -> None:
    """Write a last word in a supervisor's stead."""
    at_ms = ended_at_ms or time.time_ns() // 1_000_000
    text = f"reason={reason}\nexit_code=\nsignal=\nended_at_ms={at_ms}\nmessage={message}\n"
    write_private(folder / "exit", text.encode("utf-8", "replace"))


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only the agent's user can read; the reader sees it whole."""
    temporary = path.with_name(f".{path.name}.new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(handle, data)
    finally:
        os.close(handle)
    os.rename(temporary, path)


def size_of(path: Path) -> int:
    """Bytes of a file, 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def tail(path: Path) -> str:
    """Last line of a supervisor's own errors."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "no message"
    return text.splitlines()[-1] if text else "no message"
