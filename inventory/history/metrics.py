"""What is kept of whom, in which grains, and the bins by which percentiles merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

HOUR_S = 3600
DAY_S = 24 * HOUR_S
# Below this a bin is one value; above, each octave has half as many bins, so none is wider than 1/32 of its value.
EXACT = 64
_OCTAVES = [EXACT << octave for octave in range(25)]
_SHIFT = 32
_HITS = (1 << _SHIFT) - 1


class Grain(StrEnum):
    """How finely readings are kept."""

    RAW = "raw"
    MINUTE = "minute"
    HOUR = "hour"


# Seconds that one row and one partition stand for; a raw row is one reading.
STEP_S = {Grain.RAW: 1, Grain.MINUTE: 60, Grain.HOUR: HOUR_S}
# Raw readings are kept for so short that a day's partition would keep ten times as much.
PARTITION_S = {Grain.RAW: HOUR_S, Grain.MINUTE: DAY_S, Grain.HOUR: 30 * DAY_S}


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose readings: table prefix, key column, the metrics, and the SQL that yields raw rows by that key."""

    prefix: str
    key: str
    metrics: tuple[str, ...]
    raw: str

    def table(self, grain: Grain) -> str:
        """The partitioned table of one grain."""
        return f"{self.prefix}_{grain.value}"


DEVICE_METRICS = (
    "memory_used_mib", "utilization_pct", "temperature_c", "power_mw", "booked_mib", "booked_milli",
)  # fmt: skip
DEVICE = Subject(
    "inventory_devicehistory", "device_id", DEVICE_METRICS, "SELECT * FROM inventory_devicehistory_raw"
)
NODE = Subject(
    "inventory_nodehistory",
    "node_id",
    ("cpu_used_milli", "memory_used_mib", "load1_milli", "power_mw"),
    "SELECT * FROM inventory_nodehistory_raw",
)
# Whole devices of one node set and model together; only rolled up, since their raw rows are those of the devices.
GROUP = Subject(
    "inventory_grouphistory",
    "group_id",
    DEVICE_METRICS,
    """SELECT device_group.id AS group_id, raw.* FROM inventory_devicehistory_raw AS raw
       JOIN inventory_device AS device ON device.id = raw.device_id
       JOIN inventory_node AS node ON node.id = device.node_id
       JOIN inventory_devicegroup AS device_group
       ON device_group.node_set_id IS NOT DISTINCT FROM node.node_set_id
       AND device_group.model IS NOT DISTINCT FROM device.model
       WHERE device.parent_id IS NULL""",
)
TABLES: tuple[tuple[Subject, Grain], ...] = (
    *((subject, grain) for subject in (DEVICE, NODE) for grain in Grain),
    (GROUP, Grain.MINUTE),
    (GROUP, Grain.HOUR),
)


def bin_sql(value: str) -> str:
    """SQL of the bin of a whole number >= 0, as `bin_of` has it."""
    shift = f"width_bucket({value}, ARRAY{_OCTAVES}::int[])"
    return f"({shift} * 32 + ({value} >> {shift}))"


def packed_sql(bin_: str, hits: str) -> str:
    """SQL of one histogram entry: a bin with its hits in one bigint."""
    return f"(({bin_})::bigint << {_SHIFT} | {hits})"


def unpacked_sql(entry: str) -> tuple[str, str]:
    """SQL of the bin and the hits of an entry."""
    return f"({entry} >> {_SHIFT})", f"({entry} & {_HITS})"


def bin_of(value: int) -> int:
    """The bin of a whole number from 0 to 2^31 - 1."""
    shift = max(0, value.bit_length() - 6)
    return shift * 32 + (value >> shift)


def middle_of(bin_: int) -> float:
    """The value that stands for a bin: exact below EXACT, else within 1.6 %."""
    shift = max(0, bin_ // 32 - 1)
    low = (bin_ - 32 * shift) << shift
    return low + ((1 << shift) - 1) / 2


def percentile(bins: Mapping[int, int], share: float, *, low: int, high: int) -> float | None:
    """Nearest rank over merged bins, never outside of the lowest and highest value seen; None when there is nothing."""
    wanted = share * sum(bins.values())
    seen = 0
    for bin_ in sorted(bins):
        seen += bins[bin_]
        if seen >= wanted:
            return min(float(high), max(float(low), middle_of(bin_)))
    return None
