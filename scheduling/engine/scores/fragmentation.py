"""Fragmentation penalty: what the placement does to the chance that the expected jobs still fit; the value is 1 -
harm.

For each expected shape, harm compares the room it loses on the node (how many fewer of it fit, times its size) with
what the job itself takes: loss / (loss + taken), so 0 when the job only uses room that the shape could not use, 1/2
when it takes just its own size, and towards 1 when it breaks up room for much larger jobs. Fits are limited by
devices, their memory, cores and host memory alike, so cores that leave devices stranded count as lost room, too. Harm
is the mean over the expected shapes by their frequency. Sizes are in milli-device; a job's cores count as the share
of the node's devices that they could feed.
"""

from __future__ import annotations

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Ints
from scheduling.engine.rows import Rows
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM, UNKNOWN

_CORE_MILLI = 1000


def value(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> Ints:
    """Per row, in ppm."""
    rooms = scale.rooms
    if not rooms.expected:
        return np.full(len(rows), PPM, dtype=np.int64)
    rooms.renew()
    nodes = frame.nodes[rows.node]
    before, after = _host_fits(frame, demand, rows, scale)
    fits = rooms.by_node[:, nodes]
    lost = np.minimum(fits, before) - np.minimum(fits - _lost_on_devices(frame, rows, scale), after)
    on_devices = rooms.wants_devices[:, None]
    loss = np.where(
        on_devices, lost * rooms.size_milli[:, nodes], (before - after) * rooms.cores[:, None] * _CORE_MILLI
    )
    own = np.where(on_devices, _taken_milli(frame, demand, rows), demand.request.cores * _CORE_MILLI)
    harm = PPM * loss // np.maximum(loss + own, 1)
    mean: Ints = (rooms.weight[:, None] * harm).sum(axis=0) // rooms.weight.sum()
    return PPM - mean


def _host_fits(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> tuple[Ints, Ints]:
    """Fits by cores and host memory, now and once the job has its share."""
    cores, host = frame.node.cores_free[rows.node], frame.node.host_free[rows.node]
    before = scale.rooms.host_fits(cores_free=cores, host_free=host)
    after = scale.rooms.host_fits(
        cores_free=cores - demand.request.cores, host_free=host - (demand.request.host_memory_mib or 0)
    )
    return before, after


def _lost_on_devices(frame: Frame, rows: Rows, scale: Scale) -> Ints:
    devices = rows.of_devices(frame.devices, absent=UNKNOWN)
    pools = np.where(rows.pool == UNKNOWN, UNKNOWN, frame.pools[rows.pool]) if len(frame.pools) else rows.pool
    return scale.rooms.lost_fits(devices=devices, pools=pools, memory=rows.memory, milli=rows.milli)


def _taken_milli(frame: Frame, demand: Demand, rows: Rows) -> Ints:
    """Device compute the job takes, or the part that its cores could feed if that is more."""
    cores_total = np.maximum(frame.node.cores_total, 1)
    fed = demand.request.cores * frame.node.devices_milli // cores_total
    return np.maximum(np.maximum(rows.milli.sum(axis=1), fed[rows.node]), 1)
