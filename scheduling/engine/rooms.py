"""What the free devices of every node are worth to the expected jobs; kept for a whole plan, renewed only for nodes
that changed.

The expected shapes that ask the same of devices are one *class* (a line of the arrays here). A device is *of use* to
a class when it could give one piece, and a pool when it has as many such devices as one job of the class takes; its
use is then their free compute, in milli-device. Cores and host memory decide how much of a class a node could feed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from scheduling.engine.filters import device_health, device_model
from scheduling.engine.filters.cut import cut_of
from scheduling.engine.frame import Frame, frame_of, whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.shapes import Demand
from scheduling.engine.types import WHOLE_MILLI, CpuClass, Request

_WEIGHTS_AT_MOST = 1_000_000
_NEVER = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """One class of expected jobs with its relative frequency."""

    demand: Demand
    weight: int


@dataclass(frozen=True, eq=False)
class Feed:
    """What the expected shapes ask of the host, those of one class beside one another; `first` is where each class
    starts.
    """

    weight: Ints
    cores: Ints
    host_mib: Ints
    first: Ints

    def fed(self, cores_free: Ints, host_free: Ints) -> Bools:
        """Per shape and node, whether one job of it finds its cores and its host memory."""
        found: Bools = (self.cores[:, None] <= cores_free) & (self.host_mib[:, None] <= host_free)
        return found

    def weight_by_class(self, cores_free: Ints, host_free: Ints) -> Ints:
        """Per class and node, the weight of the shapes that could be fed there. Most nodes have host memory for every
        shape: there the cores alone decide, by a table over the numbers of cores that shapes ask.
        """
        if not len(self.first):
            return np.zeros((0, len(cores_free)), dtype=np.int64)
        found = self.by_cores[:, np.searchsorted(self.asked_cores, cores_free, side="right")]
        short = np.flatnonzero(host_free < self.most_host_mib)
        if len(short):
            fed = self.fed(cores_free[short], host_free[short]) * self.weight[:, None]
            found[:, short] = np.add.reduceat(fed, self.first, axis=0)
        return found

    @cached_property
    def asked_cores(self) -> Ints:
        """The different numbers of cores that shapes ask, ascending."""
        found: Ints = np.unique(self.cores)
        return found

    @cached_property
    def most_host_mib(self) -> int:
        """Host memory that no shape exceeds."""
        return int(self.host_mib.max(initial=0))

    @cached_property
    def by_cores(self) -> Ints:
        """Per class, the weight of the shapes that are fed with no cores at all (first column), and with as many as
        each of `asked_cores`.
        """
        steps = np.arange(len(self.asked_cores) + 1, dtype=np.int64)
        asked = np.searchsorted(self.asked_cores, self.cores)
        fed = (asked[:, None] < steps) * self.weight[:, None]
        found: Ints = np.add.reduceat(fed, self.first, axis=0)
        return found


class Rooms:
    """Use of the ledger's devices to the expected jobs."""

    def __init__(self, ledger: Ledger, expected: Sequence[Expected]) -> None:
        self.expected = tuple(expected)
        self._ledger = ledger
        on_devices = [e for e in _scaled(expected) if e.demand.wants_devices]
        grouped: dict[Request, list[Expected]] = {}
        for one in on_devices:
            grouped.setdefault(_device_side(one.demand.request), []).append(one)
        self._classes = [shapes[0].demand for shapes in grouped.values()]
        self.count = np.array([max(1, d.request.devices) for d in self._classes], dtype=np.int64)
        self.on_devices = _feed(list(grouped.values()))
        self.on_cpus = _feed([[e for e in _scaled(expected) if not e.demand.wants_devices]])
        self.total_weight = int(self.on_devices.weight.sum() + self.on_cpus.weight.sum())
        self.class_weight = _sum_by(self.on_devices.weight, self.on_devices.first)
        self.device_milli_by_cores = self._appetite(on_devices)
        self._seen = 0
        self._size(ledger)
        self._load(whole_frame(ledger))

    def rebase(self, ledger: Ledger, changed: Ints) -> None:
        """Go on with another ledger over the same rows, in which these nodes are not what they were."""
        self._ledger = ledger
        if len(changed):
            self._load(frame_of(ledger, changed))

    def renew(self) -> None:
        """Bring everything up to the ledger's present version."""
        if self._seen == self._ledger.version or not self.expected:
            return
        changed = np.flatnonzero(self._ledger.versions > self._seen)
        self._seen = self._ledger.version
        if len(changed) == 1:
            self._renew_one(int(changed[0]))
            return
        few = 2 * len(changed) < len(self._ledger.versions)
        frame = frame_of(self._ledger, changed) if few else whole_frame(self._ledger)
        if not len(frame.device):
            return
        free = frame.device.compute_free
        fits = self.fits(frame.devices, frame.device.free, free)
        number = np.add.reduceat(fits, frame.pool_start, axis=1, dtype=np.int64)
        milli = np.add.reduceat(fits * free, frame.pool_start, axis=1)
        use = np.where(number >= self.count[:, None], milli, 0)
        self.fitting[:, frame.devices] = fits
        self.number[:, frame.pools] = number
        self.milli[:, frame.pools] = milli
        self.use[:, frame.nodes] = _sum_by_node(frame, use)
        usable = np.where(frame.device.usable, free, 0)
        by_node = np.bincount(frame.device_node, weights=usable, minlength=len(frame))
        self.free_milli[frame.nodes] = by_node.astype(np.int64)

    def _renew_one(self, node: int) -> None:
        """The same for one node, without a frame."""
        offsets, device = self._ledger.state.offsets, self._ledger.device
        here = slice(int(offsets.device[node]), int(offsets.device[node + 1]))
        pools = slice(int(offsets.pool[node]), int(offsets.pool[node + 1]))
        if here.start == here.stop:
            return
        free = device.compute_free[here]
        fits = free >= self._milli[:, here]
        if self._asks_memory:
            fits &= device.free[here] >= self._memory[:, here]
        self.fitting[:, here] = fits
        size = self._ledger.state.pool.size[pools]
        starts = np.cumsum(size) - size
        number = np.add.reduceat(fits, starts, axis=1, dtype=np.int64)
        milli = np.add.reduceat(fits * free, starts, axis=1)
        self.number[:, pools], self.milli[:, pools] = number, milli
        self.use[:, node] = np.where(number >= self.count[:, None], milli, 0).sum(axis=1)
        self.free_milli[node] = free[device.usable[here]].sum()

    def fits(self, rows: Ints, free: Ints, compute_free: Ints) -> Bools:
        """Per class, whether these devices with these amounts free could give one piece."""
        fits: Bools = compute_free >= self._milli[:, rows]
        if self._asks_memory:
            fits &= free >= self._memory[:, rows]
        return fits

    def change_of_use(self, devices: Ints, memory: Ints, milli: Ints) -> tuple[Ints, Ints]:
        """Per class and row: by how many fewer devices of use the row's pool has once its devices (-1: none) gave
        memory and compute, and by how much less free compute those have.
        """
        given = devices >= 0
        rows = np.where(given, devices, 0)
        device = self._ledger.device
        free = device.compute_free[rows]
        before = self.fitting[:, rows] & given
        after = before & self.fits(rows, device.free[rows] - memory, free - milli)
        gone = before.sum(axis=2) - after.sum(axis=2)
        return gone, (before * free).sum(axis=2) - (after * (free - milli)).sum(axis=2)

    def _size(self, ledger: Ledger) -> None:
        lines, devices = len(self._classes), len(ledger.device)
        pools, nodes = len(ledger.state.pool), len(ledger.state)
        self._milli = np.full((lines, devices), _NEVER, dtype=np.int64)
        self._memory = np.zeros((lines, devices), dtype=np.int64)
        self.fitting = np.zeros((lines, devices), dtype=np.bool_)
        self.number = np.zeros((lines, pools), dtype=np.int64)
        self.milli = np.zeros((lines, pools), dtype=np.int64)
        self.use = np.zeros((lines, nodes), dtype=np.int64)
        self.free_milli = np.zeros(nodes, dtype=np.int64)

    def _load(self, frame: Frame) -> None:
        """What a plan does not change: compute and memory that one piece of each class takes of each device."""
        for line, demand in enumerate(self._classes):
            cut = cut_of(frame, demand, int(self.count[line]))
            device_model.narrow(frame, demand, cut)
            device_health.narrow(frame, demand, cut)
            alone = cut.alone | demand.whole
            unfit = ~cut.devices | (frame.device.total < (-1 if cut.piece is None else cut.piece))
            unfit |= alone & (frame.device.foreign > 0)
            milli = np.where(alone, WHOLE_MILLI, np.maximum(cut.milli, 1))
            self._milli[line, frame.devices] = np.where(unfit, _NEVER, milli)
            self._memory[line, frame.devices] = np.where(alone, 0, cut.need)
        self._asks_memory = bool(self._memory.any())

    def _appetite(self, on_devices: Sequence[Expected]) -> tuple[int, int]:
        """Device-milli and cores that the expected jobs on devices take together: what one core feeds on average."""
        milli = sum(
            e.weight
            * max(1, e.demand.request.devices)
            * (e.demand.request.device_compute_milli or WHOLE_MILLI)
            for e in on_devices
        )
        return milli, sum(e.weight * e.demand.request.cores for e in on_devices)


def _device_side(request: Request) -> Request:
    """The request without all that is no matter of devices."""
    return replace(
        request,
        cores=0,
        cpu_class=CpuClass.AUTO,
        host_memory_mib=None,
        read_bandwidth_mib_s=None,
        node_labels=(),
        node_sets=(),
        image=None,
        image_mib=None,
        datasets=(),
        previous_nodes=(),
        excluded_nodes=(),
    )


def _scaled(expected: Sequence[Expected]) -> list[Expected]:
    """Weights whose sum stays small enough for exact products, each at least 1."""
    total = sum(e.weight for e in expected)
    if total <= _WEIGHTS_AT_MOST:
        return list(expected)
    return [Expected(e.demand, max(1, e.weight * _WEIGHTS_AT_MOST // total)) for e in expected]


def _feed(grouped: Sequence[Sequence[Expected]]) -> Feed:
    shapes = [shape for group in grouped for shape in group]
    sizes = [len(group) for group in grouped if group]
    return Feed(
        weight=np.array([e.weight for e in shapes], dtype=np.int64),
        cores=np.array([e.demand.request.cores for e in shapes], dtype=np.int64),
        host_mib=np.array([e.demand.request.host_memory_mib or 0 for e in shapes], dtype=np.int64),
        first=np.array(list(accumulate([0, *sizes]))[:-1], dtype=np.int64),
    )


def _sum_by(weights: Ints, first: Ints) -> Ints:
    found: Ints = np.add.reduceat(weights, first) if len(first) else weights
    return found


def _sum_by_node(frame: Frame, by_pool: Ints) -> Ints:
    lines, nodes = len(by_pool), len(frame)
    if frame.one_pool_each:
        return by_pool
    at = frame.pool_node + nodes * np.arange(lines, dtype=np.int64)[:, None]
    sums = np.bincount(at.ravel(), weights=by_pool.ravel(), minlength=lines * nodes)
    return sums.astype(np.int64).reshape(lines, nodes)
