"""Amounts of memory as people write them, read exactly or refused: pure."""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction

MIB = 1024 * 1024
# Single letters ("5k", "8G") are left out on purpose: some tools mean 10^9 by them and some 2^30.
BYTES_PER_UNIT = {
    "kib": 1024,
    "ki": 1024,
    "mib": MIB,
    "mi": MIB,
    "gib": 1024 * MIB,
    "gi": 1024 * MIB,
    "tib": 1024 * 1024 * MIB,
    "ti": 1024 * 1024 * MIB,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
LONGEST_QUANTITY = 40
_QUANTITY = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)[ ]*(?P<unit>[A-Za-z]*)", re.ASCII)


class QuantityFault(StrEnum):
    """Why a text is no amount of memory."""

    NOT_A_QUANTITY = "not-a-quantity"
    UNIT_MISSING = "unit-missing"
    UNIT = "unit"


def read_mib(text: str) -> int | QuantityFault:
    """Whole MiB of "8Gi", "8000Mi", "8000 MB"; MB, GB, TB are powers of ten, and a broken MiB counts as a
    whole one (never less than asked).
    """
    match = _QUANTITY.fullmatch(text.strip(" ")) if len(text) <= LONGEST_QUANTITY else None
    if match is None:
        return QuantityFault.NOT_A_QUANTITY
    unit = match["unit"].lower()
    if not unit:
        return QuantityFault.UNIT_MISSING
    if unit not in BYTES_PER_UNIT:
        return QuantityFault.UNIT
    exact = Fraction(match["number"]) * BYTES_PER_UNIT[unit] / MIB
    return -(-exact.numerator // exact.denominator)
