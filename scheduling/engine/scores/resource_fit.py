"""Resource fit: the device suits the demand - close in size, no scarcer than needed, and what is left over is usable.

40 % closeness, 40 % scarcity, 20 % left-over; half of it when a chosen device is suspect, so that healthy devices are
preferred.
"""

from __future__ import annotations

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Ints, ratio_ppm
from scheduling.engine.rows import Rows
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM

_USABLE_PART = 8


def value(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> Ints:
    """Per row, in ppm."""
    if not demand.wants_devices:
        return _spared_devices(frame, rows)
    fit = (
        40 * _closeness(frame, demand, rows)
        + 40 * _plainness(frame, rows, scale)
        + 20 * _left_over(frame, demand, rows)
    )
    suspect = (frame.device.suspect[rows.chosen] & rows.given).any(axis=1)
    return np.where(suspect, fit // 200, fit // 100)


def _spared_devices(frame: Frame, rows: Rows) -> Ints:
    """CPU-only jobs belong on nodes without free accelerators: PPM less the free share of the node's device compute."""
    free = np.bincount(frame.device_node, weights=frame.device.compute_free, minlength=len(frame)).astype(
        np.int64
    )
    total = frame.node.devices_milli[rows.node]
    return np.where(total > 0, PPM - ratio_ppm(free[rows.node], total), PPM)


def _closeness(frame: Frame, demand: Demand, rows: Rows) -> Ints:
    """Asked memory (else compute) as a share of what the chosen devices have free; for whole devices, of their size."""
    given = rows.given
    asked = demand.request.device_memory_mib
    if asked is None:
        had = np.where(given, rows.of_devices(frame.device.compute_free), 0).sum(axis=1)
        return ratio_ppm(rows.milli.sum(axis=1), had)
    pieces = given.sum(axis=1)
    wanted = np.full(len(rows), asked, dtype=np.int64) if demand.request.splittable else asked * pieces
    column = frame.device.total if demand.whole else frame.device.free
    return ratio_ppm(wanted, rows.of_devices(column).sum(axis=1))


def _plainness(frame: Frame, rows: Rows, scale: Scale) -> Ints:
    """Scarce devices are not spent on jobs that a lesser one serves: PPM less the model's worth in this cluster."""
    return PPM - scale.worth_ppm[frame.pool.model[rows.pool]]


def _left_over(frame: Frame, demand: Demand, rows: Rows) -> Ints:
    """What stays free on the worst of the chosen devices: nothing or an eighth of the device counts full, a sliver
    little.
    """
    if demand.whole:
        return np.full(len(rows), PPM, dtype=np.int64)
    left = rows.of_devices(frame.device.free) - rows.memory
    usable = np.maximum(rows.of_devices(frame.device.allocatable), 0) // _USABLE_PART
    part = np.where((left <= 0) | ~rows.given, PPM, ratio_ppm(left, usable))
    return part.min(axis=1)
