"""Cases from public reports, from a node's report to what is decided and shown."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample
from inventory import streams
from inventory.models import Device, DeviceHealth, Node
from inventory.tasks import flush_telemetry
from queues.models import Job, JobStatus
from scheduling import cycle
from scheduling.models import Decision, Placement, Slice
from tests.agentapi.speaking import Agent, enrolled
from tests.inventory.factories import GIB, device_facts, facts
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
# By its slot, which is known before its UUID is.
CARD = "00000000:10:00.0"


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(user)
    return client


class Machine:
    """A node with one card, told by its agent."""

    def __init__(self, **card: object) -> None:
        streams.client().delete(streams.STREAM)
        self.agent = Agent(enrolled().token)
        self.tell(**card)

    def card(self, **changes: object) -> DeviceFacts:
        return device_facts(0, **({"memory_total_mib": 24 * GIB, "memory_reserved_mib": 0} | changes))

    def tell(self, **changes: object) -> None:
        """New facts of the card."""
        digest = repr(sorted(changes.items()))
        self.agent.report(facts=facts(self.card(**changes)), facts_digest=digest)
        self.checked(CheckResult.OK, times=5)

    def checked(self, result: CheckResult, *, times: int) -> None:
        for _ in range(times):
            self.agent.report(checks=[Check(device=CARD, result=result)])

    def uses(self, used_mib: int) -> None:
        """Two readings, since the first may still show a job that just ended."""
        for _ in range(2):
            self.agent.report(samples=[DeviceSample(device=CARD, memory_used_mib=used_mib)])
            assert flush_telemetry() == 1


def status(job: Job) -> str:
    return Job.objects.get(pk=job.pk).status


def reason(api: APIClient, job: Job) -> dict[str, str]:
    return api.get(f"/api/v1/jobs/{job.pk}").json()["reason"]


def shared(user, memory: str, **wishes) -> Job:
    return make.make_job(user, queue="offline", resources={"device_memory": memory, **wishes})


def test_memory_that_nobody_booked_is_not_given_away_and_is_shown(user, api):
    """C07: 20 of 24 GiB are used by something outside of the scheduler."""
    machine = Machine()
    machine.uses(20 * GIB)
    small, large = shared(user, "3Gi"), shared(user, "10Gi")
    whole = make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    assert [status(job) for job in (small, large, whole)] == ["starting", "pending", "pending"]
    assert reason(api, large)["code"] == "foreign-use"
    assert "1 GiB is left, this job needs 12 GiB" in reason(api, large)["text"]
    shown = api.get(f"/api/v1/devices/{Device.objects.get().pk}").json()
    assert (shown["foreign_mib"], shown["reading"]["memory_used_mib"]) == (20 * GIB, 20 * GIB)
    # What its job uses beyond its booking counts as well, and what went is free again.
    machine.uses(4 * GIB)
    make.run_cycle()
    assert status(large) == JobStatus.STARTING and status(whole) == JobStatus.PENDING


@pytest.mark.parametrize("wish", [{"devices": 1}, {"device_compute_milli": 500, "shareable": True}])
def test_what_ran_before_the_size_of_its_card_was_known_stays_booked(user, api, wish):
    """C11: the driver tells name and size of the card only after a job took it; later it tells less."""
    machine = Machine(uuid=None, model=None, memory_total_mib=None, memory_reserved_mib=None)
    early = make.make_job(user, resources=wish)
    make.run_cycle()
    assert status(early) == JobStatus.STARTING
    for total_mib in (24 * GIB, 8 * GIB):
        machine.tell(memory_total_mib=total_mib)
        beside = shared(user, "20Gi", device_compute_milli=100)
        oversize = shared(user, "30Gi")
        make.run_cycle()
        assert [status(job) for job in (beside, oversize)] == ["pending", "pending"]
        (part,) = Slice.objects.all()
        assert part.placement.job == early and part.device == Device.objects.get()
        assert part.memory_mib == 24 * part.compute_milli * GIB // 1000
        near = api.get(f"/api/v1/jobs/{oversize.pk}/explain").json()["near"]
        assert all(one["available"] >= 0 for one in near)


def test_three_looks_without_an_answer_keep_new_jobs_away_and_touch_no_running_one(user):
    """C32: unknown is not healthy, and a tool that fails is no broken card."""
    machine = Machine()
    first, later = shared(user, "4Gi"), []
    make.run_cycle()
    machine.checked(CheckResult.UNKNOWN, times=2)
    later.append(shared(user, "4Gi"))
    make.run_cycle()
    machine.checked(CheckResult.UNKNOWN, times=1)
    assert Device.objects.get().health == DeviceHealth.UNKNOWN
    later.append(shared(user, "4Gi"))
    make.run_cycle()
    assert [status(job) for job in (first, *later)] == ["starting", "starting", "pending"]
    machine.checked(CheckResult.OK, times=5)
    make.run_cycle()
    assert status(later[1]) == JobStatus.STARTING and Placement.objects.filter(job=first, attempt=1).exists()


@pytest.mark.parametrize(
    "written, answer",
    [("8000Mi", 8000), ("8Gi", 8192), (8000, 8000), ("8000 MB", 7630), ("2000mb", 1908), ("5k", 400)],
)
def test_memory_with_a_unit_is_booked_exactly_or_refused(user, api, written, answer):
    """C17: never ignored, so that three of 8 GB do not run on 16 GB."""
    Machine(memory_total_mib=2 * 8192)
    body = make.body(queue="offline", resources={"device_memory": written, "memory": written})
    answers = [api.post("/api/v1/jobs/submit", body, format="json") for _ in range(3)]
    make.run_cycle()
    if answer == 400:
        assert {one.status_code for one in answers} == {400} and not Job.objects.exists()
        fields = [error["field"] for error in answers[0].json()["errors"]]
        assert fields == ["resources.device_memory", "resources.memory"]
        return
    assert {one.status_code for one in answers} == {201}
    booked = list(Slice.objects.values_list("memory_mib", "placement__host_memory_mib"))
    # The pre-check asks 1.2 times of what is left.
    assert booked == [(answer, answer)] * (1 if answer > 7000 else 3)


def test_a_renamed_machine_is_one_node_and_keeps_its_bookings(user):
    """C40: the twin of its identity is refused elsewhere; here the name changes under a running job."""
    machine = Machine()
    job = shared(user, "4Gi")
    make.run_cycle()
    placement = Placement.objects.get(job=job)
    before = list(Slice.objects.values())
    renamed = facts(machine.card(), hostname="new-name")
    for agent in (machine.agent, Agent(machine.agent.token, "boot-2")):
        agent.report(facts=renamed, facts_digest="renamed")
        reply = agent.report(facts=renamed, facts_digest="renamed")
        assert [one.placement for one in reply.assignments] == [placement.pk]
    assert Node.objects.get().name == "new-name" and Device.objects.count() == 1
    assert list(Slice.objects.values()) == before and status(job) == JobStatus.STARTING


def test_what_was_decided_before_the_size_of_its_card_was_known_is_decided_again(user, monkeypatch):
    """C11: the driver tells the size between the decision and its booking."""
    machine = Machine(memory_total_mib=None, memory_reserved_mib=None)
    early = make.make_job(user, resources={"device_compute_milli": 500, "shareable": True})
    real, told = cycle.apply_placed, []

    def meanwhile(*args, **kwargs):
        if not told:
            told.append(machine.tell())
        return real(*args, **kwargs)

    monkeypatch.setattr(cycle, "apply_placed", meanwhile)
    make.run_cycle()
    make.run_cycle()
    assert status(early) == JobStatus.STARTING and Slice.objects.get().memory_mib == 12 * GIB
    codes = Decision.objects.order_by("pk").values_list("stale_code", flat=True)
    assert list(codes) == ["device-memory", ""]
