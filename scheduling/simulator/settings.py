"""How a run is made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scheduling.engine.types import EnginePolicy, ExpectedShape
from scheduling.simulator.failures import FailureModel
from scheduling.simulator.foresight import Knows
from scheduling.simulator.traces.ranges import SPAN_MS, TIME_MS
from scheduling.simulator.windows import Valley

# Nothing is simulated beyond the last time of a trace and its longest run time.
HORIZON_MS = TIME_MS[1] + SPAN_MS[1]


class Order(StrEnum):
    """PLAN: whatever fits, in the engine's order of service. FIFO: nobody passes a job that waits."""

    PLAN = "plan"
    FIFO = "fifo"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything but the cluster and the jobs. `cycle_ms` is the least time between two plans; a job that failing nodes
    took down `most_attempts` times is given up, as the server does by default, so that every run has an end. `knows`
    says how far ahead the order of service looks; promises are made by how long what runs will really take.
    """

    policy: EnginePolicy
    order: Order = Order.PLAN
    seed: int = 1
    cycle_ms: int = 0
    expected: tuple[ExpectedShape, ...] = ()
    valley: Valley | None = None
    failures: FailureModel | None = None
    until_ms: int = HORIZON_MS
    most_attempts: int = 6
    knows: Knows = Knows.DURATIONS
