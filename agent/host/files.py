"""Reading small kernel files; absent or unreadable is None, never a guess."""

from __future__ import annotations

from pathlib import Path


def read_text(path: Path) -> str | None:
    """The file's text without outer white space, or None."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_int(path: Path) -> int | None:
    """The file's single integer, or None."""
    text = read_text(path)
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def parse_cpu_list(text: str | None) -> list[int]:
    """Numbers of a kernel list such as `0-5,48-53`; parts that are no numbers are left out."""
    numbers: set[int] = set()
    for part in (text or "").replace("\n", ",").split(","):
        first, dash, last = part.strip().partition("-")
        low = parse_count(first)
        high = parse_count(last) if dash else low
        if low is None or high is None:
            continue
        if low <= high < 1 << 16:
            numbers.update(range(low, high + 1))
    return sorted(numbers)


def parse_count(text: str) -> int | None:
    """A number in plain ASCII digits, or None; other scripts have digits, too, which no kernel writes."""
    return int(text) if text.isascii() and text.isdecimal() else None
