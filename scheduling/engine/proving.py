"""Whether places that were promised to a job would serve it at some moment: all filters and caps, on just these devices
and cores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduling.engine import filters
from scheduling.engine.allocation import Allocation
from scheduling.engine.frame import frame_of
from scheduling.engine.holders import Holder
from scheduling.engine.ledger import Ledger
from scheduling.engine.planner import Planner
from scheduling.engine.quantities import drawn_uw
from scheduling.engine.quota import Quotas
from scheduling.engine.shapes import Demand, demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.taking import allocation_of, as_far_as_free, model_of
from scheduling.engine.types import WHOLE_MILLI, PendingJob, Placed, Reservation


def serve_then(planner: Planner, places: Sequence[Reservation], job: PendingJob | None) -> bool:
    """Whether the job would start at exactly these places in the cluster that the planner sees, whose ledger is used
    up by that. Where the job is not known (None), what it asks of nodes and devices is not judged.
    """
    demand = None if job is None else demand_of(job.request, planner.policy)
    if not within_caps(planner.ledger.state, planner.quotas, places):
        return False
    for place in places:
        try:
            rows = allocation_of(planner.ledger.state, place)
        except KeyError:
            return False
        if len(rows.cpus) < len(place.cpus) or not _takes(planner, rows, demand):
            return False
        planner.ledger.take(as_far_as_free(planner.ledger, rows))
    return True


def cost_of(state: ClusterState, place: Placed | Reservation) -> tuple[int, int, bool]:
    """What a place counts under caps: the model of its devices, milli-device or milli-core, and whether of cores."""
    cores = not place.slices
    milli = WHOLE_MILLI * len(place.cpus) if cores else sum(part.compute_milli for part in place.slices)
    return model_of(state, place.slices), milli, cores


def within_caps(state: ClusterState, quotas: Quotas | None, places: Sequence[Reservation]) -> bool:
    """Whether these places of one job stay within its caps, which are used up by that."""
    if quotas is None:
        return True
    holder = Holder(places[0].queue, places[0].team, places[0].owner)
    return quotas.take_within(holder, [cost_of(state, place) for place in places])


def _takes(planner: Planner, rows: Allocation, demand: Demand | None) -> bool:
    ledger, room_uw = planner.ledger, planner.room_uw()
    if not ledger.cpu.free[rows.cpus].all() or not ledger.device.usable[rows.devices].all():
        return False
    added_uw = drawn_uw(
        limits_mw=ledger.device.power_mw[rows.devices],
        milli=rows.compute_milli,
        core_mw=int(ledger.node.core_mw[rows.node]),
        cores=len(rows.cpus),
    )
    if room_uw is not None and added_uw > room_uw:
        return False
    return _has_room(ledger, rows) if demand is None else _passes(ledger, rows, demand)


def _has_room(ledger: Ledger, rows: Allocation) -> bool:
    left = as_far_as_free(ledger, rows)
    whole = (left.memory_mib == rows.memory_mib).all() and (left.compute_milli == rows.compute_milli).all()
    host = (left.host_memory_mib, left.read_bandwidth_mib_s) == (
        rows.host_memory_mib,
        rows.read_bandwidth_mib_s,
    )
    takes_jobs = ledger.node.ready[rows.node] and not ledger.node.observe_only[rows.node]
    return bool(whole and host and takes_jobs)


def _passes(ledger: Ledger, rows: Allocation, demand: Demand) -> bool:
    """Every filter, as if the node had these devices only."""
    usable = ledger.device.usable
    ledger.device.usable = np.zeros(len(usable), dtype=np.bool_)
    ledger.device.usable[rows.devices] = True
    frame = frame_of(ledger, np.array([rows.node], dtype=np.int64))
    passed = bool(filters.run(frame, demand).passed().all())
    ledger.device.usable = usable
    return passed
