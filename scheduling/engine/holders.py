"""What queues hold once placements have started or ended since their policy was read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scheduling.engine.types import WHOLE_MILLI, EnginePolicy, Holding, PendingJob, QueueInfo, SliceChoice


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose caps count a placement."""

    queue: int
    team: int
    owner: int


@dataclass(frozen=True, slots=True)
class Held:
    """What one placement counts under caps; below 0 where it ended. Of a device job no cores count."""

    holder: Holder
    model: str | None
    device_milli: int
    core_milli: int

    def ended(self) -> Held:
        """The same taken off."""
        return replace(self, device_milli=-self.device_milli, core_milli=-self.core_milli)


def holder_of(job: PendingJob) -> Holder:
    """Who holds what the job gets."""
    return Holder(job.queue, job.team, job.owner)


def held_by(holder: Holder, model: str | None, slices: Sequence[SliceChoice], cpus: Sequence[int]) -> Held:
    """What a placement on devices of this model, or on cores alone, counts."""
    milli = sum(part.compute_milli for part in slices)
    return Held(holder, model, milli, 0 if slices else WHOLE_MILLI * len(cpus))


def with_held(policy: EnginePolicy, changes: Iterable[Held]) -> EnginePolicy:
    """The policy with these starts and ends counted."""
    by_queue: dict[int, list[Held]] = defaultdict(list)
    for change in changes:
        by_queue[change.holder.queue].append(change)
    if not by_queue:
        return policy
    return replace(policy, queues=tuple(_counted(queue, by_queue[queue.queue]) for queue in policy.queues))


def _counted(queue: QueueInfo, changes: Sequence[Held]) -> QueueInfo:
    parts: dict[tuple[int, int, str | None], int] = defaultdict(int)
    for held in [c for c in changes if c.device_milli]:
        parts[held.holder.team, held.holder.owner, held.model] += held.device_milli
    holdings = [Holding(*part, milli) for part, milli in parts.items()]
    return replace(
        queue,
        devices_booked_milli=max(0, queue.devices_booked_milli + sum(c.device_milli for c in changes)),
        cores_booked_milli=max(0, queue.cores_booked_milli + sum(c.core_milli for c in changes)),
        holdings=(*queue.holdings, *holdings),
    )
