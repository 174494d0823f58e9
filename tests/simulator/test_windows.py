"""Deferrable jobs and the valley window, on days that have 23 and 25 hours, too."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scheduling.simulator.windows import Valley
from tests.simulator.runs import HOUR_MS, job, nodes, replay

BERLIN = Valley.parse("22:00-08:00", "Europe/Berlin")


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("at", "opens", "closes"),
    [
        ("2026-01-15T12:00", "2026-01-15T21:00", "2026-01-16T07:00"),
        ("2026-03-28T12:00", "2026-03-28T21:00", "2026-03-29T06:00"),
        ("2026-10-24T12:00", "2026-10-24T20:00", "2026-10-25T07:00"),
    ],
)
def test_the_window_follows_the_clocks_on_the_wall(at, opens, closes):
    opening = BERLIN.next_change_ms(ms(at))
    assert not BERLIN.is_open(ms(at))
    assert (opening, BERLIN.next_change_ms(opening)) == (ms(opens), ms(closes))
    assert BERLIN.is_open(opening) and not BERLIN.is_open(ms(closes)) and BERLIN.is_open(ms(closes) - 1)


def test_an_edge_in_the_hour_that_is_skipped_is_the_jump_itself():
    valley = Valley.parse("02:30-05:00", "Europe/Berlin")
    assert valley.next_change_ms(ms("2026-03-29T00:00")) == ms("2026-03-29T01:00")


def test_a_window_inside_the_skipped_hour_opens_a_day_later():
    valley = Valley.parse("02:10-02:50", "Europe/Berlin")
    assert valley.next_change_ms(ms("2026-03-28T12:00")) == ms("2026-03-30T00:10")


def test_an_hour_that_comes_twice_is_open_twice():
    valley = Valley.parse("02:00-02:30", "Europe/Berlin")
    first = valley.next_change_ms(ms("2026-10-24T12:00"))
    changes = [first]
    for _ in range(3):
        changes.append(valley.next_change_ms(changes[-1]))
    assert changes == [ms(f"2026-10-25T{clock}") for clock in ("00:00", "00:30", "01:00", "01:30")]


@pytest.mark.parametrize(
    "text", ["22-", "22:00", "25:00-08:00", "22:00-22:00", "", "22:00:01-08:00", "22:00:00.5-08:00"]
)
def test_a_bad_window_says_how_to_write_it(text):
    with pytest.raises(ValueError, match="write it like 22:00-08:00"):
        Valley.parse(text, "UTC")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc", "/etc/passwd"])
def test_a_bad_time_zone_says_how_to_write_it(zone):
    with pytest.raises(ValueError, match="is no time zone"):
        Valley.parse("22:00-08:00", zone)


def starts(jobs, *, devices=4, **more):
    _, log = replay(jobs, on=nodes(1, devices=devices), valley=BERLIN, **more)
    return {e["job"]: e["at"] for e in log if e["event"] == "place"}


@pytest.mark.parametrize(
    ("at", "opens"),
    [("2026-03-28T12:00", "2026-03-28T21:00"), ("2026-10-25T12:00", "2026-10-25T21:00")],
)
def test_a_deferrable_job_waits_for_the_night_while_the_cluster_is_busy(at, opens):
    busy = [job(n, at_ms=ms(at), devices=1, run_ms=24 * HOUR_MS) for n in (1, 2, 3)]
    assert starts([*busy, job(4, at_ms=ms(at), deferrable=True)])[4] == ms(opens)


def test_it_starts_early_on_an_idle_cluster_and_at_its_latest_start_on_a_busy_one():
    noon = ms("2026-01-15T12:00")
    assert starts([job(1, at_ms=noon, deferrable=True)]) == {1: noon + 1_800_000}
    busy = [job(n, at_ms=noon, run_ms=24 * HOUR_MS) for n in (1, 2, 3)]
    late = job(4, at_ms=noon, deferrable=True, latest_start_ms=noon + HOUR_MS)
    assert starts([*busy, late])[4] == noon + HOUR_MS


def test_a_run_ends_with_its_last_job_whatever_the_window_does_later():
    noon = ms("2026-01-15T12:00")
    late = job(1, at_ms=noon, deferrable=True, latest_start_ms=noon + 48 * HOUR_MS)
    run, log = replay([late], on=nodes(1), valley=BERLIN)
    assert run.now_ms == log[-1]["at"] == noon + HOUR_MS + 1_800_000
    assert run.meter.whole.span_ms == HOUR_MS + 1_800_000


def test_once_the_cluster_gets_idle_the_half_hour_begins():
    noon = ms("2026-01-15T12:00")
    busy = [job(n, at_ms=noon, run_ms=HOUR_MS) for n in (1, 2, 3)]
    assert starts([*busy, job(4, at_ms=noon, deferrable=True)])[4] == noon + HOUR_MS + 1_800_000


def test_a_night_of_work_is_no_idle_time():
    """The first starts when the window opens and ends after it closed: only then is the cluster idle."""
    evening, quarter_ms = ms("2026-01-15T20:50"), HOUR_MS // 4
    first = job(1, at_ms=evening, devices=4, run_ms=10 * HOUR_MS + quarter_ms, deferrable=True)
    second = job(2, at_ms=evening, devices=4, deferrable=True)
    assert starts([first, second])[2] == ms("2026-01-16T07:15") + HOUR_MS // 2


def test_work_between_two_looks_is_no_idle_time():
    noon = ms("2026-01-15T12:00")
    both = [job(number, at_ms=noon, devices=4, deferrable=True) for number in (1, 2)]
    assert starts(both) == {1: noon + HOUR_MS // 2, 2: noon + 2 * HOUR_MS}


def test_a_short_job_that_went_by_begins_the_half_hour_anew_without_another_event():
    noon = ms("2026-01-15T12:00")
    short = job(2, at_ms=noon + 60_000, run_ms=100 * HOUR_MS)
    assert starts([job(1, at_ms=noon, deferrable=True), short])[1] == noon + 60_000 + HOUR_MS // 2


@pytest.mark.parametrize(("cores", "starts_ms"), [(9, HOUR_MS // 2), (10, HOUR_MS + HOUR_MS // 2)])
def test_without_devices_the_cores_tell_whether_the_cluster_is_idle(cores, starts_ms):
    noon = ms("2026-01-15T12:00")
    busy = job(1, at_ms=noon, devices=0, cores=cores)
    waits = job(2, at_ms=noon, devices=0, cores=1, deferrable=True)
    assert starts([busy, waits], devices=0)[2] == noon + starts_ms
