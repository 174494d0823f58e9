"""Fragmentation penalty: what the placement does to the chance that the expected jobs still fit; the value is 1 -
harm.

Free device compute is *lost* to an expected job when a node cannot give it that job: no device has the piece free
(2 x 20 GiB do not take 35 GiB), too few devices do, or cores and host memory do not suffice. The expected loss of a
node is the mean over the expected jobs by their frequency, plus 30 % of the compute that its free cores can no longer
feed at the jobs' average appetite. Harm compares the expected loss after the placement with that before: 1/2 when it
stays the same, towards 0 when the placement uses up what was lost anyway, towards 1 when it breaks up room (3/4 when
one device more is lost). On nodes without devices the free cores that are too few for an expected job are what is lost.
"""

from __future__ import annotations

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Ints
from scheduling.engine.rooms import Rooms
from scheduling.engine.rows import Rows
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM, UNKNOWN, WHOLE_MILLI

_UNFED_PERCENT = 30
# A free core on a node without devices counts like this much of a device.
_CORE_MILLI = 125


def value(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> Ints:
    """Per row, in ppm."""
    rooms = scale.rooms
    if not rooms.total_weight:
        return np.full(len(rows), PPM // 2, dtype=np.int64)
    rooms.renew()
    request = demand.request
    host = _Host(
        frame.node.cores_free[rows.node],
        frame.node.host_free[rows.node],
        request.cores,
        request.host_memory_mib or 0,
    )
    grown = _loss_on_devices(frame, rows, rooms, host)
    bare = frame.node.devices_milli[rows.node] == 0
    if bare.any():
        grown = np.where(bare, _loss_on_cpus(rooms, host), grown)
    one_device = WHOLE_MILLI * rooms.total_weight
    found: Ints = PPM // 2 - (PPM // 2) * grown // (np.abs(grown) + one_device)
    return found


class _Host:
    """Free cores and host memory of each row's node, before and after the job has its share."""

    def __init__(self, cores: Ints, host_mib: Ints, asked: int, asked_mib: int) -> None:
        self.before = (cores, host_mib)
        self.after = (cores - asked, host_mib - asked_mib)


def _loss_on_devices(frame: Frame, rows: Rows, rooms: Rooms, host: _Host) -> Ints:
    """By how much the expected loss grows, in milli-device times the weight of all expected jobs."""
    nodes = frame.nodes[rows.node]
    fed_before = rooms.on_devices.weight_by_class(*host.before)
    fed_after = rooms.on_devices.weight_by_class(*host.after)
    use = rooms.use[:, nodes]
    taken = rows.milli.sum(axis=1)
    use_after = use
    if rows.chosen.shape[1]:
        use_after = use - _use_lost(frame, rows, rooms)
    used_less = (fed_before * use - fed_after * use_after).sum(axis=0)
    grown = used_less - taken * rooms.class_weight.sum()
    return grown + _unfed(rooms, nodes, taken, host)


def _use_lost(frame: Frame, rows: Rows, rooms: Rooms) -> Ints:
    """Per class and row, by how much the pool's use falls."""
    pools = frame.pools[rows.pool]
    devices = rows.of_devices(frame.devices, absent=UNKNOWN)
    gone, milli = rooms.change_of_use(devices, rows.memory, rows.milli)
    count, number, before = rooms.count[:, None], rooms.number[:, pools], rooms.milli[:, pools]
    left = np.where(number - gone >= count, before - milli, 0)
    lost: Ints = np.where(number >= count, before, 0) - left
    return lost


def _unfed(rooms: Rooms, nodes: Ints, taken: Ints, host: _Host) -> Ints:
    """Growth of the free compute that the free cores cannot feed."""
    milli, cores = rooms.device_milli_by_cores
    if not cores:
        return np.zeros(len(nodes), dtype=np.int64)
    free = rooms.free_milli[nodes]
    before = np.maximum(free - host.before[0] * milli // cores, 0)
    after = np.maximum(free - taken - host.after[0] * milli // cores, 0)
    found: Ints = (after - before) * rooms.total_weight * _UNFED_PERCENT // 100
    return found


def _loss_on_cpus(rooms: Rooms, host: _Host) -> Ints:
    """The same for nodes without devices, whose free cores are what may be lost."""
    after, before = (
        (rooms.on_cpus.weight[:, None] * ~rooms.on_cpus.fed(*amounts) * amounts[0]).sum(axis=0)
        for amounts in (host.after, host.before)
    )
    found: Ints = (after - before) * _CORE_MILLI
    return found
