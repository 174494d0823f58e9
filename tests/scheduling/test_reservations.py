"""Places promised to jobs that waited long: live in the cycle, kept between cycles, shown to owners."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.base import clock
from inventory.models import Device
from queues.models import Job, JobStatus
from scheduling.cycle import Worker
from scheduling.engine.types import Reservation
from scheduling.models import Placement, Promise, ShapeReason
from scheduling.pauses import pause_part
from scheduling.selectors.explanations import explain_job
from scheduling.selectors.fits import fits
from scheduling.selectors.live import keeping, live_view
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def node():
    """Four devices."""
    found = make.make_node(cores=16)
    for index in range(4):
        make.make_device(found, index=index)
    return found


def waiting(user, devices: int, *, minutes: int = 0, **changes) -> Job:
    job = make.make_job(user, resources={"devices": devices}, **changes)
    Job.objects.filter(pk=job.pk).update(submitted_at=clock.now() - timedelta(minutes=minutes))
    return job


def statuses(*jobs: Job) -> list[str]:
    return [Job.objects.get(pk=job.pk).status for job in jobs]


def test_small_jobs_behind_a_large_one_that_waited_long_run_only_until_it_starts(user, node):
    first = waiting(user, 2, time_limit_s=3600)
    make.run_cycle()
    large = waiting(user, 4, minutes=20)
    short = waiting(user, 1, time_limit_s=600)
    long = waiting(user, 1, time_limit_s=7200)
    make.run_cycle()
    assert statuses(first, large, short, long) == ["starting", "pending", "starting", "pending"]
    promise = Promise.objects.get()
    assert (promise.job, promise.node) == (large, node)
    assert abs(promise.starts_at - clock.now() - timedelta(hours=1)) < timedelta(minutes=1)

    told = explain_job(Job.objects.get(pk=large.pk), user)
    assert told["reservation"]["nodes"] == [{"id": node.pk, "name": node.name}]
    assert ShapeReason.objects.get(shape=long.shape).code == "reserved"
    told = explain_job(Job.objects.get(pk=long.pk), user)
    assert told["sentence"]["code"] == "reserved" and told["start_unknown"]["code"] == "start-promised"
    assert told["sentence"]["text"].startswith(f"Waits for the reservation of job {large.pk},")


def test_nothing_that_is_promised_is_offered_to_others(user, node):
    waiting(user, 2, time_limit_s=3600)
    make.run_cycle()
    large, wide = waiting(user, 4, minutes=20), waiting(user, 3)
    make.run_cycle()
    assert explain_job(Job.objects.get(pk=wide.pk), user)["changes"] == []
    small, short = waiting(user, 1, time_limit_s=7200), waiting(user, 1, time_limit_s=300)
    above = waiting(user, 2, queue="inference", time_limit_s=7200)
    higher = waiting(user, 3, queue="inference", time_limit_s=7200)
    free = Device.objects.order_by("index").last()
    told = fits(live_view(), free.pk, user)
    assert [one["id"] for one in told["jobs"]] == [above.pk, short.pk]
    assert told["largest"]["compute_milli"] == 1000
    ShapeReason.objects.create(
        shape=higher.shape, code="device-busy", refusal=ShapeReason.objects.get(shape=wide.shape).refusal
    )
    assert [one["to"] for one in explain_job(higher, user)["changes"]] == [2]
    Job.objects.filter(pk=large.pk).update(status=JobStatus.CANCELLED, finished_at=clock.now())
    told = fits(live_view(), free.pk, user)
    assert [one["id"] for one in told["jobs"]] == [above.pk, small.pk, short.pk]
    assert [one["to"] for one in explain_job(Job.objects.get(pk=wide.pk), user)["changes"]] == [2]


def test_what_is_held_for_a_job_is_not_among_the_most_that_a_node_gives(user, node):
    live, device = live_view(), Device.objects.first()
    before = fits(live, device.pk, user)["largest"]
    place = Reservation(1, node.pk, 0, cpus=(0, 1), host_memory_mib=1024)
    after = fits(replace(live, state=keeping(live.state, [place])), device.pk, user)["largest"]
    assert before["cores"] - after["cores"] == 2
    assert before["host_memory_mib"] - after["host_memory_mib"] == 1024


def test_another_process_keeps_the_promise(user, node):
    waiting(user, 2, time_limit_s=3600)
    make.run_cycle()
    waiting(user, 4, minutes=20)
    make.run_cycle()
    before = list(Promise.objects.values_list("pk", "place"))
    make.run_cycle(Worker())
    assert list(Promise.objects.values_list("pk", "place")) == before


def test_a_paused_queue_keeps_no_place_from_others(user, node):
    first = waiting(user, 2, time_limit_s=3600)
    make.run_cycle()
    large, small = waiting(user, 4, minutes=20), waiting(user, 1, queue="offline", time_limit_s=7200)
    make.run_cycle()
    assert Promise.objects.get().job == large
    pause_part(user, large.queue, reason="")
    make.run_cycle()
    assert statuses(first, large, small) == ["starting", "pending", "starting"]
    assert not Promise.objects.exists()


def test_the_promise_ends_with_its_job(user, node):
    waiting(user, 2, time_limit_s=3600)
    make.run_cycle()
    large, small = waiting(user, 4, minutes=20), waiting(user, 1)
    make.run_cycle()
    assert Promise.objects.count() == 1 and statuses(small) == ["pending"]
    Job.objects.filter(pk=large.pk).update(status=JobStatus.CANCELLED, finished_at=clock.now())
    make.run_cycle()
    assert statuses(small) == ["starting"] and not Promise.objects.exists()


def test_what_nobody_knows_the_end_of_is_taken_to_run_as_long_again(user, node):
    running = waiting(user, 2)
    make.run_cycle()
    Placement.objects.filter(job=running).update(assigned_at=clock.now() - timedelta(hours=3))
    waiting(user, 4, minutes=20)
    make.run_cycle(Worker())
    starts_in = Promise.objects.get().starts_at - clock.now()
    assert abs(starts_in - timedelta(hours=3)) < timedelta(minutes=1)


def test_batches_of_one_cycle_keep_the_promise(user, node, monkeypatch):
    monkeypatch.setattr("scheduling.cycle.BATCH", 1)
    waiting(user, 2, time_limit_s=3600)
    make.run_cycle()
    waiting(user, 4, minutes=20)
    long, short = waiting(user, 1), waiting(user, 1, time_limit_s=60)
    make.run_cycle()
    assert statuses(long, short) == ["pending", "starting"]
