"""The desired set of a node with an agent: its live placements, and the epoch that grows with every change of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

from django.db import connection, transaction
from django.db.models import F

from agent.protocol import AssignedDevice, Assignment, CheckpointWay, Vendor, Want
from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit
from inventory.models import Node
from queues.lifecycle import is_final
from queues.models import Job, JobEvent
from queues.spec import CheckpointSpec, decode_spec
from scheduling.models import LIVE_PHASES, DesiredState, Phase, Placement, Slice

GRACE_S = 10
CHECKPOINT = "checkpoint"
# Below those that systems give out by themselves.
FIRST_PORT, PORTS = 20_000, 10_000

# The row is made on first use; 1 is the epoch of a node that never had a placement.
BUMP = """
INSERT INTO scheduling_desiredstate (node_id, epoch) SELECT unnest(%s::bigint[]), 2
ON CONFLICT (node_id) DO UPDATE SET epoch = scheduling_desiredstate.epoch + 1
"""

Fingerprint = tuple[int, str | None, str | None]
# What this process keeps: the last set of so many nodes that have any, unless it is a large one.
MOST_KEPT_NODES, MOST_KEPT_ASSIGNMENTS = 20_000, 64
_sets: dict[int, tuple[Fingerprint, list[Assignment]]] = {}
_keeping = Lock()


def fingerprint_sql(node: str) -> str:
    """SELECT of a Fingerprint; `node` is SQL for the node's id, %(live)s the live phases. One statement, so that epoch
    and rows are of one moment. Command, environment and cores of a placement never change; a fence tells placements
    apart that a restored backup gave one id.
    """
    return f"""
SELECT coalesce((SELECT epoch FROM scheduling_desiredstate WHERE node_id = {node}), 1),
       (SELECT string_agg(
            concat_ws(' ', p.id, p.fence, p.phase, p.attempt, j.id, j.status, j.attempt), ',' ORDER BY p.id)
        FROM scheduling_placement AS p JOIN queues_job AS j ON j.id = p.job_id
        WHERE p.node_id = {node} AND p.phase = ANY(%(live)s)),
       (SELECT string_agg(
            concat_ws(' ', s.placement_id, s.memory_mib, s.compute_milli, d.vendor, d.index, d.uuid, '/', d.pci_bus_id),
            ',' ORDER BY s.id)
        FROM scheduling_slice AS s JOIN scheduling_placement AS p ON p.id = s.placement_id
        JOIN inventory_device AS d ON d.id = s.device_id
        WHERE p.node_id = {node} AND p.phase = ANY(%(live)s))
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
    return set_as_seen(node.pk, _fingerprint(node.pk))


def set_as_seen(node_id: int, seen: Fingerprint) -> tuple[int, list[Assignment]]:
    """The same where the fingerprint was read just now. Most reports change nothing: then the set is still the one that
    was built last, and no query is needed; nor is one for a node that has nothing.
    """
    epoch, placements, _slices = seen
    if placements is None:
        return epoch, []
    known = _sets.get(node_id)
    if known is not None and known[0] == seen:
        return epoch, known[1]
    built_epoch, assignments = _built(node_id, epoch)
    # Another epoch is another set than the one that was seen.
    if built_epoch == epoch and len(assignments) <= MOST_KEPT_ASSIGNMENTS:
        _keep(node_id, seen, assignments)
    return built_epoch, assignments


def _keep(node_id: int, seen: Fingerprint, assignments: list[Assignment]) -> None:
    with _keeping:
        _sets.pop(node_id, None)
        if len(_sets) >= MOST_KEPT_NODES:
            # The one that was built first: to forget all at once would have all be built anew at once.
            del _sets[next(iter(_sets))]
        _sets[node_id] = (seen, assignments)


def _fingerprint(node_id: int) -> Fingerprint:
    """All that a desired set is made from and that can change, as of one moment."""
    with connection.cursor() as cursor:
        cursor.execute(fingerprint_sql("%(node)s"), {"node": node_id, "live": list(LIVE_PHASES)})
        row: Fingerprint = cursor.fetchone()
        return row


def _built(node_id: int, epoch: int) -> tuple[int, list[Assignment]]:
    """The set, `epoch` being one that was read before."""
    live = Placement.objects.filter(node_id=node_id, phase__in=LIVE_PHASES).order_by("pk")
    while True:
        placements = list(live.select_related("job__array").prefetch_related("slices__device"))
        # A set that was changed while it was read would leave under the epoch of the one before, and that one,
        # overtaken on its way, would then be believed again.
        before, epoch = epoch, epoch_of(node_id)
        if before == epoch:
            made, peers = checkpoints(placements), peers_of(placements)
            return epoch, [
                assignment_of(
                    one, resume_from=made.get((one.job_id, _rank(one))), peers=peers.get(one.job_id, ())
                )
                for one in placements
            ]


def _rank(placement: Placement) -> int | None:
    """Which replica of its gang it is; None for a job of one."""
    return placement.replica if placement.job.replicas > 1 else None


def checkpoints(placements: Sequence[Placement]) -> dict[tuple[int, int | None], str]:
    """Where the last checkpoint of an earlier attempt lies, by job and replica; one query, none for first attempts."""
    again = [placement.job_id for placement in placements if placement.attempt > 1]
    if not again:
        return {}
    events = JobEvent.objects.filter(job__in=again, code=CHECKPOINT, attempt__lt=F("job__attempt"))
    found = events.order_by("pk").values_list("job_id", "details__replica", "details__path")
    return {(job, replica): path for job, replica, path in found}


def peers_of(placements: Sequence[Placement]) -> dict[int, list[str]]:
    """Of gangs the nodes of all replicas, by rank; one query, none without gangs."""
    attempts = {one.job_id: one.attempt for one in placements if one.job.replicas > 1}
    if not attempts:
        return {}
    rows = Placement.objects.filter(job__in=attempts).order_by("job_id", "replica")
    found: dict[int, list[str]] = {}
    for job, attempt, name in rows.values_list("job_id", "attempt", "node__name"):
        if attempts[job] == attempt:
            found.setdefault(job, []).append(name)
    return found


def assignment_of(
    placement: Placement, *, resume_from: str | None = None, peers: Sequence[str] = ()
) -> Assignment:
    """What the agent is told about one placement; of a gang's the `peers` are the nodes of all replicas by rank."""
    spec = decode_spec(placement.job.spec)
    return Assignment(
        placement=placement.pk,
        job=placement.job_id,
        attempt=placement.attempt,
        fence=placement.fence,
        want=wanted(placement, placement.job),
        name=spec.name,
        command=spec.command,
        env={**spec.env, **_variables(placement.job), **_gang_variables(placement, peers)},
        cpus=placement.cpus,
        memory_mib=spec.resources.memory_mib,
        devices=_devices(sorted(placement.slices.all(), key=lambda part: part.device.index)),
        working_dir=spec.working_dir,
        loader_cpus=placement.loader_cpus,
        time_limit_s=spec.time_limit_s,
        grace_s=GRACE_S,
        strict_single=spec.strict_single,
        image=spec.image,
        shared_memory_mib=spec.shared_memory_mib,
        mounts=spec.mounts,
        network=None if spec.network is None else spec.network.value,
        checkpoint=_way(spec.checkpoint),
        checkpoint_asked=asked_number(placement),
        resume_from=resume_from,
        replica=_rank(placement),
        image_secret=spec.image_secret,
    )


def fetched_with(node_id: int, secret: str) -> list[tuple[str, str]]:
    """Team and image of the jobs that the node was told to run and that name this registry's secret."""
    live = Placement.objects.filter(node_id=node_id, phase__in=LIVE_PHASES)
    named = live.filter(job__spec__image_secret=secret)
    return list(named.values_list("job__team__slug", "job__spec__image").distinct())


def _variables(job: Job) -> dict[str, str]:
    """What the job is told of its place among others."""
    array = job.array
    if array is None:
        return {}
    return {
        "HEADRACE_ARRAY": str(array.pk),
        "HEADRACE_ARRAY_INDEX": str(job.array_index),
        "HEADRACE_ARRAY_TASKS": str(array.tasks),
    }


def _gang_variables(placement: Placement, peers: Sequence[str]) -> Mapping[str, str]:
    """What a replica needs to find the others. The port is the same for all of an attempt, and another one for most
    other jobs.
    """
    if placement.job.replicas == 1 or not peers:
        return {}
    port = FIRST_PORT + (placement.job_id * 31 + placement.attempt) % PORTS
    return {
        "HEADRACE_RANK": str(placement.replica),
        "HEADRACE_WORLD_SIZE": str(placement.job.replicas),
        "HEADRACE_PEERS": ",".join(peers),
        "HEADRACE_RENDEZVOUS": f"{peers[0]}:{port}",
    }


def _way(spec: CheckpointSpec | None) -> CheckpointWay | None:
    if spec is None:
        return None
    return CheckpointWay(signal=spec.signal, command=spec.command, timeout_s=spec.timeout_s)


def asked_number(placement: Placement) -> int | None:
    """Tells one asking for a checkpoint from the next: the moment of it."""
    if placement.phase != Phase.CHECKPOINTING or placement.stopping_at is None:
        return None
    return clock.to_ms(placement.stopping_at)


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
