"""What teams of one queue have had of late: use that decays, as the share of the cluster that it dominates."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from scheduling.engine.types import PPM

# Use is counted in milli x ms; a month of a million devices is below 2^62.
_BITS = 62
_STEPS = 20


def _roots() -> tuple[int, ...]:
    """2 to the power of -1/2, -1/4, -1/8 .. as fixed-point numbers, the same on every machine."""
    roots, root = [], 1 << (_BITS - 1)
    for _step in range(_STEPS):
        root = isqrt(root << _BITS)
        roots.append(root)
    return tuple(roots)


_ROOTS = _roots()
# A steady use builds up to 1 / ln 2 half-lives of itself.
_LASTING_NUM, _LASTING_DEN = 1_442_695, 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Decayed use of devices and cores, in milli x ms."""

    device_milli_ms: int = 0
    core_milli_ms: int = 0

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            self.device_milli_ms + other.device_milli_ms,
            self.core_milli_ms + other.core_milli_ms,
        )

    def decayed(self, elapsed_ms: int, *, half_life_ms: int) -> Usage:
        """What is left of it after that time."""
        return Usage(
            decayed(self.device_milli_ms, elapsed_ms, half_life_ms=half_life_ms),
            decayed(self.core_milli_ms, elapsed_ms, half_life_ms=half_life_ms),
        )


@dataclass(frozen=True, slots=True)
class Whole:
    """What there is to share: milli-device and milli-core."""

    device_milli: int
    core_milli: int


def decayed(amount: int, elapsed_ms: int, *, half_life_ms: int) -> int:
    """`amount` x 2^(-elapsed / half-life), rounded down, in integers alone; times before 0 count as 0."""
    if half_life_ms < 1:
        raise ValueError("half_life_ms: must be at least 1")
    halvings, rest = divmod(max(0, elapsed_ms), half_life_ms)
    factor = 1 << _BITS
    for root in _ROOTS:
        rest *= 2
        if rest >= half_life_ms:
            rest -= half_life_ms
            factor = (factor * root) >> _BITS
    return (amount * factor) >> min(_BITS + halvings, _BITS + amount.bit_length() + 1)


def dominant_share_ppm(usage: Usage, whole: Whole, *, half_life_ms: int) -> int:
    """The larger of the shares of devices and cores: who steadily uses a quarter of either has 250,000. What the
    cluster has nothing of does not count.
    """
    lasting_ms = max(1, half_life_ms * _LASTING_NUM // _LASTING_DEN)
    parts = ((usage.device_milli_ms, whole.device_milli), (usage.core_milli_ms, whole.core_milli))
    return max((used * PPM // (there * lasting_ms) for used, there in parts if there > 0), default=0)
