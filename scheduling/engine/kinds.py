"""Kinds of what is promised: the models of devices, and cores alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from scheduling.engine.planner import Planner
from scheduling.engine.shapes import demand_of
from scheduling.engine.state import ClusterState
from scheduling.engine.taking import model_of
from scheduling.engine.types import UNKNOWN, PendingJob, Reservation

_CORES = UNKNOWN - 1


def kinds_of(state: ClusterState, places: Iterable[Reservation]) -> frozenset[int]:
    """What these places are: numbers of models, UNKNOWN where nobody knows it, and another for cores alone."""
    return frozenset(model_of(state, place.slices) if place.slices else _CORES for place in places)


def of_open_kinds(planner: Planner, job: PendingJob, full: Collection[int]) -> PendingJob | None:
    """The job as if it asked for none of these kinds; None where it could be of no other."""
    demand = demand_of(job.request, planner.policy)
    if not demand.wants_devices:
        return None if _CORES in full else job
    models = planner.ledger.state.interned.models
    flags = demand.model_flags(models).tolist()
    numbers = [*range(len(flags) - 1), UNKNOWN]
    taken = {number for number, flag in zip(numbers, flags, strict=True) if flag}
    if taken.isdisjoint(full):
        return job
    names = tuple(str(models.values[number]) for number in taken.difference(full) if number != UNKNOWN)
    return replace(job, request=replace(job.request, models=names)) if names else None
