"""Files of captured tool output: read whole, in whatever encoding they were saved."""

from __future__ import annotations

import codecs
import sys
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 32 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class UnreadableCapture(Exception):
    """The file cannot be read as text; the text says why."""


@dataclass(frozen=True)
class Capture:
    """A file's text; `guessed` names the encoding that was taken where it is not plain UTF-8."""

    text: str
    guessed: str | None = None


def read_capture(name: str) -> Capture:
    """The text of a file, or of standard input for `-`; raises UnreadableCapture."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        elif Path(name).is_dir():
            raise UnreadableCapture("is a folder; name the files in it")
        else:
            with Path(name).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UnreadableCapture(error.strerror or str(error)) from error
    except ValueError as error:
        raise UnreadableCapture(str(error)) from error
    if len(data) > MOST_BYTES:
        raise UnreadableCapture(f"is larger than {MOST_BYTES >> 20} MiB; cut it")
    return decode(data)


def decode(data: bytes) -> Capture:
    """Text of any of the encodings that terminals and editors write; raises UnreadableCapture for what is no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, errors="replace")
            return Capture(text, None if encoding == "utf-8" else encoding)
    wide = _wide(data)
    if wide:
        return Capture(data.decode(wide, errors="replace"), wide)
    if data.count(0) * 10 > len(data):
        raise UnreadableCapture("is not text")
    try:
        return Capture(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _other(data)


def _wide(data: bytes) -> str | None:
    """UTF-16 without its mark: every other byte of such a text is mostly zero."""
    even, odd = data[0::2].count(0), data[1::2].count(0)
    half = len(data) // 2
    if half >= 8 and odd * 10 > half * 7 and even * 10 < half:
        return "utf-16-le"
    return "utf-16-be" if half >= 8 and even * 10 > half * 7 and odd * 10 < half else None


def _other(data: bytes) -> Capture:
    controls = sum(data.count(byte) for byte in range(1, 32) if byte not in (7, 8, 9, 10, 12, 13, 27))
    if controls * 20 > len(data):
        raise UnreadableCapture("is not text")
    try:
        return Capture(data.decode("gb18030"), "gb18030")
    except UnicodeDecodeError:
        return Capture(data.decode("latin-1"), "latin-1")
