"""A job of a simulation: the engine's request, plus what only running it shows."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.types import PPM, WHOLE_MILLI, Request

SIZE_CLASSES = ("0", "1", "2", "4", "8", ">8")


@dataclass(frozen=True, slots=True)
class SimJob:
    """One job. Times in ms since the epoch of the trace.

    `duration_ms` is its run time when nothing holds it up. `replicas` pieces of `request` start together or
    not at all. `cpu_need_milli` is the CPU that keeps its devices fed, per replica (None: what it asked is
    enough); `duty_ppm` the share of its booked device time that is busy then. `checkpoint_ms` is the work
    between two checkpoints (0: it has none). A deferrable job waits for the valley window, at most until
    `latest_start_ms`.
    """

    job: int
    queue: int
    submitted_ms: int
    duration_ms: int
    request: Request
    team: int = 1
    priority: int = 0
    replicas: int = 1
    cpu_need_milli: int | None = None
    duty_ppm: int = PPM
    checkpoint_ms: int = 0
    deferrable: bool = False
    latest_start_ms: int | None = None

    @property
    def devices(self) -> int:
        """Devices of all replicas; one for a request that only names memory or a model."""
        request = self.request
        asks = request.device_memory_mib is not None or bool(request.models)
        return self.replicas * max(request.devices, int(asks))

    @property
    def milli(self) -> int:
        """Device-milli of all replicas, as far as the request says."""
        each = self.request.device_compute_milli if self.request.shareable else WHOLE_MILLI
        return self.devices * each

    @property
    def size_class(self) -> str:
        """The smallest class that holds its devices."""
        if self.devices > 8:
            return SIZE_CLASSES[-1]
        return next(name for name in SIZE_CLASSES if self.devices <= int(name))
