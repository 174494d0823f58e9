"""What all score terms are measured against during one plan: the policy, the expected jobs, the worth of models in
this cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.ledger import Ledger
from scheduling.engine.quantities import Ints
from scheduling.engine.rooms import Expected, Rooms
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PPM, UNKNOWN, WHOLE_MILLI, EnginePolicy, Term


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """`worth_ppm` is per interned model, last the unknown one (number -1). `power_uw` is the draw that the power term
    measures against.
    """

    policy: EnginePolicy
    rooms: Rooms
    worth_ppm: Ints
    worth_by_pool_ppm: Ints
    power_uw: int


def scale_of(ledger: Ledger, policy: EnginePolicy, expected: Sequence[Expected]) -> Scale:
    """The scale of a plan that starts with this ledger."""
    return _scale(ledger.state, policy, Rooms(ledger, expected))


def rebased_scale(old: Scale, ledger: Ledger, changed: Ints) -> Scale | None:
    """The scale for another ledger over the same rows in which these nodes' facts differ; None when nodes that do not
    differ would be measured differently, too.
    """
    scale = _scale(ledger.state, old.policy, old.rooms)
    if scale.power_uw != old.power_uw or not np.array_equal(scale.worth_by_pool_ppm, old.worth_by_pool_ppm):
        return None
    old.rooms.rebase(ledger, changed)
    return scale


def _scale(state: ClusterState, policy: EnginePolicy, rooms: Rooms) -> Scale:
    worth = worth_of_models(state)
    by_pool: Ints = worth[state.pool.model]
    return Scale(policy, rooms, worth, by_pool, _power_uw(state, policy))


def _power_uw(state: ClusterState, policy: EnginePolicy) -> int:
    """What a placement's draw counts against: the most that one node's devices and cores could add, or what is left
    under the cap of all nodes if that is less.
    """
    if policy.weights_ppm.get(Term.POWER, 0) <= 0:
        return 0
    limits = np.bincount(state.joins().device_node, state.device.power_mw, len(state)).astype(np.int64)
    most = int((limits + state.node.core_mw * state.node.cores_total).max(initial=0)) * WHOLE_MILLI
    if policy.power_cap_mw is not None:
        most = min(most, WHOLE_MILLI * policy.power_cap_mw - int(state.node.draw_uw.sum()))
    return max(1, most)


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
