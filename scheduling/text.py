"""Bytes of logs as text that is safe to show."""

from __future__ import annotations

import unicodedata

KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs"})


def escape_controls(text: str) -> str:
    """Text in which every control and format character but line ends and tabs is written out."""
    if text.isprintable():
        return text
    return "".join(
        _escaped(char) if char not in KEPT and unicodedata.category(char) in _HIDDEN else char
        for char in text
    )


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def whole_characters(data: bytes) -> bytes:
    """The data without a last UTF-8 character that is not all there."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = (
            1
            if byte < 0x80
            else 2
            if byte >> 5 == 6
            else 3
            if byte >> 4 == 14
            else 4
            if byte >> 3 == 30
            else 1
        )
        return data[:-back] if length > back else data
    return data
