"""Turning answers into lines for people."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table

from client.api import JSON
from client.messages import counted, say, word

SCORE_PPM = 1_000_000
MIB_PER_GIB = 1024


def escape_controls(text: str, *, keep: str = "") -> str:
    """Text that cannot steer a terminal: control characters become escapes, but for those in `keep`."""
    return "".join(
        char if char in keep or unicodedata.category(char) not in {"Cc", "Cf", "Cs"} else _escaped(char)
        for char in text
    )


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def span(numbers: Iterable[int] | None) -> str:
    """CPU numbers as ranges: 0-3,8."""
    if numbers is None:
        return say("unknown")
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges) or say("none")


def quantity(number: int | None, unit: str | None) -> str:
    """A figure of the server with its unit; memory from 1 GiB up in tenths of GiB, rounded down, power in W."""
    if number is None:
        return say("unknown")
    if unit == "MiB" and number >= MIB_PER_GIB:
        tenths = number * 10 // MIB_PER_GIB
        return f"{tenths // 10}.{tenths % 10} GiB"
    if unit == "mW":
        return f"{number / 1000:g} W"
    if unit == "milli":
        return f"{number / 10:g} %"
    return counted(number, unit) if unit else str(number)


def quantities(*numbers: int | None, unit: str | None) -> list[str]:
    """Figures that stand beside each other: exact where rounding would show different ones as the same."""
    texts = [quantity(number, unit) for number in numbers]
    if unit != "MiB" or len(set(texts)) == len(set(numbers)):
        return texts
    return [say("unknown") if number is None else f"{number} MiB" for number in numbers]


def local_time(stamp: str) -> str:
    """A time of the server on this machine's clock, to the minute."""
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")


def local_now() -> str:
    """The time on this machine's clock, to the second."""
    return datetime.now().astimezone().strftime("%H:%M:%S")


def outcome(job: JSON) -> str:
    """How a job ended, in words."""
    if job["exit_code"] is not None:
        text = say("exit-code", code=job["exit_code"])
    elif job["exit_signal"] is not None:
        text = say("exit-signal", signal=job["exit_signal"])
    else:
        text = say("no-exit")
    message = escape_controls(job.get("exit_message") or "")
    return f"{text} · {message}" if message else text


def devices_of(rows: Sequence[JSON] | None) -> str:
    """Devices as `index (model, MiB, what keeps the job within it)`."""
    parts = [
        f"{row['index']} ({escape_controls(row['model'] or say('unknown'))}, {row['memory_mib']} MiB{_limit(row)})"
        for row in rows or []
    ]
    return ", ".join(parts) or say("none")


def _limit(row: JSON) -> str:
    """An older server says nothing of it."""
    limit = row.get("memory_limit")
    return f", {word(f'limit-{limit}')}" if limit else ""


def print_json(value: object) -> None:
    """JSON on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def cell_word(name: str) -> str:
    """A status or state in a table: a word for people on a terminal; on a pipe what scripts compare with."""
    return word(name) if sys.stdout.isatty() else name


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on a terminal, tab-separated lines on a pipe."""
    cells = [[escape_controls(say("unknown") if cell is None else str(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for line in [list(columns), *cells]:
            sys.stdout.write("\t".join(line) + "\n")
        return
    Console(highlight=False, markup=False).print(made_table(columns, cells))


def made_table(columns: Sequence[str], cells: Iterable[Sequence[object]]) -> Table:
    """A table for a terminal."""
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for line in cells:
        table.add_row(*(escape_controls(say("unknown") if cell is None else str(cell)) for cell in line))
    return table


def score(ppm: int, decimals: int = 3) -> str:
    """A score with so many decimals."""
    return f"{ppm / SCORE_PPM:.{decimals}f}"


def decimals_for(scores_ppm: Collection[int]) -> int:
    """Three, or all six where three would show different scores as the same."""
    return 3 if len({score(ppm) for ppm in scores_ppm}) == len(set(scores_ppm)) else 6
