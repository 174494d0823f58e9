"""Rows into the engine's view: complete, incremental, and never behind a late commit."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction
from django.db.models import F

from controlplane.base import clock
from inventory.models import DeviceLink, DeviceReading, Node, NodeState
from scheduling import requests
from scheduling.backends.agent import bump_epoch
from scheduling.engine.types import DeviceHealth
from scheduling.models import Placement
from scheduling.requests import RequestCache
from scheduling.selectors.live import live_view
from scheduling.snapshot import SnapshotCache, load_nodes
from tests.scheduling import factories as make

NODE_QUERIES = 9
LONG_MS = 10**9


def test_a_node_is_seen_with_all_that_belongs_to_it(db):
    make.make_queues()
    user = make.make_user(team=make.make_team())
    node = make.make_node("tb-1", cores=4, node_set="a", labels={"zone": "x"})
    first, second = (make.make_device(node, index=i, foreign_mib=10 * i) for i in range(2))
    DeviceLink.objects.create(node=node, first=first, second=second, kind="NV", lanes=4)
    DeviceReading.objects.create(device=first, at=clock.now(), memory_used_mib=7)
    make.make_job(user, resources={"devices": 1, "cores": 2, "memory": "1Gi", "read_bandwidth_mib_s": 5})
    make.run_cycle()
    info = load_nodes([node.pk])[0]
    assert (info.name, info.node_set, info.labels, info.not_ready) == ("tb-1", "a", (("zone", "x"),), None)
    assert (info.memory_booked_mib, info.read_bandwidth_booked_mib_s) == (1024, 5)
    assert sum(cpu.booked for cpu in info.cpus) == 2
    assert sorted(d.compute_booked_milli for d in info.devices) == [0, 1000]
    assert [(d.index, d.foreign_mib, d.memory_used_mib) for d in info.devices] == [(0, 0, 7), (1, 10, None)]
    assert info.links[0].kind == "NV" and info.devices[0].health is DeviceHealth.HEALTHY
    assert {d.link_island for d in info.devices} == {first.pk}


def test_unknown_stays_unknown(db):
    node = make.make_node(memory_mib=None, facts={})
    make.make_device(node, memory_mib=None, model=None, numa_node=None)
    info = load_nodes([node.pk])[0]
    assert info.cpus == () and info.devices[0].memory_total_mib is None and info.devices[0].model is None


def test_unknown_cores_are_nobodys_siblings(db):
    cpus = [
        {"id": i, "core": core, "socket": None, "numa": None, "max_mhz": None, "online": True}
        for i, core in enumerate((0, None, None))
    ]
    node = make.make_node(facts={"cpus": cpus})
    assert len({(cpu.socket, cpu.core) for cpu in load_nodes([node.pk])[0].cpus}) == 3


def test_only_changed_nodes_are_read_again(db, django_assert_num_queries):
    nodes = [make.make_node() for _ in range(8)]
    cache = SnapshotCache()
    state = cache.refresh(now_ms=0, whole_every_ms=LONG_MS)
    with django_assert_num_queries(1):
        assert cache.refresh(now_ms=1, whole_every_ms=LONG_MS) is state
    version = state.version
    Node.objects.filter(pk=nodes[3].pk).update(state=NodeState.CORDONED, revision=F("revision") + 1)
    Node.objects.filter(pk=nodes[4].pk).update(name="unseen: its revision did not grow")
    with django_assert_num_queries(NODE_QUERIES):
        state = cache.refresh(now_ms=2, whole_every_ms=LONG_MS)
    assert state.version > version and state.info(nodes[3].pk).not_ready == "cordoned"
    assert state.info(nodes[4].pk).name == nodes[4].name
    with django_assert_num_queries(NODE_QUERIES - 1):  # the facts are those of the same revisions
        cache.refresh(now_ms=LONG_MS + 1, whole_every_ms=LONG_MS)
    assert cache.state.info(nodes[4].pk).name.startswith("unseen")


def test_facts_are_read_again_once_their_node_has_a_new_revision(db):
    node = make.make_node(cores=2)
    cache = SnapshotCache()
    first = cache.refresh(now_ms=0, whole_every_ms=LONG_MS).info(node.pk)
    facts = node.facts | {"images": ["new"], "cpus": node.facts["cpus"][:1]}
    Node.objects.filter(pk=node.pk).update(facts=facts, revision=F("revision") + 1)
    second = cache.refresh(now_ms=1, whole_every_ms=LONG_MS).info(node.pk)
    assert (len(first.cpus), len(second.cpus), second.images) == (2, 1, ("new",))


def test_nodes_come_and_go(db):
    nodes = [make.make_node() for _ in range(5)]
    cache = SnapshotCache()
    cache.refresh(now_ms=0, whole_every_ms=LONG_MS)
    nodes[0].delete()
    new = make.make_node()
    state = cache.refresh(now_ms=1, whole_every_ms=LONG_MS)
    assert [info.node for info in state.infos] == [n.pk for n in nodes[1:]] + [new.pk]


@pytest.mark.django_db(transaction=True)
def test_a_commit_that_comes_late_is_not_missed():
    """b changes before a, but commits after the snapshot that saw a: a watermark would be past it."""
    a, b = make.make_node("a"), make.make_node("b")
    cache = SnapshotCache()
    cache.refresh(now_ms=0, whole_every_ms=LONG_MS)
    may_commit, has_written = threading.Event(), threading.Event()

    def slow_writer():
        try:
            with transaction.atomic():
                Node.objects.filter(pk=b.pk).update(state=NodeState.DRAINING, revision=F("revision") + 1)
                bump_epoch([b.pk])
                has_written.set()
                assert may_commit.wait(20)
        finally:
            connection.close()

    thread = threading.Thread(target=slow_writer)
    thread.start()
    assert has_written.wait(20)
    Node.objects.filter(pk=a.pk).update(state=NodeState.CORDONED, revision=F("revision") + 5)
    state = cache.refresh(now_ms=1, whole_every_ms=LONG_MS)
    assert (state.info(a.pk).not_ready, state.info(b.pk).not_ready) == ("cordoned", None)
    may_commit.set()
    thread.join(20)
    state = cache.refresh(now_ms=2, whole_every_ms=LONG_MS)
    assert state.info(b.pk).not_ready == "draining"


@pytest.mark.django_db(transaction=True)
def test_placements_are_seen_through_the_epoch():
    make.make_queues()
    user = make.make_user(team=make.make_team())
    node = make.make_node(cores=2)
    cache = SnapshotCache()
    cache.refresh(now_ms=0, whole_every_ms=LONG_MS)
    make.make_job(user)
    make.run_cycle()
    assert sum(c.booked for c in cache.refresh(now_ms=1, whole_every_ms=LONG_MS).info(node.pk).cpus) == 1
    make.report(node, make.ended(Placement.objects.get()))
    assert sum(c.booked for c in cache.refresh(now_ms=2, whole_every_ms=LONG_MS).info(node.pk).cpus) == 0


def test_who_looks_needs_no_lock_and_sees_no_change(db):
    node = make.make_node("a", cores=4)
    make.make_node("b", cores=4)
    first = live_view()
    assert live_view().state is first.state
    Node.objects.filter(pk=node.pk).update(memory_mib=5, revision=F("revision") + 1)
    second = live_view()
    assert (first.state.info(node.pk).memory_mib, second.state.info(node.pk).memory_mib) == (65536, 5)


def test_a_shared_cache_of_requests_survives_its_own_clearing(db, monkeypatch):
    """Another thread may clear the cache between loading and using it."""
    make.make_queues()
    user, cache = make.make_user(team=make.make_team()), RequestCache()
    jobs = [make.make_job(user, resources={"cores": cores}) for cores in (1, 2, 3)]
    monkeypatch.setattr(requests, "MOST_REMEMBERED_SHAPES", 1)
    held = cache.load([jobs[0].shape, jobs[1].shape])
    cache.load([jobs[2].shape])
    assert held.keys() == {jobs[0].shape, jobs[1].shape} and cache.by_shape.keys() == {jobs[2].shape}
