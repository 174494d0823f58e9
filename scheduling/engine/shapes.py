"""What a complete request demands of a node, and numbers for equal requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.columns import Interner
from scheduling.engine.modelnames import matches
from scheduling.engine.quantities import Bools, piece_mib, precheck_need_mib
from scheduling.engine.types import WHOLE_MILLI, CpuClass, EnginePolicy, Request


@dataclass(frozen=True, slots=True)
class Demand:
    """A request together with the policy's pre-check factor, read by filters, scores and fitting."""

    request: Request
    num: int
    den: int

    @property
    def wants_devices(self) -> bool:
        """False for a job that runs on CPUs only."""
        r = self.request
        return r.devices > 0 or r.device_memory_mib is not None or bool(r.models)

    @property
    def whole(self) -> bool:
        """Books whole devices: nothing is shared and no pre-check is made."""
        return not self.request.shareable or self.request.device_compute_milli >= WHOLE_MILLI

    @property
    def costs_vary(self) -> bool:
        """Whether it depends on a device's memory how much of its compute is booked."""
        return not self.whole and self.request.device_memory_mib is not None

    def device_counts(self, largest_pool: int) -> Sequence[int]:
        """Numbers of devices to try, least first: the asked one, or 1, 2, ... for a splittable job without."""
        if self.request.devices > 0:
            return (self.request.devices,)
        if self.request.splittable and self.request.device_memory_mib is not None:
            return range(1, max(1, largest_pool) + 1)
        return (1,)

    def piece_mib(self, count: int) -> int | None:
        """Memory asked of each of `count` devices."""
        memory = self.request.device_memory_mib
        if memory is None:
            return None
        return piece_mib(memory, count) if self.request.splittable else memory

    def need_mib(self, piece: int) -> int:
        """Free memory a shared piece must find."""
        return precheck_need_mib(piece, num=self.num, den=self.den)

    @property
    def cpu_class(self) -> CpuClass:
        """AUTO without a measurement counts as COMPUTE."""
        asked = self.request.cpu_class
        return CpuClass.COMPUTE if asked is CpuClass.AUTO else asked

    def model_flags(self, models: Interner) -> Bools:
        """Per interned model, and last for the unknown one (number -1), whether it may serve this job."""
        names = self.request.models
        known = [not names or any(matches(name, str(model)) for name in names) for model in models.values]
        return np.array([*known, not names], dtype=np.bool_)


def demand_of(request: Request, policy: EnginePolicy) -> Demand:
    """The demand of a request under this policy."""
    return Demand(request, policy.precheck_num, policy.precheck_den)


class Shapes:
    """Numbers for complete requests: equal requests, and only those, share one."""

    def __init__(self) -> None:
        self._numbers: dict[Request, int] = {}
        self.requests: list[Request] = []

    def number(self, request: Request) -> int:
        """The number of this request."""
        found = self._numbers.get(request)
        if found is None:
            found = self._numbers[request] = len(self.requests)
            self.requests.append(request)
        return found
