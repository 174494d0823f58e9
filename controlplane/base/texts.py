"""Which characters a name or a sentence may have: none that moves the cursor, turns the reading direction or
is not seen. Pure.
"""

from __future__ import annotations

import unicodedata

# What a text of several lines may have on top.
LINES = "\n\t\r"
# Controls, formats (direction marks, zero width), halves of surrogate pairs, separators of lines and paragraphs.
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def has_control_character(text: str, *, allowed: str = "") -> bool:
    """Whether any character but those allowed is unfit to be stored and shown."""
    return any(_is_refused(char) and char not in allowed for char in text)


def without_control_characters(text: str, *, allowed: str = "") -> str:
    """The text without the characters that are unfit to be stored and shown."""
    return "".join(char for char in text if char in allowed or not _is_refused(char))


def _is_refused(char: str) -> bool:
    return unicodedata.category(char) in _REFUSED
