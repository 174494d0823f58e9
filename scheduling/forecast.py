"""How much capacity will be free: what is free now, what comes back at expected ends, less what is promised. Pure.

What is held by something whose end nobody knows is told apart: it is not free, and may be sooner than anybody thinks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from scheduling.engine.columns import usable
from scheduling.engine.types import WHOLE_MILLI, NodeInfo, SliceChoice

HOUR_MS = 3_600_000


class Holding(Protocol):
    """Devices and cores of one node."""

    @property
    def node(self) -> int: ...

    @property
    def slices(self) -> tuple[SliceChoice, ...]: ...

    @property
    def cpus(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Start:
    """A place that is promised from a moment on; `ends_at_ms` None when nobody knows how long its job runs."""

    at_ms: int
    place: Holding
    ends_at_ms: int | None


@dataclass(frozen=True)
class Point:
    """What should be free at a moment at least, in milli-device, whole devices and cores; `unknown` is held, until
    nobody knows when.
    """

    at_ms: int
    free_milli: int
    free_devices: int
    free_cores: int
    unknown_milli: int
    unknown_cores: int


def moments(now_ms: int, hours: int) -> list[int]:
    """Now, and every full hour after it."""
    first = (now_ms // HOUR_MS + 1) * HOUR_MS
    return [now_ms, *(first + HOUR_MS * number for number in range(hours))]


def forecast(
    nodes: Iterable[NodeInfo],
    ends: Iterable[tuple[int, Holding]],
    starts: Iterable[Start],
    *,
    at_ms: Sequence[int],
    model: Callable[[str | None], bool] = lambda model: True,
) -> list[Point]:
    """One point a moment, in their order. `ends` are the known ends of what runs. Only devices whose model passes."""
    book = _Book.of(nodes, model)
    changes: list[tuple[int, int, Callable[[], None]]] = []
    for ends_at_ms, held in ends:
        book.know(held)
        changes.append((ends_at_ms, 0, partial(book.release, held)))
    for start in starts:
        known = start.ends_at_ms is not None
        changes.append((start.at_ms, 1, partial(book.take, start.place, known=known)))
        if start.ends_at_ms is not None:
            changes.append((start.ends_at_ms, 2, partial(book.release, start.place)))
    changes.sort(key=lambda change: change[:2])
    points, done = [], 0
    for moment in at_ms:
        while done < len(changes) and changes[done][0] <= moment:
            changes[done][2]()
            done += 1
        points.append(book.point(moment))
    return points


@dataclass
class _Book:
    """What is booked of every device, by device, and the CPUs of every node that are taken. More may be promised of a
    device than it has: so much is not free below 0.
    """

    booked: dict[int, int] = field(default_factory=dict)
    # Devices with memory that somebody else uses are free for shares only.
    shared: set[int] = field(default_factory=set)
    taken: dict[int, dict[int, int]] = field(default_factory=dict)
    cores: Mapping[int, Collection[int]] = field(default_factory=dict)
    unknown_milli: int = 0
    unknown_cores: int = 0

    @classmethod
    def of(cls, nodes: Iterable[NodeInfo], model: Callable[[str | None], bool]) -> _Book:
        book, cores = cls(), {}
        for info in nodes:
            if info.not_ready is not None or info.observe_only:
                continue
            takes = usable(info.devices)
            for device in info.devices:
                if device.device in takes and model(device.model):
                    book.booked[device.device] = device.compute_booked_milli
                    if device.foreign_mib:
                        book.shared.add(device.device)
            mine = [cpu for cpu in info.cpus if cpu.online and not cpu.reserved]
            cores[info.node] = frozenset(cpu.cpu for cpu in mine)
            book.taken[info.node] = defaultdict(int, {cpu.cpu: 1 for cpu in mine if cpu.booked})
        book.cores = cores
        book.unknown_milli = sum(book.booked.values())
        book.unknown_cores = sum(len(cpus) for cpus in book.taken.values())
        return book

    def know(self, held: Holding) -> None:
        self.unknown_milli -= self._milli(held)
        self.unknown_cores -= len(self._cpus(held))

    def release(self, held: Holding) -> None:
        for part in held.slices:
            if part.device in self.booked:
                self.booked[part.device] -= part.compute_milli
        for cpu in self._cpus(held):
            self.taken[held.node][cpu] -= 1

    def take(self, held: Holding, *, known: bool) -> None:
        for part in held.slices:
            if part.device in self.booked:
                self.booked[part.device] += part.compute_milli
        for cpu in self._cpus(held):
            self.taken[held.node][cpu] += 1
        if not known:
            self.unknown_milli += self._milli(held)
            self.unknown_cores += len(self._cpus(held))

    def point(self, at_ms: int) -> Point:
        free = {device: max(0, WHOLE_MILLI - max(0, milli)) for device, milli in self.booked.items()}
        return Point(
            at_ms=at_ms,
            free_milli=sum(free.values()),
            free_devices=sum(milli == WHOLE_MILLI and dev not in self.shared for dev, milli in free.items()),
            free_cores=sum(
                len(cpus) - sum(count > 0 for count in self.taken[node].values())
                for node, cpus in self.cores.items()
            ),
            unknown_milli=max(0, self.unknown_milli),
            unknown_cores=max(0, self.unknown_cores),
        )

    def _milli(self, held: Holding) -> int:
        return sum(part.compute_milli for part in held.slices if part.device in self.booked)

    def _cpus(self, held: Holding) -> list[int]:
        return [cpu for cpu in held.cpus if cpu in self.cores.get(held.node, ())]
