"""Caps of queues, quotas of teams and shares of members, from the rows to the reason on a job's page."""

from __future__ import annotations

import pytest

from controlplane.policy import service
from queues.models import Job, JobStatus, MemberShare, Queue, TeamQuota
from queues.submission import Submission, accept
from scheduling import cycle
from scheduling.cycle import Worker
from scheduling.models import Cycle, Decision, Placement, ShapeReason, Slice
from scheduling.selectors.dryrun import dry_run
from scheduling.selectors.explanations import explain_job
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues(capped=True)
    return make.make_user(team=make.make_team())


def cards(count: int, **columns) -> None:
    for _ in range(count):
        make.make_device(make.make_node(cores=4), **columns)


def policy(quota: str, **fields: str) -> None:
    more = "".join(f", {name.replace('_', '-')}: {value}" for name, value in fields.items())
    queues = f"[{{name: training, priority: 70, quota: {quota}{more}}}, {{name: offline, priority: 30}}]"
    service.activate(f"scheduler: {{queue-policy: {{queues: {queues}}}}}", author=None, reason="test")


def started() -> int:
    return Job.objects.filter(status=JobStatus.STARTING).count()


def test_a_queue_gets_exactly_its_cap(user):
    """Ten cards, 50 %: five of eight jobs start, whole cards, and the others say why with the numbers."""
    cards(10)
    jobs = [make.make_job(user, resources={"devices": 1}) for _ in range(8)]
    make.run_cycle()
    assert started() == 5 == Slice.objects.count()
    make.run_cycle()
    assert started() == 5
    assert ShapeReason.objects.get().code == "queue-cap"
    found = explain_job(jobs[-1], user)
    assert found["sentence"]["code"] == "queue-cap"
    assert found["sentence"]["text"] == (
        "Devices that queue training may hold: 5. It holds 5, and this job needs 1."
    )
    cap = found["cap"]
    assert (cap["kind"], cap["queue"], cap["unit"]) == ("queue", "training", "device-milli")
    assert (cap["cap_milli"], cap["held_milli"], cap["asked_milli"]) == (5000, 5000, 1000)
    assert cap["holders_total"] == 5 and [h["milli"] for h in cap["holders"]] == [1000] * 5
    assert found["estimate"] is None and found["near"] == []


def test_what_ends_makes_room_under_the_cap(user):
    cards(4)
    jobs = [make.make_job(user, resources={"devices": 1}) for _ in range(3)]
    make.run_cycle()
    assert started() == 2
    first = Placement.objects.get(job=jobs[0])
    make.report(first.node, make.ended(first))
    make.run_cycle()
    assert Job.objects.get(pk=jobs[2].pk).status == JobStatus.STARTING


def test_batches_and_rounds_never_pass_the_cap(user, monkeypatch):
    monkeypatch.setattr("scheduling.cycle.BATCH", 3)
    cards(20)
    for _ in range(20):
        make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    assert started() == 10


def test_fractions_count_as_what_they_are(user):
    """Two cards, 20 % for offline: 400 milli are one job of 400, or the first of 500 by the rule for empty queues."""
    cards(2)
    for _ in range(3):
        make.make_job(user, queue="offline", resources={"device_compute_milli": 200})
    make.run_cycle()
    assert started() == 2


def test_jobs_without_devices_share_cores(user):
    make.make_node(cores=10)
    for _ in range(4):
        make.make_job(user, resources={"cores": 2})
    make.run_cycle()
    assert started() == 2
    waiting = Job.objects.filter(status=JobStatus.PENDING).first()
    text = explain_job(waiting, user)["sentence"]["text"]
    assert text == (
        "Cores that jobs without devices may hold in queue training: 5. They hold 4, and this job needs 2."
    )


def test_a_cap_on_one_model_leaves_the_others_free(user):
    policy("100%", model_caps="{a100: 50%}")
    cards(2)
    cards(2, model="Tesla T4")
    picky = [make.make_job(user, resources={"devices": 1, "device_models": ["a100"]}) for _ in range(2)]
    make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    assert started() == 2
    assert sorted(Slice.objects.values_list("device__model", flat=True))[-1] == "Tesla T4"
    found = explain_job(picky[1], user)
    assert found["sentence"]["text"] == (
        "Devices a100 that queue training may hold: 1. It holds 1, and this job needs 1."
    )


def test_a_job_under_a_cap_is_told_when_the_cap_lets_it_start(user):
    cards(4)
    jobs = [make.make_job(user, resources={"devices": 1}, time_limit_s=600 * n) for n in (2, 1, 3)]
    make.run_cycle()
    assert started() == 2
    found = explain_job(jobs[2], user)
    assert found["sentence"]["code"] == "queue-cap"
    assert [one["job"] for one in found["estimate"]["after_jobs"]] == [jobs[1].pk]
    assert not found["estimate"]["is_earliest"]


def test_a_team_is_kept_within_its_quota_and_a_member_within_the_share(user):
    policy("100%")
    cards(8)
    team, queue = user.memberships.get().team, Queue.objects.get(name="training")
    quota = TeamQuota.objects.create(queue=queue, team=team, quota_milli=3000)
    MemberShare.objects.create(quota=quota, user=user, share_milli=1000)
    other = make.make_user("bob", team=team)
    mine = [make.make_job(user, resources={"devices": 1}) for _ in range(2)]
    make.run_cycle()
    assert started() == 1
    assert explain_job(mine[1], user)["sentence"]["text"] == (
        "Devices that ada may hold for team vision in queue training: 1. Held are 1, and this job needs 1."
    )
    accepted = accept(Submission(user, make.body(resources={"devices": 1})))
    trial = dry_run(accepted, user)
    assert trial["refusal"]["sentence"]["code"] == "member-share"
    theirs = [make.make_job(other, resources={"devices": 1}) for _ in range(3)]
    stranger = make.make_user("eve", team=make.make_team("speech"))
    foreign = make.make_job(stranger, resources={"devices": 1})
    make.run_cycle()
    assert started() == 4
    found = explain_job(theirs[2], other)
    assert found["sentence"]["text"] == (
        "Devices that team vision may hold in queue training: 3. It holds 3, and this job needs 1."
    )
    assert found["cap"]["holders_total"] == 3
    assert Job.objects.get(pk=foreign.pk).status == JobStatus.STARTING


def test_a_quota_lowered_below_use_ends_nothing_and_starts_nothing(user):
    """C28: what runs goes on, nothing new starts before enough of it has ended."""
    policy("100%")
    cards(4)
    jobs = [make.make_job(user, resources={"devices": 1}) for _ in range(5)]
    make.run_cycle()
    assert started() == 4
    policy("25%")
    for number, running in enumerate((3, 2, 1, 1)):
        placement = Placement.objects.get(job=jobs[number])
        make.report(placement.node, make.ended(placement))
        make.run_cycle()
        assert Slice.objects.count() == running
    assert Job.objects.get(pk=jobs[4].pk).status == JobStatus.STARTING


def test_a_decision_made_under_other_caps_is_refused(user, monkeypatch):
    """The quota changes while a cycle is under way: what it decided before is not started any more."""
    policy("100%")
    cards(3)
    for _ in range(3):
        make.make_job(user, resources={"devices": 1})
    real, changed = cycle.apply_placed, []

    def meanwhile(*args, **kwargs):
        if not changed:
            changed.append(policy("34%"))
        return real(*args, **kwargs)

    monkeypatch.setattr(cycle, "apply_placed", meanwhile)
    make.run_cycle(Worker())
    assert set(Decision.objects.values_list("stale_code", flat=True)) == {"caps-changed", ""}
    assert started() == 1 and Cycle.objects.count() == 1


def test_a_closed_queue_keeps_its_cap(user):
    cards(4)
    for _ in range(4):
        make.make_job(user, resources={"devices": 1})
    queues = "[{name: offline, priority: 30}]"
    service.activate(f"scheduler: {{queue-policy: {{queues: {queues}}}}}", author=None, reason="test")
    make.run_cycle()
    assert started() == 2


def test_idle_capacity_is_borrowed_last_and_comes_back_as_jobs_end(user):
    """20 % of five cards is one; the queue takes two more that nobody wants, and the lender's jobs come first."""
    queues = (
        "[{name: training, priority: 70, quota: 40%}, "
        "{name: offline, priority: 90, quota: 20%, preemptable: true, borrow: true}]"
    )
    service.activate(f"scheduler: {{queue-policy: {{queues: {queues}}}}}", author=None, reason="test")
    cards(5)
    borrowers = [make.make_job(user, queue="offline", resources={"devices": 1}) for _ in range(6)]
    make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    assert Slice.objects.count() == 5
    assert Slice.objects.filter(placement__job__queue__name="training").count() == 1
    marks = Placement.objects.filter(job__queue__name="offline").order_by("pk")
    assert list(marks.values_list("borrowed", flat=True)) == [False, True, True, True]
    # The lender wants its second card: the next that comes free is its own, whoever was first in line.
    lender = make.make_job(user, resources={"devices": 1})
    freed = Placement.objects.get(job=borrowers[0])
    make.report(freed.node, make.ended(freed))
    make.run_cycle()
    assert Job.objects.get(pk=lender.pk).status == JobStatus.STARTING
    assert Slice.objects.filter(placement__job__queue__name="offline").count() == 3


def test_a_job_borrows_where_its_own_queue_is_the_only_cap_whichever_cap_its_refusal_names(user):
    """Half a T4 more would do by the team's quota, but only borrowed A100 are really there."""
    queues = (
        "[{name: training, priority: 70}, "
        "{name: offline, priority: 90, preemptable: true, borrow: true, model-caps: {a100: 0%}}]"
    )
    service.activate(f"scheduler: {{queue-policy: {{queues: {queues}}}}}", author=None, reason="test")
    team, queue = user.memberships.get().team, Queue.objects.get(name="offline")
    TeamQuota.objects.create(queue=queue, team=team, model="T4", quota_milli=500)
    cards(2, model="Tesla T4")
    make.make_job(user, queue="offline", resources={"device_compute_milli": 200})
    make.run_cycle()
    assert Slice.objects.get().device.model == "Tesla T4"
    cards(2)
    make.make_job(user, queue="offline", resources={"devices": 1})
    make.run_cycle()
    borrowed = Slice.objects.get(placement__borrowed=True)
    assert borrowed.device.model == "NVIDIA A100-PCIE-40GB"
