"""Score sheets and refusals as stored JSON: the engine's frozen types, written field by field and read back
the same.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scheduling.engine.types import Placed, Refusal


def encode_sheet(sheet: Placed | Refusal) -> dict[str, Any]:
    """Plain JSON values."""
    plain: dict[str, Any] = msgspec.to_builtins(sheet)
    return plain


def decode_placed(plain: dict[str, Any]) -> Placed:
    """A stored score sheet."""
    return msgspec.convert(plain, Placed)


def decode_refusal(plain: dict[str, Any]) -> Refusal:
    """A stored refusal."""
    return msgspec.convert(plain, Refusal)
