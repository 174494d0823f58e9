"""What live placements hold, by queue, team, owner and model: read once, then counted on with what is placed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from django.db.models import Count, Sum

from scheduling.engine.types import EnginePolicy, Holding, NodeInfo, PendingJob, Placed, QueueInfo
from scheduling.models import LIVE_PHASES, Placement, Slice

CORE_MILLI = 1000
Part = tuple[int, int, str | None]


@dataclass
class Holdings:
    """Milli-device by queue and part (team, owner, model), milli-core of placements without devices by queue."""

    devices: dict[int, dict[Part, int]] = field(default_factory=lambda: defaultdict(dict))
    cores: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    @classmethod
    def load(cls) -> Holdings:
        """What is held now; two queries."""
        found, job = cls(), "placement__job__"
        columns = (f"{job}queue_id", f"{job}team_id", f"{job}owner_id", "device__model")
        rows = Slice.objects.order_by().values_list(*columns).annotate(total=Sum("compute_milli"))
        for queue, team, owner, model, milli in rows:
            found.devices[queue][team, owner, model] = milli
        alone = Placement.objects.filter(phase__in=LIVE_PHASES, slices=None).order_by()
        for queue, count in alone.values_list("job__queue_id").annotate(count=Count("core_bookings")):
            found.cores[queue] = count * CORE_MILLI
        return found

    @classmethod
    def of_policy(cls, policy: EnginePolicy) -> Holdings:
        """What the queues of this policy hold."""
        found = cls()
        for queue in policy.queues:
            parts = {(part.team, part.owner, part.model): part.device_milli for part in queue.holdings}
            found.devices[queue.queue], found.cores[queue.queue] = parts, queue.cores_booked_milli
        return found

    def add(self, job: PendingJob, placed: Placed, node: NodeInfo) -> None:
        """Count what was just placed there."""
        if not placed.slices:
            self.cores[job.queue] += len(placed.cpus) * CORE_MILLI
            return
        models = {device.device: device.model for device in node.devices}
        parts = self.devices[job.queue]
        for choice in placed.slices:
            part = (job.team, job.owner, models.get(choice.device))
            parts[part] = parts.get(part, 0) + choice.compute_milli

    def of(self, queue: QueueInfo) -> QueueInfo:
        """The queue with what it holds."""
        parts = sorted(
            self.devices.get(queue.queue, {}).items(), key=lambda item: (item[0][:2], item[0][2] or "")
        )
        return replace(
            queue,
            devices_booked_milli=sum(milli for _part, milli in parts),
            cores_booked_milli=self.cores.get(queue.queue, 0),
            holdings=tuple(Holding(team, owner, model, milli) for (team, owner, model), milli in parts),
        )

    def within(self, policy: EnginePolicy) -> EnginePolicy:
        """The policy with what all of its queues hold."""
        return replace(policy, queues=tuple(self.of(queue) for queue in policy.queues))
