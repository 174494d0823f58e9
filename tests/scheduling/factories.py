"""Rows for tests: a node as ingest would have written it, people, queues, jobs through the product's own functions."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from agent.protocol import ExitReason, TaskPhase, TaskState
from controlplane.accounts.models import Membership, Role, Team, TeamRole, User
from controlplane.base.locks import CYCLE_LEASE, LeaseToken, take_lease
from controlplane.policy.active import ActivePolicy
from controlplane.policy.reading import read_document
from inventory.models import Device, DeviceHealth, Node, NodeSet, NodeState
from queues.models import Job
from queues.operations import sync_queues
from queues.submission import Submission, submit
from scheduling import cycle
from scheduling.cycle import Worker
from scheduling.models import Placement
from scheduling.observe import observe_tasks

_numbers = itertools.count(1)


def next_number() -> int:
    return next(_numbers)


def make_team(slug: str = "vision") -> Team:
    return Team.objects.get_or_create(slug=slug, defaults={"name": slug.title()})[0]


def make_user(
    name: str = "ada", *, role: str = Role.MEMBER, team: Team | None = None, lead: bool = False
) -> User:
    user = User.objects.create_user(
        username=name, email=f"{name}@example.org", password="a long password", role=role
    )
    if team is not None:
        Membership.objects.create(user=user, team=team, role=TeamRole.LEAD if lead else TeamRole.MEMBER)
    return user


def make_queues(*, capped: bool = False) -> None:
    """The three queues of the defaults; without their caps unless a test is about them."""
    document = read_document("scheduler: {}")
    if not capped:
        policy = document.queue_policy
        queues = tuple(msgspec.structs.replace(queue, quota_ppm=None) for queue in policy.queues)
        policy = msgspec.structs.replace(policy, queues=queues)
        document = msgspec.structs.replace(document, queue_policy=policy)
    sync_queues(ActivePolicy(1, document))


def facts(*, cores: int, reserved: tuple[int, ...] = ()) -> dict[str, Any]:
    cpus = [
        {"id": i, "core": i, "socket": 0, "numa": 0, "max_mhz": 3000, "online": True} for i in range(cores)
    ]
    return {
        "cpus": cpus,
        "reserved_cpus": list(reserved),
        "images": [],
        "datasets": [],
        "runs_containers": True,
    }


def make_node(
    name: str = "",
    *,
    cores: int = 8,
    memory_mib: int = 65536,
    state: str = NodeState.READY,
    node_set: str | None = None,
    **columns: Any,
) -> Node:
    number = next(_numbers)
    return Node.objects.create(
        machine_id=f"machine-{number}",
        name=name or f"node-{number}",
        state=state,
        node_set=NodeSet.objects.get_or_create(name=node_set)[0] if node_set else None,
        cpu_count=cores,
        memory_mib=memory_mib,
        facts=columns.pop("facts", facts(cores=cores)),
        **columns,
    )


def make_device(
    node: Node,
    *,
    index: int = 0,
    memory_mib: int = 40960,
    model: str = "NVIDIA A100-PCIE-40GB",
    **columns: Any,
) -> Device:
    return Device.objects.create(
        node=node,
        identity=f"GPU-{node.pk}-{index}",
        uuid=f"GPU-{node.pk}-{index}",
        index=index,
        vendor="nvidia",
        model=model,
        memory_total_mib=memory_mib,
        health=columns.pop("health", DeviceHealth.HEALTHY),
        **columns,
    )


def body(**changes: Any) -> dict[str, Any]:
    """A request that is fine."""
    return {"queue": "training", "command": ["/bin/true"], **changes}


def make_job(user: User, *, key: str | None = None, **changes: Any) -> Job:
    return submit(Submission(user=user, raw=body(**changes), key=key)).job


def run_cycle(worker: Worker | None = None) -> int:
    return cycle.run_cycles("test", worker=worker or Worker())


def lease(name: str = CYCLE_LEASE) -> LeaseToken:
    token = take_lease(name, holder="test", ttl_s=30)
    assert token is not None
    return token


def task(placement: Placement, phase: TaskPhase, **changes: Any) -> TaskState:
    values = {
        "placement": placement.pk,
        "attempt": placement.attempt,
        "fence": placement.fence,
        "phase": phase,
    }
    return TaskState(**{**values, **changes})


def started(placement: Placement) -> TaskState:
    return task(placement, TaskPhase.RUNNING, started_at_ms=1000, pid=77, uid=60001)


def ended(placement: Placement, *, code: int = 0, **changes: Any) -> TaskState:
    values = {"exit_code": code, "reason": ExitReason.EXITED, "started_at_ms": 1000, "ended_at_ms": 3000}
    return task(placement, TaskPhase.ENDED, **{**values, **changes})


def report(node: Node, *tasks: TaskState) -> int:
    return observe_tasks(node, tasks)
