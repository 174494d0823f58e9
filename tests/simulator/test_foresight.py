"""What is known of run times: of those that ended, and of the rest for how long they have run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.engine.types import Patience
from scheduling.simulator.foresight import LAST, REFRESH_MS, Knows, RunTimes
from scheduling.simulator.policy import preset
from tests.simulator.runs import HOUR_MS, job, nodes, replay

SHORT_FIRST = replace(preset("sample"), patience=Patience(times=10, most_ms=48 * HOUR_MS, unknown_ms=HOUR_MS))


def test_the_middle_of_the_last_starts_tells_and_who_runs_counts_twice_its_age():
    times, next_one = RunTimes(Knows.HISTORY, SHORT_FIRST), job(99)
    assert times.runs_ms(next_one, 7, 0) is None, "none of its kind has started"
    for number, ran_ms in enumerate((5000, 1000, 3000)):
        times.started(job(number), 0)
        times.left(job(number), ran_ms)
    assert times.renewed(5000) and times.runs_ms(next_one, 7, 5000) == 3000
    for number in (10, 11, 12):
        times.started(job(number), 5000)
    assert times.runs_ms(next_one, 7, 6000) == 3000 and not times.renewed(6000), "looked at now and then"
    later_ms = 5000 + REFRESH_MS
    assert times.renewed(later_ms) and times.runs_ms(next_one, 7, later_ms) == 5000
    assert times.renewed(5000 + 3 * HOUR_MS) and times.runs_ms(next_one, 7, 5000 + 3 * HOUR_MS) == 5000
    for number in range(20, 20 + LAST):
        times.started(job(number), 5000 + 3 * HOUR_MS)
    end_ms = 5000 + 4 * HOUR_MS
    assert times.renewed(end_ms) and times.runs_ms(next_one, 7, end_ms) == 2 * HOUR_MS
    assert times.runs_ms(job(98, devices=2), 7, end_ms) is None, "another kind"
    assert RunTimes(Knows.DURATIONS, SHORT_FIRST).runs_ms(next_one, 7, 0) == 7


@pytest.mark.parametrize("knows", Knows)
def test_short_jobs_pass_a_long_one_within_its_patience_only(knows: Knows):
    """One device. Jobs of two devices' team run long, as the first of them shows; small ones are short."""
    long, short = {"devices": 2, "run_ms": 30 * HOUR_MS}, {"devices": 1, "run_ms": HOUR_MS}
    jobs = [
        job(1, at_ms=0, **long),
        job(2, at_ms=1, **long),
        *(job(number, at_ms=number * HOUR_MS, **short) for number in range(3, 140)),
    ]
    run, log = replay(jobs, on=nodes(1, devices=2), policy=SHORT_FIRST, knows=knows)
    starts = {event["job"]: event["at"] for event in log if event["event"] == "place"}
    assert run.work.completed == len(jobs)
    passed = [n for n in range(3, 140) if starts[n] < starts[2]]
    assert passed and max(passed) * HOUR_MS <= 49 * HOUR_MS
