"""Health of a device as a pure state machine: counters and one observation in, the next state out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from inventory.models.device import DeviceHealth

TAKES_JOBS = frozenset({DeviceHealth.HEALTHY, DeviceHealth.SUSPECT})
ON_PROBATION = frozenset({DeviceHealth.QUARANTINED, DeviceHealth.RECOVERED})


class Observation(StrEnum):
    """What happened to a device: one check, its disappearance from the facts, its return, a release."""

    OK = "ok"
    FAILED = "failed"
    FATAL = "fatal"
    UNKNOWN = "unknown"
    VANISHED = "vanished"
    RETURNED = "returned"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How many equal checks in a row change the health; with `auto_release` good checks end a quarantine. A device that
    leaves good health `flaps` times within `flap_window_s` is flapping.
    """

    failed: int = 3
    good: int = 5
    unknown: int = 3
    auto_release: bool = False
    flaps: int = 5
    flap_window_s: int = 3600


@dataclass(frozen=True, slots=True)
class HealthState:
    """Health with its counters of equal checks in a row, which stop at their thresholds: a steady state is equal.

    In UNKNOWN, `unknown` at its limit means that the device was drained and must earn trust again. `fatal` says that a
    fatal check was among what put it into quarantine: what runs there cannot go on.
    """

    health: DeviceHealth = DeviceHealth.UNKNOWN
    failed: int = 0
    good: int = 0
    unknown: int = 0
    before_missing: DeviceHealth | None = None
    fatal: bool = False


def step(state: HealthState, observation: Observation, thresholds: Thresholds) -> HealthState:
    """The state after one observation."""
    if observation is Observation.VANISHED:
        return _vanish(state)
    if observation is Observation.RETURNED:
        return _return(state, thresholds)
    if observation is Observation.RELEASED:
        return _release(state)
    if state.health is DeviceHealth.MISSING:
        return _missing(state, observation)
    return _CHECKS[observation](state, thresholds)


def _vanish(state: HealthState) -> HealthState:
    if state.health is DeviceHealth.MISSING:
        return state
    return HealthState(health=DeviceHealth.MISSING, before_missing=state.health, fatal=state.fatal)


def _missing(state: HealthState, observation: Observation) -> HealthState:
    """Checks of a device that is not there say nothing, but that it is lost for good: then it returns in quarantine."""
    if observation is not Observation.FATAL:
        return state
    return replace(state, before_missing=DeviceHealth.QUARANTINED, fatal=True)


def _return(state: HealthState, thresholds: Thresholds) -> HealthState:
    """A device that came back is not trusted at once; one that left in quarantine comes back in quarantine."""
    if state.health is not DeviceHealth.MISSING:
        return state
    if state.before_missing in ON_PROBATION:
        return HealthState(health=DeviceHealth.QUARANTINED, fatal=state.fatal)
    return HealthState(health=DeviceHealth.UNKNOWN, unknown=thresholds.unknown)


def _release(state: HealthState) -> HealthState:
    return HealthState(health=DeviceHealth.HEALTHY) if state.health is DeviceHealth.RECOVERED else state


def _ok(state: HealthState, thresholds: Thresholds) -> HealthState:
    good = min(state.good + 1, thresholds.good)
    match state.health:
        case DeviceHealth.QUARANTINED if good >= thresholds.good:
            health = DeviceHealth.HEALTHY if thresholds.auto_release else DeviceHealth.RECOVERED
            return HealthState(health=health, good=good)
        case DeviceHealth.RECOVERED if thresholds.auto_release:
            return HealthState(health=DeviceHealth.HEALTHY, good=good)
        case DeviceHealth.QUARANTINED | DeviceHealth.RECOVERED:
            return replace(state, failed=0, unknown=0, good=good)
        case DeviceHealth.UNKNOWN if good < _good_needed(state, thresholds):
            return replace(state, failed=0, good=good)
        case _:
            # Where nothing is to be earned, counting on would only make a report differ from the one before.
            return HealthState(health=DeviceHealth.HEALTHY, good=thresholds.good)


def _good_needed(state: HealthState, thresholds: Thresholds) -> int:
    """A device never seen before needs one good check; one that was drained has to earn trust again."""
    return thresholds.good if state.unknown >= thresholds.unknown else 1


def _failed(state: HealthState, thresholds: Thresholds) -> HealthState:
    failed = min(state.failed + 1, thresholds.failed)
    unknown = state.unknown if state.health is DeviceHealth.UNKNOWN else 0
    counted = replace(state, failed=failed, good=0, unknown=unknown)
    match state.health:
        case DeviceHealth.QUARANTINED:
            return counted
        case DeviceHealth.RECOVERED:
            return replace(counted, health=DeviceHealth.QUARANTINED)
        case _ if failed >= thresholds.failed:
            return replace(counted, health=DeviceHealth.QUARANTINED, unknown=0)
        case DeviceHealth.UNKNOWN:
            return counted
        case _:
            return replace(counted, health=DeviceHealth.SUSPECT)


def _fatal(state: HealthState, thresholds: Thresholds) -> HealthState:
    return HealthState(health=DeviceHealth.QUARANTINED, failed=thresholds.failed, fatal=True)


def _unknown(state: HealthState, thresholds: Thresholds) -> HealthState:
    """An unreadable check breaks a row of good ones, is no failure, and does not forget failures either."""
    unknown = min(state.unknown + 1, thresholds.unknown)
    counted = replace(state, good=0, unknown=unknown)
    if unknown < thresholds.unknown:
        return counted
    match state.health:
        case DeviceHealth.HEALTHY | DeviceHealth.SUSPECT:
            return replace(counted, health=DeviceHealth.UNKNOWN)
        case DeviceHealth.RECOVERED:
            # Back to UNKNOWN would let good checks alone release what an operator should.
            return replace(counted, health=DeviceHealth.QUARANTINED)
        case _:
            return counted


_CHECKS = {
    Observation.OK: _ok,
    Observation.FAILED: _failed,
    Observation.FATAL: _fatal,
    Observation.UNKNOWN: _unknown,
}
