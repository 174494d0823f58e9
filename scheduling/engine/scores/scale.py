"""What all score terms are measured against during one plan: the policy, the expected jobs, the worth of models in
this cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scheduling.engine.quantities import Ints
from scheduling.engine.rooms import Rooms
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PPM, UNKNOWN, EnginePolicy


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """`worth_ppm` is per interned model, last the unknown one (number -1)."""

    policy: EnginePolicy
    rooms: Rooms
    worth_ppm: Ints


def worth_of_models(state: ClusterState) -> Ints:
    """How precious a model is here: half the share of devices with less memory than it, half the share of devices of
    other models.
    """
    device = state.device
    models = len(state.interned.models)
    if not len(device):
        return np.zeros(models + 1, dtype=np.int64)
    known = np.where(device.model == UNKNOWN, models, device.model)
    total = len(device)
    count = np.bincount(known, minlength=models + 1)
    memory = np.full(models + 1, UNKNOWN, dtype=np.int64)
    np.maximum.at(memory, known, device.total)
    smaller = np.searchsorted(np.sort(device.total), memory, side="left")
    return ((smaller * PPM // total + (total - count) * PPM // total) // 2).astype(np.int64)
