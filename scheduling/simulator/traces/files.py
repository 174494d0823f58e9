"""Text and CSV files, plain or gzip, as checked cells that know their line and column."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, TextIO

from scheduling.simulator.traces.errors import TraceError

_GZIP_MAGIC = b"\x1f\x8b"
_LARGEST = 1 << 53
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a CSV file; cells are stripped of blanks, a missing optional column reads as empty."""

    file: str
    line: int
    cells: dict[str, str]

    def text(self, column: str) -> str:
        """The cell; empty where the file has no such column."""
        return self.cells.get(column, "")

    def named(self, column: str) -> str:
        """The cell, which may not be empty."""
        found = self.text(column)
        if not found:
            self.refuse(column, "is empty", fix="give a value or remove the line")
        return found

    def number(self, column: str, *, least: float = 0.0, most: float = _LARGEST) -> float:
        """A finite number between the bounds."""
        raw = self.named(column)
        found = float(raw) if _NUMBER.fullmatch(raw) else math.nan
        if math.isnan(found):
            self.refuse(column, f"{raw[:40]!r} is no number", fix="write a finite number in digits")
        if found < least:
            self.refuse(
                column, f"{raw[:40]} is less than {least:g}", fix="correct the sign or remove the line"
            )
        if found > most:
            self.refuse(column, f"{raw[:40]} is more than {most:g}", fix="check the unit of the column")
        return found

    def whole(self, column: str, *, least: int = 0, most: int = _LARGEST) -> int:
        """A whole number (also written as 66.0) between the bounds."""
        found = self.number(column, least=least, most=most)
        if found != int(found):
            self.refuse(
                column, f"{self.text(column)[:40]} is no whole number", fix="round it in the unit named"
            )
        return int(found)

    def refuse(self, column: str, problem: str, *, fix: str) -> NoReturn:
        """Raise a TraceError at this cell."""
        raise TraceError(self.file, problem, fix=fix, line=self.line, column=column)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """The file as UTF-8 text, whether gzip or not (by its first bytes, not by its name), without a byte order mark."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            plain = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as text:
                yield text
    except UnicodeDecodeError as error:
        raise TraceError(str(path), "is not UTF-8 text", fix="convert it to UTF-8") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise TraceError(str(path), f"is damaged gzip data ({error})", fix="copy the file again") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise TraceError(
            str(path), f"cannot be read ({reason})", fix="check the path and its rights"
        ) from error


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Rows of a CSV file that has at least these columns, one at a time; blank lines are skipped."""
    return _read(path, columns, delimiter=",", quoting=csv.QUOTE_MINIMAL)


def read_bars(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """The same of a file whose cells are parted by | and never quoted; lines may end with one more |."""
    return _read(path, columns, delimiter="|", quoting=csv.QUOTE_NONE)


def _read(path: Path, columns: Sequence[str], *, delimiter: str, quoting: Literal[0, 3]) -> Iterator[Row]:
    with open_text(path) as text:
        reader = csv.reader(text, strict=True, delimiter=delimiter, quoting=quoting)
        try:
            header = [name.strip() for name in next(reader, [])]
            ended = quoting == csv.QUOTE_NONE and len(header) > 1 and not header[-1]
            header = header[:-1] if ended else header
            _check_header(path, header, columns)
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield _row(path, reader.line_num, header, cells[:-1] if ended else cells)
        except csv.Error as error:
            fix = "quote cells that hold commas, quotes or line breaks"
            raise TraceError(str(path), f"is no CSV ({error})", fix=fix, line=reader.line_num) from error


def _check_header(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    if not header:
        raise TraceError(str(path), "is empty", fix="its first line must name the columns", line=1)
    missing = [name for name in columns if name not in header]
    if missing:
        found = ", ".join(header)[:200]
        problem = f"has no column {', '.join(missing)} (it has: {found})"
        raise TraceError(str(path), problem, fix="rename or add the columns", line=1, column=missing[0])
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise TraceError(str(path), "names a column twice", fix="remove one", line=1, column=twice[0])


def _row(path: Path, line: int, header: Sequence[str], cells: Sequence[str]) -> Row:
    if len(cells) != len(header):
        problem = f"has {len(cells)} cells, the header {len(header)}"
        raise TraceError(
            str(path),
            problem,
            fix="complete the line or remove it",
            line=line,
            column=header[min(len(cells), len(header) - 1)],
        )
    for name, cell in zip(header, cells, strict=True):
        if "\0" in cell:
            raise TraceError(str(path), "holds a zero byte", fix="remove it", line=line, column=name)
    return Row(str(path), line, {name: cell.strip() for name, cell in zip(header, cells, strict=True)})
