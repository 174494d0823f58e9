"""Text that vendors' tools print for people: boxed tables of several lines per device, and indented lists of keys."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_LINE_CHARS = 1 << 16
_RULE = re.compile(r"(?=.*?[=\-]{3})[\s+|=\-]+$")
LONGEST_PAIR = 80
STARTS_RECORD = re.compile(r"^\d{1,4}(?=\s|$)")
_PAIR = re.compile(r"^\s*(N/A|[^/(]*?)\s*[/(]\s*([^/()]*?)\s*\)?\s*$")
_NO_PAIR = re.compile(r"^\s*\[?N/A\]?\s*$", re.IGNORECASE)
NAMED_LINE = re.compile(r"^GPU (\d{1,4}): (.+?) \(UUID: ([^()]+)\)\s*$")
_PROCESS = re.compile(
    r"^(\d{1,4})\s+(\d{1,10})\s+(\S.{0,500}?)(?:\s{1,80}(\d{1,12}(?:\s{0,8}[KMG]i?B)?|N/A))?$"
)
_WITH_FUNCTION = re.compile(
    r"^(\d{1,4})\s+\S+\s+(\d{1,10})\s+(\S.{0,500}?)(?:\s{1,80}(\d{1,12}(?:\s{0,8}[KMG]i?B)?|N/A))?$"
)
_ANOTHER_HOST = re.compile(r"^\S+ \| (CHANGED|SUCCESS|FAILED|UNREACHABLE)\b")
_KEY = re.compile(r"^([^:]*[^:\s])\s*:(?:\s+(.*)|)$")


Header = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Record:
    """One device of a table: its lines of cells, and the header's lines above them."""

    header: Header
    lines: tuple[tuple[str, ...], ...]

    @property
    def whole(self) -> bool:
        """Whether every cell that the header promises is there."""
        return len(self.lines) >= len(self.header) and all(
            len(cells) >= len(names) for cells, names in zip(self.lines, self.header, strict=False)
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """All cells, line by line."""
        return tuple(cell for line in self.lines for cell in line)

    def under(self, label: str) -> str | None:
        """The cell below the header's cell that has this word among its words."""
        for names, cells in zip(self.header, self.lines, strict=False):
            for number, name in enumerate(names):
                if label in name.split() and number < len(cells):
                    return cells[number]
        return None


def read_records(
    text: str,
    labels: frozenset[str],
    *,
    starts: re.Pattern[str] = STARTS_RECORD,
    otherwise: Header = (),
) -> list[Record]:
    """The devices of all tables whose headers begin with one of these words; tables of processes are left out. A record
    begins at a line of cells (joined by `|`) that `starts` matches. Rows above the first header are read as if
    `otherwise` stood above them: the head of a table may be cut.
    """
    found: list[tuple[Header, list[tuple[str, ...]]]] = []
    header, current = otherwise, None
    widths = {len(otherwise[0])} if otherwise else set[int]()
    rows = iter(_rows(text))
    for cells in rows:
        if cells and _is_header(cells, labels):
            header = (cells, *(row for row in iter(lambda: next(rows, None), None)))
            widths, current = set(range(1, 1 << 8)), None
        elif cells and cells[0].startswith("Process"):
            widths = set()
        elif cells and len(cells) in widths:
            if starts.match("|".join(cells)):
                current = [cells]
                found.append((header, current))
            elif current and len(current) < len(header):
                current.append(cells)
    return [Record(header, tuple(lines)) for header, lines in found]


def _is_header(cells: tuple[str, ...], labels: frozenset[str]) -> bool:
    return (
        len(cells) > 1
        and not labels.isdisjoint(cells[0].split()[:1])
        and "PID" not in " ".join(cells).split()
    )


def csv_cells(line: str) -> list[str]:
    """The cells of a line of comma-separated values; none for any other line, and for one of absurd length."""
    if "," not in line or len(line) > MOST_LINE_CHARS:
        return []
    try:
        return [cell.strip() for cell in next(csv.reader([line]), [])]
    except csv.Error:
        return []


def split_pair(text: str | None) -> tuple[str | None, str | None]:
    """(used, total) of `858/65536 MiB`, `0 MiB/ 23308 MiB`, `2MiB(16384MiB)`, `38W / 350W`; one unit serves both.

    Anything else is handed back as the first.
    """
    if text is None or len(text) > LONGEST_PAIR or _NO_PAIR.match(text):
        return text, None
    match = _PAIR.match(text)
    if match is None:
        return text, None
    first, second = match.groups()
    unit = re.search(r"[A-Za-z]+$", second)
    if unit and re.fullmatch(r"[\d.]+", first):
        first = f"{first} {unit.group()}"
    return first, second


def read_names(text: str) -> list[tuple[int, str, str]]:
    """(number, name, uuid) of the lines that `-L` prints: `GPU 0: Name (UUID: GPU-...)`."""
    matches = [match for line in text.splitlines() if (match := NAMED_LINE.match(line))]
    return [(int(match.group(1)), match.group(2), match.group(3)) for match in matches]


@dataclass(frozen=True)
class ProcessRow:
    """A line of a table of processes; `device` is the tool's number of the device."""

    device: int
    pid: int
    name: str
    memory: str | None


def read_processes(text: str) -> list[ProcessRow]:
    """The table below the word "Process": device, process id, name, and at the end the memory with or without unit."""
    found: list[ProcessRow] = []
    pattern: re.Pattern[str] | None = None
    below = False
    for line in (line.strip().strip("|").strip() for line in text.splitlines()):
        below = below or re.match(r"Process(es)?:?(\s|$)", line) is not None
        if below and re.search(r"\bPID\b", line):
            pattern = _WITH_FUNCTION if re.search(r"\b(?:VF|MI)\b", line) else _PROCESS
        elif pattern and (match := pattern.match(line)):
            number, pid, name, memory = match.groups()
            found.append(ProcessRow(int(number), int(pid), name.strip(), memory))
    return found


def _rows(text: str) -> Iterator[tuple[str, ...] | None]:
    """Cells of each line, None for a rule; empty lines are left out."""
    for line in text.splitlines():
        if _RULE.match(line):
            yield None
        elif line.strip():
            inner = (
                line.strip().removeprefix("|").removesuffix("|") if line.lstrip().startswith("|") else line
            )
            yield tuple(cell.strip() for cell in inner.split("|"))


@dataclass(frozen=True)
class Entry:
    """A line `key : value` of an indented list; `path` holds the keys above it and its own, in lower case."""

    path: tuple[str, ...]
    value: str

    @property
    def key(self) -> str:
        """Keys from the outermost on, joined by slashes."""
        return "/".join(self.path)


def read_entries(text: str) -> list[Entry]:
    """Every line of an indented list, headings (no value) included. The nesting is told by the indentation; where a
    copy lost it, what follows a heading up to the next one is below it.
    """
    lines = [
        _indented(line) for line in text.expandtabs(8).splitlines() if line.strip() and not _RULE.match(line)
    ]
    above: list[tuple[int, str, bool]] = []
    found = []
    for number, (indent, key, value) in enumerate(lines):
        while above and (above[-1][0] > indent or (above[-1][0] == indent and not (above[-1][2] and value))):
            above.pop()
        following = lines[number + 1] if number + 1 < len(lines) else (0, "", "")
        flat = not value and following[0] == indent and bool(following[2])
        found.append(Entry((*(name for _, name, _ in above), key.lower()), value))
        above.append((indent, key.lower(), flat))
    return found


def _indented(line: str) -> tuple[int, str, str]:
    match = _KEY.match(line.strip())
    key, value = (match.group(1), match.group(2) or "") if match else (line.strip(), "")
    return len(line) - len(line.lstrip()), key, value.strip()


def value_of(entries: Iterable[Entry], *ends: str) -> str | None:
    """The first value whose key ends with one of these paths, tried in turn; None where there is none."""
    listed = list(entries)
    for end in ends:
        for entry in listed:
            if entry.value and (entry.key == end or entry.key.endswith("/" + end)):
                return entry.value
    return None


def split_blocks(text: str, start: re.Pattern[str]) -> tuple[str, list[tuple[re.Match[str], str]]]:
    """(what stands before the first device, one (heading, body) per device); a line that begins the output of another
    host ends a body.
    """
    head: list[str] = []
    blocks: list[tuple[re.Match[str], list[str]]] = []
    closed = False
    for line in text.splitlines():
        match = start.match(line)
        closed = match is None and (closed or bool(blocks and _ANOTHER_HOST.match(line)))
        if match:
            blocks.append((match, []))
        elif blocks and not closed:
            blocks[-1][1].append(line)
        elif not blocks:
            head.append(line)
    return "\n".join(head), [(match, "\n".join(body)) for match, body in blocks]
