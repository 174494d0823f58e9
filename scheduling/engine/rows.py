"""Candidate rows: one per pool that can serve a job (one per node for a CPU-only job), with the devices it would
give.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.types import UNKNOWN

# Positions below this fit into an int64 as bits; larger pools take the slow way.
MASK_BITS = 62


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """`node` and `pool` are rows of the frame (`pool` UNKNOWN for CPU-only jobs).

    `chosen`, `memory` and `milli` have one column per device, padded with UNKNOWN / 0 where a row gives fewer;
    `given` marks real entries.
    """

    node: Ints
    pool: Ints
    chosen: Ints
    memory: Ints
    milli: Ints

    def __len__(self) -> int:
        return len(self.node)

    @property
    def given(self) -> Bools:
        """Which entries of `chosen` are devices."""
        return self.chosen >= 0

    def of_devices(self, column: Ints, absent: int = 0) -> Ints:
        """A device column at the chosen devices; `absent` where there is none."""
        if self.chosen.shape[1] == 0 or len(column) == 0:
            return np.full(self.chosen.shape, absent, dtype=np.int64)
        return np.where(self.given, column[self.chosen], absent)

    def position_masks(self, frame: Frame) -> list[int]:
        """The chosen positions of each row's pool as a bit mask."""
        positions = np.where(self.given, self.chosen - frame.pool_start[self.pool][:, None], UNKNOWN)
        if positions.max(initial=0) < MASK_BITS:
            bits = np.where(self.given, np.int64(1) << np.maximum(positions, 0), 0)
            masks: list[int] = bits.sum(axis=1).tolist()
            return masks
        return [sum(1 << p for p in line if p >= 0) for line in positions.tolist()]


def rows_of_nodes(nodes: Ints) -> Rows:
    """Rows of a job that needs no device."""
    none = np.empty((len(nodes), 0), dtype=np.int64)
    return Rows(nodes, np.full(len(nodes), UNKNOWN, dtype=np.int64), none, none, none)


def near_slots(frame: Frame, rows: Rows) -> Ints:
    """NUMA slots of the chosen devices, per row ascending, each once; -1 where a device has no preference or there
    are fewer.
    """
    slots = np.sort(rows.of_devices(frame.device_slot, absent=-1), axis=1)
    if slots.shape[1] > 1:
        slots[:, 1:][slots[:, 1:] == slots[:, :-1]] = -1
    return slots
