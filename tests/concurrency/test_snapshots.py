"""The incremental view of the cluster under concurrent changes: no commit is missed, and decisions are those of a view
read wholly.
"""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import pytest
from django.db import connection, transaction
from django.db.models import F

from inventory.models import Device, DeviceHealth, Node, NodeState
from scheduling.backends.agent import bump_epoch
from scheduling.engine.codec import encode
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import NodeInfo
from scheduling.models import Placement
from scheduling.pauses import pause_part, resume_part
from scheduling.policy_bridge import current_policy
from scheduling.requests import RequestCache, load_pending
from scheduling.snapshot import SnapshotCache, load_nodes
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)

NEVER_MS = 10**12
WRITERS, WRITES, NODES = 4, 25, 6


def refreshed(cache: SnapshotCache) -> ClusterState:
    """Incrementally, but for the first time."""
    return cache.refresh(now_ms=1, whole_every_ms=NEVER_MS)


def test_no_commit_is_missed_however_transactions_overlap(at_once):
    """Each node counts its commits in its name. Whatever was committed when a refresh began is in it, though writers
    hold several nodes at once and commit in another order than they wrote.
    """
    nodes = sorted(make.make_node("0").pk for _ in range(NODES))
    committed, guard, cache = dict.fromkeys(nodes, 0), threading.Lock(), SnapshotCache()
    refreshed(cache)

    def write(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(WRITES):
            mine = sorted(chance.sample(nodes, 2))
            with transaction.atomic():
                for node in mine:
                    _count_up(node, by_epoch=chance.random() < 0.5)
                if chance.random() < 0.2:
                    transaction.set_rollback(True)
                    continue
                seen = {node: int(Node.objects.get(pk=node).name) for node in mine}
            with guard:
                for node, count in seen.items():
                    committed[node] = max(committed[node], count)

    def look() -> None:
        for _ in range(60):
            with guard:
                before = dict(committed)
            state = refreshed(cache)
            for node, count in before.items():
                assert int(state.info(node).name) >= count

    results = at_once(*[lambda seed=seed: write(seed) for seed in range(WRITERS)], look)
    assert results == [None] * (WRITERS + 1)
    assert refreshed(cache).infos == sorted(load_nodes(), key=lambda info: info.node)


def _count_up(node: int, *, by_epoch: bool) -> None:
    """A change as inventory tells it (revision), or as scheduling does (epoch)."""
    if by_epoch:
        bump_epoch([node])
    else:
        Node.objects.filter(pk=node).update(revision=F("revision") + 1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE inventory_node SET name = (name::int + 1)::text WHERE id = %s", [node])


@pytest.mark.parametrize("seed", range(4))
def test_decisions_do_not_depend_on_how_the_state_came_about(seed):
    """A long-lived state changed node by node against one built from all rows: the same plan, byte by byte."""
    chance = random.Random(seed)
    make.make_queues()
    user = make.make_user(team=make.make_team())
    for number in range(5):
        node = make.make_node(f"n{number}", cores=8, node_set=chance.choice(["lab", "hall", None]))
        for index in range(chance.randint(0, 4)):
            make.make_device(node, index=index, memory_mib=chance.choice([24_576, 40_960]))
    cache = SnapshotCache()
    for step in range(8):
        _change(chance, user, step)
        state = refreshed(cache)
        whole = ClusterState.build(load_nodes())
        assert [_bare(info) for info in state.infos] == [_bare(info) for info in whole.infos]
        jobs = [job for job, _shape in load_pending(RequestCache())]
        policy = current_policy().engine
        plans = [plan(one, jobs, policy, now_ms=1, seed=seed) for one in (state, whole)]
        assert encode(plans[0]) == encode(plans[1])


def _bare(info: NodeInfo) -> NodeInfo:
    """Without what raises no version: readings."""
    return replace(info, devices=tuple(replace(device, memory_used_mib=None) for device in info.devices))


def _change(chance: random.Random, user, step: int) -> None:
    nodes = list(Node.objects.order_by("pk"))
    node = chance.choice(nodes)
    match chance.randrange(7):
        case 0:
            make.make_device(make.make_node(f"new{step}", cores=chance.choice([2, 16])))
        case 1:
            state = chance.choice([NodeState.READY, NodeState.CORDONED])
            Node.objects.filter(pk=node.pk).update(state=state, revision=F("revision") + 1)
        case 2:
            Device.objects.filter(node=node).update(health=chance.choice(DeviceHealth.values))
            Node.objects.filter(pk=node.pk).update(revision=F("revision") + 1)
        case 3 if node.node_set is not None:
            chance.choice([pause_part, resume_part])("test", node.node_set, reason="")
        case 4:
            for placement in Placement.objects.filter(phase="assigned")[:2]:
                make.report(placement.node, make.ended(placement))
        case _:
            make.run_cycle()
    for _ in range(2):
        make.make_job(
            user,
            queue=chance.choice(["inference", "training", "offline"]),
            resources=chance.choice(
                [
                    {"devices": 1},
                    {"cores": 3},
                    {"device_memory": "9Gi"},
                    {"devices": 2, "cores": 2},
                    {"devices": 99},
                ]
            ),
        )
