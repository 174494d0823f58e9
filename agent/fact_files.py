"""Reading the `key=value` files of a task's supervisor."""

from __future__ import annotations

from pathlib import Path


def read_facts(path: Path) -> dict[str, str]:
    """`key=value` lines of a supervisor's file; empty if there is none."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def number(text: str | None) -> int | None:
    """An integer, or None for empty and foreign text."""
    try:
        return int(text) if text else None
    except ValueError:
        return None
