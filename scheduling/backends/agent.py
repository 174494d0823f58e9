"""The desired set of a node with an agent: its live placements, and the epoch that grows with every change of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import connection, transaction

from agent.protocol import AssignedDevice, Assignment, Vendor, Want
from controlplane.base.tx import Topic, after_commit
from inventory.models import Node
from queues.lifecycle import is_final
from queues.models import Job
from queues.spec import decode_spec
from scheduling.models import LIVE_PHASES, DesiredState, Phase, Placement, Slice

GRACE_S = 10

# The row is made on first use; 1 is the epoch of a node that never had a placement.
BUMP = """
INSERT INTO scheduling_desiredstate (node_id, epoch) SELECT unnest(%s::bigint[]), 2
ON CONFLICT (node_id) DO UPDATE SET epoch = scheduling_desiredstate.epoch + 1
"""


def bump_epoch(node_ids: Iterable[int]) -> None:
    """Raise the epoch of these nodes inside the transaction that changes their desired set; their rows
    stay locked until it ends.
    """
    ordered = sorted(set(node_ids))
    if not ordered:
        return
    with connection.cursor() as cursor:
        cursor.execute(BUMP, [ordered])
    for node_id in ordered:
        after_commit(Topic.NODE_WAKE, node_id)
        after_commit(Topic.HINT, ("node", node_id))
    after_commit(Topic.HINT, ("map",))


def raise_epoch(node_id: int, above: int) -> None:
    """Make a node's desired set newer than `above`, as after a restored backup."""
    with transaction.atomic():
        bump_epoch([node_id])
        DesiredState.objects.filter(pk=node_id, epoch__lte=above).update(epoch=above + 1)


def epoch_of(node_id: int) -> int:
    """The epoch of a node's desired set."""
    epoch = DesiredState.objects.filter(node_id=node_id).values_list("epoch", flat=True).first()
    return 1 if epoch is None else epoch


def desired_set(node: Node) -> tuple[int, list[Assignment]]:
    """The epoch and the whole desired set of a node; one epoch never stands for two different sets."""
    live = Placement.objects.filter(node_id=node.pk, phase__in=LIVE_PHASES).order_by("pk")
    epoch = epoch_of(node.pk)
    while True:
        placements = list(live.select_related("job").prefetch_related("slices__device"))
        # A set that was changed while it was read would leave under the epoch of the one before, and that one,
        # overtaken on its way, would then be believed again.
        before, epoch = epoch, epoch_of(node.pk)
        if before == epoch:
            return epoch, [assignment_of(placement) for placement in placements]


def assignment_of(placement: Placement) -> Assignment:
    """What the agent is told about one placement."""
    spec = decode_spec(placement.job.spec)
    return Assignment(
        placement=placement.pk,
        job=placement.job_id,
        attempt=placement.attempt,
        fence=placement.fence,
        want=wanted(placement, placement.job),
        name=spec.name,
        command=spec.command,
        env=spec.env,
        cpus=placement.cpus,
        memory_mib=spec.resources.memory_mib,
        devices=_devices(sorted(placement.slices.all(), key=lambda part: part.device.index)),
        working_dir=spec.working_dir,
        loader_cpus=placement.loader_cpus,
        time_limit_s=spec.time_limit_s,
        grace_s=GRACE_S,
        strict_single=spec.strict_single,
    )


def wanted(placement: Placement, job: Job) -> Want:
    """STOP for everything but the present attempt of a job that is to run."""
    if is_final(job) or placement.attempt != job.attempt or placement.phase == Phase.STOPPING:
        return Want.STOP
    return Want.RUN


def _devices(slices: Sequence[Slice]) -> list[AssignedDevice]:
    return [
        AssignedDevice(
            vendor=Vendor(part.device.vendor),
            index=part.device.index,
            uuid=part.device.uuid,
            pci_bus_id=part.device.pci_bus_id,
            memory_mib=part.memory_mib,
            compute_milli=part.compute_milli,
        )
        for part in slices
    ]
