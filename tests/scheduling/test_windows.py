"""Jobs that wait for the valley window: by the clocks of its zone, sooner on an idle cluster, never too late."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from controlplane.base import clock
from controlplane.policy.document import ValleyWindow
from queues.models import Job, JobEvent, JobStatus, Lull
from scheduling import deferring
from scheduling.deferring import coming_windows, season
from scheduling.models import Placement
from tests.scheduling import factories as make

# The defaults: 22:00 to 08:00 in UTC.
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"])
TIMES = st.builds("{:02d}:{:02d}".format, st.integers(0, 23), st.integers(0, 59))
# Around the days of two years on which clocks change.
MOMENTS = st.integers(1_767_225_600, 1_830_000_000).map(lambda at_s: datetime.fromtimestamp(at_s, UTC))
PATIENT = settings(max_examples=40, deadline=None)


def window(opens="22:00", closes="08:00", zone="UTC") -> ValleyWindow:
    return ValleyWindow(from_=opens, to=closes, time_zone=zone, early_below_percent=60, early_after_s=1800)


@PATIENT
@given(TIMES, TIMES, ZONES, MOMENTS)
def test_a_closed_window_opens_when_it_says(opens, closes, zone, now):
    valley = window(opens, closes, zone)
    found = season(valley, now, None)
    if found.code is None and opens != closes:
        assert found.opens_at > now
        assert season(valley, found.opens_at, None).code == deferring.OPENED
        assert season(valley, found.opens_at - timedelta(milliseconds=1), None).code is None


@PATIENT
@given(TIMES, TIMES, ZONES, MOMENTS)
def test_the_calendar_agrees_with_the_season(opens, closes, zone, now):
    valley = window(opens, closes, zone)
    spans = coming_windows(valley, now, days=3)
    for moment in (now + timedelta(minutes=97 * step) for step in range(44)):
        inside = any(start <= moment < end for start, end in spans)
        assert inside == (season(valley, moment, None).code == deferring.OPENED)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


@PATIENT
@given(MOMENTS, st.integers(0, 3600))
def test_an_idle_cluster_opens_early_and_only_after_the_time(now, idle_s):
    found = season(window("22:00", "22:00"), now, now - timedelta(seconds=idle_s))
    assert (found.code == deferring.QUIET) == (idle_s >= 1800)


@pytest.mark.parametrize(
    ("at", "opens"),
    [
        # Clocks go from 02:00 to 03:00: the night is an hour shorter.
        ("2026-03-29T12:00:00+02:00", "2026-03-29T22:00:00+02:00"),
        ("2026-03-28T12:00:00+01:00", "2026-03-28T22:00:00+01:00"),
        # And back: the same wall clock, another offset.
        ("2026-10-25T12:00:00+01:00", "2026-10-25T22:00:00+01:00"),
    ],
)
def test_the_wall_clock_decides_on_days_of_23_and_25_hours(at, opens):
    found = season(window(zone="Europe/Berlin"), datetime.fromisoformat(at), None)
    assert found.opens_at == datetime.fromisoformat(opens)


def test_nights_in_which_clocks_change_are_an_hour_shorter_or_longer():
    hours = [
        (end - start).total_seconds() / 3600
        for day in ("2026-03-28", "2026-10-24", "2026-06-01")
        for start, end in coming_windows(
            window(zone="Europe/Berlin"), datetime.fromisoformat(f"{day}T12:00:00+00:00"), days=1
        )
    ]
    assert hours == [9, 11, 10]


class Time:
    def __init__(self) -> None:
        self.at = NOON

    def later(self, **span: float) -> None:
        self.at += timedelta(**span)
        make.run_cycle()


@pytest.fixture
def time(monkeypatch):
    moved = Time()
    monkeypatch.setattr(clock, "now", lambda: moved.at)
    monkeypatch.setattr(clock, "now_ms", lambda: clock.to_ms(moved.at))
    return moved


@pytest.fixture
def user(db):
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def busy(user):
    """A device in use and one that is free: half is booked, yet somebody else waits."""
    node = make.make_node(cores=8)
    for index in range(2):
        make.make_device(node, index=index)
    make.make_job(user, resources={"devices": 1})
    make.make_job(user, resources={"devices": 2})
    make.run_cycle()
    return node


def fresh(job: Job) -> Job:
    job.refresh_from_db()
    return job


def deferrable(user, **changes) -> Job:
    return make.make_job(user, deferrable=True, resources={"devices": 1}, **changes)


def test_a_deferrable_job_waits_for_the_window_and_says_until_when(user, busy, time):
    job = deferrable(user)
    time.later(minutes=30)
    assert (fresh(job).status, job.held_for) == (JobStatus.HELD, "window")
    api = APIClient()
    api.force_login(user)
    said = api.get(f"/api/v1/jobs/{job.pk}").json()["reason"]
    assert said["text"] == "It waits for a quieter time; the valley window opens in 9 h 30 min."
    assert said["params"]["opens_at"] == "2026-05-04T22:00:00+00:00"
    explained = api.get(f"/api/v1/jobs/{job.pk}/explain").json()
    assert explained["sentence"] == said
    shown = api.get("/api/v1/valley?days=2").json()
    assert (shown["open"], shown["windows"][0]) == (
        False,
        {"opens_at": "2026-05-04T22:00:00Z", "closes_at": "2026-05-05T08:00:00Z"},
    )
    time.later(hours=9, minutes=30)
    assert fresh(job).status == JobStatus.STARTING and job.held_ms == 10 * 3_600_000
    assert JobEvent.objects.filter(job=job, code="window-opened").exists()


def test_one_that_got_no_place_in_the_window_waits_for_the_next(user, busy, time):
    blocker, job = deferrable(user), deferrable(user)
    time.later(hours=11)
    assert [fresh(one).status for one in (blocker, job)] == [JobStatus.STARTING, JobStatus.PENDING]
    time.later(hours=10)
    assert (fresh(job).status, job.held_for) == (JobStatus.HELD, "window")


def test_the_latest_start_lets_it_go_outside_of_the_window(user, busy, time):
    job = deferrable(user, latest_start=(NOON + timedelta(hours=2)).isoformat())
    bound = deferrable(
        user, latest_finish=(NOON + timedelta(hours=5)).isoformat(), time_limit_s=2 * 3600, on_late="tell"
    )
    assert fresh(bound).latest_start == NOON + timedelta(hours=3)
    time.later(hours=1, minutes=59)
    assert {fresh(one).status for one in (job, bound)} == {JobStatus.HELD}
    time.later(minutes=1)
    assert fresh(job).status == JobStatus.STARTING
    time.later(hours=1)
    assert fresh(bound).status == JobStatus.PENDING


def test_a_cluster_that_was_idle_for_long_enough_lets_it_go(user, time):
    make.make_device(make.make_node())
    make.run_cycle()
    assert Lull.objects.get().since == NOON
    time.later(minutes=20)
    job = deferrable(user)
    time.later(minutes=9)
    assert fresh(job).status == JobStatus.HELD
    time.later(minutes=1)
    assert fresh(job).status == JobStatus.STARTING
    assert JobEvent.objects.filter(job=job, code="cluster-quiet").exists()


def test_who_waits_for_the_same_capacity_ends_the_quiet(user, time):
    make.make_device(make.make_node())
    make.run_cycle()
    make.make_job(user, resources={"devices": 5})
    job = deferrable(user)
    time.later(minutes=40)
    assert fresh(job).status == JobStatus.HELD and not Lull.objects.exists()
    assert not Placement.objects.filter(job=job).exists()


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"deferrable": "yes"}, "deferrable", "type"),
        ({"latest_start": "2099-01-01T00:00:00Z"}, "latest_start", "not-deferrable"),
        (
            {"deferrable": True, "latest_finish": "2099-01-01T00:00:00Z"},
            "latest_finish",
            "time-limit-missing",
        ),
        ({"deferrable": True, "latest_start": "2001-01-01T00:00:00Z"}, "latest_start", "in-the-past"),
    ],
)
def test_odd_wishes_name_their_field(user, changes, field, code):
    api = APIClient()
    api.force_login(user)
    answer = api.post("/api/v1/jobs/submit", make.body(**changes), format="json")
    assert [(e["field"], e["code"]) for e in answer.json()["errors"]] == [(field, code)]
