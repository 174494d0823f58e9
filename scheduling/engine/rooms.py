"""How many of each expected shape every node could still take; kept for the whole plan, renewed only for nodes that
changed.

Arrays have one line per expected shape. Fits are limited by devices and their memory here, by cores and host memory
in `host_fits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.filters import device_health, device_model
from scheduling.engine.filters.cut import Cut, cut_of
from scheduling.engine.frame import Frame, frame_of, whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.shapes import Demand
from scheduling.engine.types import WHOLE_MILLI

_UNLIMITED = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """One class of expected jobs with its relative frequency."""

    demand: Demand
    weight: int


class Rooms:
    """Room for the expected shapes on the ledger's nodes. `size_milli` is what one fit takes of a node's devices."""

    def __init__(self, ledger: Ledger, expected: Sequence[Expected]) -> None:
        self.expected = tuple(expected)
        self._ledger = ledger
        shapes = [e.demand for e in expected]
        self.weight = np.array([e.weight for e in expected], dtype=np.int64)
        self.count = np.array([max(1, shape.request.devices) for shape in shapes], dtype=np.int64)
        self.wants_devices = np.array([shape.wants_devices for shape in shapes], dtype=np.bool_)
        self.cores = np.array([shape.request.cores for shape in shapes], dtype=np.int64)
        self.host_mib = np.array([shape.request.host_memory_mib or 0 for shape in shapes], dtype=np.int64)
        frame = whole_frame(ledger)
        self._statics = _Statics.of(frame, shapes)
        self.size_milli = _sizes(frame, self._statics) * self.count[:, None]
        self.copies = np.zeros((len(shapes), len(frame.device)), dtype=np.int64)
        self.by_pool = np.zeros((len(shapes), len(frame.pools)), dtype=np.int64)
        self.by_node = np.zeros((len(shapes), len(frame)), dtype=np.int64)
        self._seen = 0

    def renew(self) -> None:
        """Bring the fits up to the ledger's present version."""
        if self._seen == self._ledger.version or not self.expected:
            return
        changed = np.flatnonzero(self._ledger.versions > self._seen)
        few = 2 * len(changed) < len(self._ledger.versions)
        frame = frame_of(self._ledger, changed) if few else whole_frame(self._ledger)
        if len(frame.device):
            copies = self._copies(frame.devices, frame.device.free, frame.device.compute_free)
            by_pool = np.add.reduceat(copies, frame.pool_start, axis=1)
            self.copies[:, frame.devices] = copies
            self.by_pool[:, frame.pools] = by_pool
            self.by_node[:, frame.nodes] = _sum_by_node(frame, by_pool // self.count[:, None])
        self._seen = self._ledger.version

    def lost_fits(self, *, devices: Ints, pools: Ints, memory: Ints, milli: Ints) -> Ints:
        """Per shape and row: how many fewer fit into the row's pool once its devices (-1: none) gave memory and
        compute.
        """
        if devices.shape[1] == 0:
            return np.zeros((len(self.expected), len(devices)), dtype=np.int64)
        given = devices >= 0
        rows = np.where(given, devices, 0)
        device = self._ledger.device
        left = self._copies(rows, device.free[rows] - memory, device.compute_free[rows] - milli)
        gone = np.where(given, self.copies[:, rows] - left, 0).sum(axis=2)
        before = self.by_pool[:, pools]
        count = self.count[:, None]
        lost: Ints = before // count - (before - gone) // count
        return lost

    def host_fits(self, *, cores_free: Ints, host_free: Ints) -> Ints:
        """Per shape and row: how many of it these cores and this host memory could feed."""
        by_cores = np.where(
            self.cores[:, None] > 0, cores_free // np.maximum(self.cores, 1)[:, None], _UNLIMITED
        )
        by_host = np.where(
            self.host_mib[:, None] > 0, host_free // np.maximum(self.host_mib, 1)[:, None], _UNLIMITED
        )
        fits: Ints = np.maximum(np.minimum(by_cores, by_host), 0)
        return fits

    def _copies(self, rows: Ints, free: Ints, compute_free: Ints) -> Ints:
        """How many pieces of each shape fit on these devices with these amounts free."""
        fixed = self._statics
        idle = (compute_free == WHOLE_MILLI) & fixed.clean[:, rows]
        by_compute = np.maximum(compute_free, 0) // fixed.milli[:, rows]
        memory, need = fixed.memory[:, rows], fixed.need[:, rows]
        by_memory = np.where(free >= need, (free - need) // np.maximum(memory, 1) + 1, 0)
        shared = np.where(memory > 0, np.minimum(by_compute, by_memory), by_compute)
        copies = np.where(fixed.alone[:, rows], idle, shared)
        found: Ints = np.where(fixed.open[:, rows], copies, 0)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Statics:
    """What a plan does not change, per shape and device; `alone` covers whole-device shapes, too."""

    need: Ints
    memory: Ints
    milli: Ints
    alone: Bools
    clean: Bools
    open: Bools

    @classmethod
    def of(cls, frame: Frame, shapes: Sequence[Demand]) -> _Statics:
        cuts = [_open_cut(frame, shape) for shape in shapes]
        size = (len(shapes), len(frame.device))
        ints, bools = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.bool_)
        found = cls(ints.copy(), ints.copy(), ints + 1, bools.copy(), bools.copy(), bools.copy())
        for line, (shape, cut) in enumerate(zip(shapes, cuts, strict=True)):
            found.need[line], found.memory[line] = cut.need, cut.memory
            found.milli[line] = np.maximum(cut.milli, 1)
            found.alone[line] = cut.alone | shape.whole
            found.clean[line] = (frame.device.foreign == 0) & (frame.device.total >= (cut.piece or -1))
            found.open[line] = cut.devices & shape.wants_devices
        return found


def _open_cut(frame: Frame, shape: Demand) -> Cut:
    cut = cut_of(frame, shape, max(1, shape.request.devices))
    device_model.narrow(frame, shape, cut)
    device_health.narrow(frame, shape, cut)
    return cut


def _sizes(frame: Frame, fixed: _Statics) -> Ints:
    """Compute of one piece on the node's most demanding open device."""
    largest = np.zeros((len(fixed.milli), len(frame)), dtype=np.int64)
    for line in range(len(fixed.milli)):
        np.maximum.at(largest[line], frame.device_node, np.where(fixed.open[line], fixed.milli[line], 0))
    return largest


def _sum_by_node(frame: Frame, by_pool: Ints) -> Ints:
    lines, nodes = len(by_pool), len(frame)
    at = frame.pool_node + nodes * np.arange(lines, dtype=np.int64)[:, None]
    sums = np.bincount(at.ravel(), weights=by_pool.ravel(), minlength=lines * nodes)
    return sums.astype(np.int64).reshape(lines, nodes)
