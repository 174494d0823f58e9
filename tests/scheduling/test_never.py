"""Jobs that no node can ever take are told so, wherever a start is told; all others are not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Role
from inventory.models import DeviceHealth, NodeState
from scheduling.engine.types import AGENTLESS, Hold, Request
from scheduling.models import Recording
from scheduling.selectors.explanations import explain_job
from scheduling.whatif import AtBest
from tests.engine.build import GIB, POLICY, cpus, device, job, node
from tests.scheduling import factories as make


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(make.make_user("olga", role=Role.OPERATOR))
    return client


@pytest.mark.django_db
def test_a_job_larger_than_every_node_is_told_that_it_never_starts(user, api):
    made = make.make_node(cores=2)
    held = make.make_job(user, resources={"cores": 2})
    make.run_cycle()
    large = {"resources": {"cores": 64}}
    waits = make.make_job(user, **large)
    make.run_cycle()
    told = explain_job(waits, user)
    assert (told["estimate"], told["start_unknown"]["code"]) == (None, "start-never")
    client = APIClient()
    client.force_login(user)
    dry = client.post("/api/v1/jobs/submit?dry_run=1", make.body(**large), format="json").json()
    assert dry["refusal"]["start_unknown"]["code"] == "start-never"
    edits = [{"kind": "add-job", "spec": make.body(**large)}, {"kind": "drain-node", "node": made.pk}]
    for recording in (None, Recording.objects.earliest("pk").pk):
        found = api.post("/api/v1/what-if", {"recording": recording, "edits": edits}, format="json").json()
        added = next(change for change in found["changes"] if change["job"] is None)
        assert added["start_unknown"]["code"] == "start-never"
    small = explain_job(make.make_job(user, resources={"cores": 2}), user)
    assert small["sentence"]["code"] in ("not-looked-at", "cores-free"), held.pk
    assert small["start_unknown"] is None or small["start_unknown"]["code"] == "start-no-known-end"


@pytest.mark.django_db
def test_a_node_that_is_down_or_broken_may_take_it_one_day(user):
    down = make.make_node(cores=64, state=NodeState.SILENT)
    make.make_device(down, health=DeviceHealth.QUARANTINED, cordoned=True)
    waits = make.make_job(user, resources={"devices": 1, "cores": 64})
    make.run_cycle()
    assert explain_job(waits, user)["start_unknown"]["code"] == "start-no-known-end"


BUSY = replace(
    node(1, [device(1, memory_booked_mib=GIB, compute_booked_milli=1000)]),
    not_ready="silent",
    observe_only=True,
    holds=(Hold(9, host_memory_mib=GIB),),
    cpus=tuple(replace(cpu, booked=True) for cpu in cpus(16)),
)
ASKS = job(5, Request(devices=1, device_compute_milli=1000, cores=16))


def test_what_passes_is_no_reason_for_never() -> None:
    avoiding = replace(ASKS, request=replace(ASKS.request, excluded_nodes=(1,), excluded_devices=(1,)))
    assert not AtBest([BUSY], POLICY, [avoiding]).never_starts(avoiding)
    assert AtBest([replace(BUSY, not_ready=AGENTLESS)], POLICY, [ASKS]).never_starts(ASKS)


def test_what_nobody_knows_is_no_reason_for_never() -> None:
    unknown = replace(BUSY, devices=(device(1, None),), memory_mib=0)
    wants = job(
        5, Request(devices=1, device_memory_mib=90 * GIB, device_compute_milli=1000, host_memory_mib=GIB)
    )
    assert not AtBest([unknown], POLICY, [wants]).never_starts(wants)
    assert AtBest([BUSY], POLICY, [wants]).never_starts(wants), "80 GiB are known to be too few"


def test_replicas_use_as_many_nodes_that_are_alike_as_they_need() -> None:
    nodes = [replace(BUSY, node=number, devices=(device(number),)) for number in range(1, 6)]
    for replicas, never in ((5, False), (6, True)):
        gang = replace(ASKS, replicas=replicas)
        assert AtBest(nodes, POLICY, [gang]).never_starts(gang) is never
    other = replace(nodes[0], node=9, devices=(device(9), device(10)))
    two = job(5, Request(devices=2, device_compute_milli=1000))
    assert not AtBest([*nodes, other], POLICY, [two]).never_starts(two)
