"""What runs, as caps and promises see it: counted while jobs come and go, so that both hold over a whole run.

A policy with neither costs nothing here. Nobody is asked to leave: preemption is not simulated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduling.engine.types import (
    PPM,
    WHOLE_MILLI,
    EnginePolicy,
    Holding,
    Plan,
    QueueInfo,
    Reservation,
    SliceChoice,
)
from scheduling.engine.types import Running as Live
from scheduling.simulator.cluster import Cluster, Part
from scheduling.simulator.execution import Running
from scheduling.simulator.jobs import SimJob

# Team, owner and model.
_Share = tuple[int, int, str | None]


class Standing:
    """Milli-device by queue and share, milli-core of jobs without devices by queue, and the promises in force."""

    def __init__(self, cluster: Cluster, policy: EnginePolicy, running: Mapping[int, Running]) -> None:
        self._policy, self._running = replace(policy, preempts=False), running
        self._models = {d.device: d.model for info in cluster.state.infos for d in info.devices}
        self._devices: dict[int, dict[_Share, int]] = defaultdict(dict)
        self._cores: dict[int, int] = defaultdict(int)
        for queue in policy.queues:
            held = {(part.team, part.owner, part.model): part.device_milli for part in queue.holdings}
            self._devices[queue.queue], self._cores[queue.queue] = held, queue.cores_booked_milli
        self._lives: dict[int, tuple[Live, ...]] = {}
        self.promises: tuple[Reservation, ...] = ()

    def started(self, job: SimJob, parts: Sequence[Part]) -> None:
        """It holds this from now on."""
        if self._policy.capped:
            self._count(job, parts, 1)

    def left(self, job: SimJob, parts: Sequence[Part]) -> None:
        """It holds nothing any more."""
        self._lives.pop(job.job, None)
        if self._policy.capped:
            self._count(job, parts, -1)

    def policy(self) -> EnginePolicy:
        """The policy with what its queues hold now."""
        if not self._policy.capped:
            return self._policy
        return replace(self._policy, queues=tuple(self._of(queue) for queue in self._policy.queues))

    def lives(self) -> tuple[Live, ...]:
        """All that runs and when it ends at its present speed, in the order in which it started."""
        found: list[Live] = []
        for number, run in self._running.items():
            ends_ms = run.end_ms() if run.speed_ppm else run.since_ms + run.left // PPM
            known = self._lives.get(number)
            if known is None or known[0].ends_at_ms != ends_ms:
                known = self._lives[number] = tuple(_live(run, part, ends_ms) for part in run.parts)
            found += known
        return tuple(found)

    def promise(self, made: Plan) -> bool:
        """Keep what a plan promised; whether that opens anything: a promise is over."""
        before = {place.job for place in self.promises}
        self.promises = made.reservations
        return not before <= {place.job for place in made.reservations}

    def _count(self, job: SimJob, parts: Sequence[Part], sign: int) -> None:
        held = self._devices[job.queue]
        for part in parts:
            if not part.devices:
                self._cores[job.queue] += sign * WHOLE_MILLI * len(part.cpus)
            for device, _mib, milli in part.devices:
                share = (job.team, 0, self._models[device])
                held[share] = held.get(share, 0) + sign * milli

    def _of(self, queue: QueueInfo) -> QueueInfo:
        held = [item for item in self._devices[queue.queue].items() if item[1]]
        held.sort(key=lambda item: (item[0][:2], item[0][2] or ""))
        return replace(
            queue,
            devices_booked_milli=sum(milli for _, milli in held),
            cores_booked_milli=self._cores[queue.queue],
            holdings=tuple(Holding(team, owner, model, milli) for (team, owner, model), milli in held),
        )


def _live(run: Running, part: Part, ends_ms: int) -> Live:
    job = run.job
    return Live(
        job=job.job,
        attempt=run.attempt,
        node=part.node,
        queue=job.queue,
        team=job.team,
        owner=0,
        slices=tuple(SliceChoice(*each) for each in part.devices),
        cpus=part.cpus,
        host_memory_mib=part.host_memory_mib,
        read_bandwidth_mib_s=part.read_mib_s,
        ends_at_ms=ends_ms,
        priority=job.priority,
    )
