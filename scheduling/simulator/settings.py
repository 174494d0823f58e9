"""How a run is made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scheduling.engine.types import EnginePolicy, ExpectedShape
from scheduling.simulator.failures import FailureModel
from scheduling.simulator.windows import Valley


class Order(StrEnum):
    """PLAN: whatever fits, in the engine's order of service. FIFO: nobody passes a job that waits."""

    PLAN = "plan"
    FIFO = "fifo"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything but the cluster and the jobs. `cycle_ms` is the least time between two plans."""

    policy: EnginePolicy
    order: Order = Order.PLAN
    seed: int = 1
    cycle_ms: int = 0
    expected: tuple[ExpectedShape, ...] = ()
    valley: Valley | None = None
    failures: FailureModel | None = None
    until_ms: int | None = None
