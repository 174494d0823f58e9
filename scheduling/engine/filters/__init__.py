"""Hard constraints: the order in which filters ask, and what is left of a frame after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.filters import (
    cores,
    device_busy,
    device_compute,
    device_count,
    device_health,
    device_memory_piece,
    device_memory_total,
    device_model,
    device_presence,
    device_size,
    excluded,
    foreign_use,
    host_memory,
    labels,
    no_agent,
    no_container_engine,
    node_paused,
    node_power,
    node_ready,
    node_set,
    observe_only,
    read_bandwidth,
    simulated,
)
from scheduling.engine.filters.cut import Cut, cut_of
from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Bools, Ints
from scheduling.engine.shapes import Demand
from scheduling.engine.types import ReasonCode

# None: the job does not ask what the filter is about.
NodeFilter = Callable[[Frame, Demand], Bools | None]
DeviceFilter = Callable[[Frame, Demand, Cut], None]

CODES: tuple[ReasonCode, ...] = tuple(ReasonCode)
PASSED = len(CODES)
_CODE_NUMBER = {code: number for number, code in enumerate(CODES)}

BEFORE_DEVICES: tuple[tuple[ReasonCode, NodeFilter], ...] = (
    (node_ready.CODE, node_ready.keeps),
    (node_paused.CODE, node_paused.keeps),
    (excluded.CODE, excluded.keeps),
    (no_agent.CODE, no_agent.keeps),
    (observe_only.CODE, observe_only.keeps),
    (simulated.CODE, simulated.keeps),
    (node_set.CODE, node_set.keeps),
    (labels.CODE, labels.keeps),
    (no_container_engine.CODE, no_container_engine.keeps),
)
ON_DEVICES: tuple[tuple[ReasonCode, DeviceFilter], ...] = (
    (device_presence.CODE, device_presence.narrow),
    (device_model.CODE, device_model.narrow),
    (device_health.CODE, device_health.narrow),
    (device_size.CODE, device_size.narrow),
    (device_count.CODE, device_count.narrow),
    (device_busy.CODE, device_busy.narrow),
    (device_compute.CODE, device_compute.narrow),
    (device_memory_total.CODE, device_memory_total.narrow),
    (device_memory_piece.CODE, device_memory_piece.narrow),
    (foreign_use.CODE, foreign_use.narrow),
)
AFTER_DEVICES: tuple[tuple[ReasonCode, NodeFilter], ...] = (
    (cores.TOTAL_CODE, cores.keeps_total),
    (cores.FREE_CODE, cores.keeps_free),
    (host_memory.TOTAL_CODE, host_memory.keeps_total),
    (host_memory.FREE_CODE, host_memory.keeps_free),
    (read_bandwidth.CODE, read_bandwidth.keeps),
)
# Not about single nodes: the planner asks them of what all the others left.
OF_THE_CLUSTER: tuple[ReasonCode, ...] = (
    ReasonCode.POWER_CAP,
    ReasonCode.QUEUE_CAP,
    ReasonCode.TEAM_QUOTA,
    ReasonCode.MEMBER_SHARE,
    ReasonCode.GANG,
    ReasonCode.RESERVED,
)


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """Per node the number of the filter that removed it, or PASSED; the cuts (one per number of devices tried) as the
    filters left them, which stop asking once no node is left.
    """

    verdicts: Ints
    cuts: tuple[Cut, ...]

    def passed(self) -> Bools:
        """Nodes that every filter kept."""
        return self.verdicts == PASSED


def before_devices(frame: Frame, demand: Demand) -> Ints:
    """Verdicts of the filters that no booking changes."""
    verdicts = np.full(len(frame), PASSED, dtype=np.int64)
    for code, keeps in BEFORE_DEVICES:
        _remove(verdicts, keeps(frame, demand), code)
    return verdicts


def run(frame: Frame, demand: Demand, before: Ints | None = None) -> Filtered:
    """Ask every filter in the order of ReasonCode; a node belongs to the first that removes it. `before` are the known
    verdicts of `before_devices`.
    """
    verdicts = before_devices(frame, demand) if before is None else before.copy()
    cuts: Sequence[Cut] = ()
    if demand.wants_devices:
        cuts = open_cuts(frame, demand)
        for code, narrow in ON_DEVICES:
            if not (verdicts == PASSED).any():
                break
            _narrow(frame, demand, cuts, narrow)
            _remove(verdicts, frame.any_pool(_pools(frame, cuts)), code)
    for code, keeps in AFTER_DEVICES:
        _remove(verdicts, keeps(frame, demand), code)
    if node_power.matters(frame):
        _narrow(frame, demand, cuts, node_power.narrow)
        kept = frame.any_pool(_pools(frame, cuts)) if cuts else node_power.keeps(frame, demand)
        _remove(verdicts, kept, node_power.CODE)
    return Filtered(verdicts, tuple(cuts))


def open_cuts(frame: Frame, demand: Demand) -> Sequence[Cut]:
    """One fresh cut per number of devices to try, least first."""
    largest = int(frame.pool.size.max(initial=0))
    cuts = [cut_of(frame, demand, count) for count in demand.device_counts(largest)]
    if len(cuts) > 1:
        # A number that a pool cannot have is no answer for it; else verdicts would depend on other nodes' pools.
        for cut in cuts:
            cut.pools = frame.pool.size >= cut.count
    return cuts


def narrow_until(frame: Frame, demand: Demand, cut: Cut, code: ReasonCode) -> None:
    """Let the device filters before `code` narrow the cut (all of them for a later code)."""
    for passed, narrow in ON_DEVICES:
        if passed is code:
            return
        narrow(frame, demand, cut)


def counts(verdicts: Ints) -> Ints:
    """How many nodes each filter removed, by filter number; the last entry counts those that passed."""
    return np.bincount(verdicts, minlength=PASSED + 1).astype(np.int64)


def number_of(code: ReasonCode) -> int:
    """The place of a filter in the order."""
    return _CODE_NUMBER[code]


def _remove(verdicts: Ints, kept: Bools | None, code: ReasonCode) -> None:
    if kept is not None:
        verdicts[(verdicts == PASSED) & ~kept] = _CODE_NUMBER[code]


def _narrow(frame: Frame, demand: Demand, cuts: Sequence[Cut], narrow: DeviceFilter) -> None:
    for cut in cuts:
        narrow(frame, demand, cut)


def _pools(frame: Frame, cuts: Sequence[Cut]) -> Bools:
    if len(cuts) == 1:
        return cuts[0].pools
    left = np.zeros(len(frame.pools), dtype=np.bool_)
    for cut in cuts:
        left |= cut.pools
    return left
