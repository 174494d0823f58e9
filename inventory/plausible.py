"""Which readings and facts can be true; anything else becomes unknown (null), never 0 and never a peak."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds of a quantity, in its own unit."""

    low: int
    high: int

    def clean(self, value: object) -> int | None:
        """The value as an int when it is one and lies inside, else None."""
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if self.low <= value <= self.high else None


DEVICE_MEMORY_MIB = Range(1, 16 * 1024 * 1024)
DEVICE_USED_MIB = Range(0, 16 * 1024 * 1024)
HOST_MEMORY_MIB = Range(1, 1024 * 1024 * 1024)
HOST_USED_MIB = Range(0, 1024 * 1024 * 1024)
UTILIZATION_PCT = Range(0, 100)
# 0 is what several drivers answer for "cannot read"; no running machine is below it.
TEMPERATURE_C = Range(1, 150)
DEVICE_POWER_MW = Range(0, 5_000_000)
NODE_POWER_MW = Range(0, 100_000_000)
POWER_LIMIT_W = Range(1, 5_000)
COMPUTE_UNITS = Range(1, 1_000_000)
CPU_USED_MILLI = Range(0, 10_000_000)
LOAD_MILLI = Range(0, 1_000_000_000)
CPU_ID = Range(0, 65_535)
NUMA_ID = Range(0, 4_095)
NUMA_DISTANCE = Range(0, 65_535)
CPU_MHZ = Range(1, 20_000)
DEVICE_INDEX = Range(0, 65_535)
COMPUTE_MILLI = Range(1, 1000)
IMAGE_MIB = Range(0, 64 * 1024 * 1024)
LINK_LANES = Range(1, 1_024)
LINK_MB_S = Range(1, 100_000_000)
# Ten years either way: a node may believe the wrong year, but 2^63 is no clock.
CLOCK_US = Range(-315_360_000_000_000, 315_360_000_000_000)
