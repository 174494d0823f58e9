"""Caps and promises hold over a whole run, whatever comes and goes; nobody is asked to leave."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.codec import encode
from scheduling.engine.types import EnginePolicy, Request, TeamCap
from scheduling.simulator.failures import FailureModel
from scheduling.simulator.policy import INFERENCE, OFFLINE, TRAINING, preset
from scheduling.simulator.report import report_of, tables
from scheduling.simulator.settings import Order
from scheduling.simulator.workload import generate
from tests.simulator.checking import check
from tests.simulator.runs import HOUR_MS, job, nodes, replay

CLONE = Path(__file__).resolve().parents[2]
MINUTE_MS = 60_000
PLAIN = preset("sample")
CAPPED = replace(PLAIN, capped=True)
PATIENT = replace(PLAIN, reserve_after_ms=10 * MINUTE_MS)


def starts(jobs, policy: EnginePolicy, *, on=None, **more) -> dict[int, int]:
    _, log = replay(sorted(jobs, key=lambda j: j.submitted_ms), on=on or nodes(1), policy=policy, **more)
    assert check(log).problems == []
    return {e["job"]: e["at"] for e in log if e["event"] == "place"}


@pytest.mark.parametrize("order", Order)
def test_what_runs_counts_under_the_caps_of_later_plans(order):
    """30 % of eight devices are two."""
    jobs = [job(n, at_ms=n, queue=INFERENCE) for n in range(1, 5)]
    found = starts(jobs, CAPPED, on=nodes(1, devices=8), order=order)
    assert found == {1: 1, 2: 2, 3: HOUR_MS + 1, 4: HOUR_MS + 2}
    assert starts(jobs, PLAIN, on=nodes(1, devices=8), order=order) == {n: n for n in range(1, 5)}


def test_cores_without_devices_count_as_well():
    """30 % of sixteen cores are four."""
    jobs = [job(n, at_ms=n, queue=INFERENCE, devices=0, cores=3) for n in (1, 2)]
    assert starts(jobs, CAPPED) == {1: 1, 2: HOUR_MS + 1}


def test_the_cap_of_one_team_keeps_no_other_back():
    queues = tuple(
        replace(queue, team_caps=(TeamCap(7, None, 1000),)) if queue.queue == TRAINING else queue
        for queue in PLAIN.queues
    )
    jobs = [job(1, at_ms=1, team=7), job(2, at_ms=2, team=7), job(3, at_ms=3, team=8)]
    found = starts(jobs, replace(CAPPED, queues=queues))
    assert found == {1: 1, 3: 3, 2: HOUR_MS + 1}


def held_at_most(log, jobs) -> Counter[int]:
    """Device-milli by queue."""
    queues, now, most = {j.job: j.queue for j in jobs}, Counter[int](), Counter[int]()
    milli: dict[int, int] = {}
    for event in log:
        number = event.get("job")
        if event["event"] == "place":
            milli[number] = sum(share for part in event["parts"] for _, _, share in part["devices"])
            now[queues[number]] += milli[number]
            most |= now
        elif event["event"] == "end":
            now[queues[number]] -= milli.pop(number)
    return most


@settings(max_examples=4, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), patient=st.booleans())
def test_no_queue_ever_holds_more_than_its_cap(seed, patient):
    jobs = list(generate(30, capacity_milli=16_000, load_percent=150, seed=seed))
    policy = replace(CAPPED, reserve_after_ms=MINUTE_MS if patient else None)
    run, log = replay(jobs, on=nodes(2, devices=8, cores=64), policy=policy, seed=seed)
    most = held_at_most(log, jobs)
    assert check(log).problems == []
    assert most[INFERENCE] <= 4800 and most[TRAINING] <= 8000 and most[OFFLINE] <= 3200
    assert run.work.completed + run.pending.count == 30


def test_a_large_job_is_not_passed_for_ever():
    """Small ones that come all the time leave it no room unless it is promised some."""
    small = [job(n, at_ms=15 * MINUTE_MS * n) for n in range(1, 41)]
    large = job(100, at_ms=HOUR_MS, devices=4)
    assert starts([*small, large], PLAIN)[100] > 10 * HOUR_MS
    found = starts([*small, large], PATIENT)
    # Ten minutes later those that run then have an end, and nobody who comes after passes.
    assert found[100] == 2 * HOUR_MS
    assert min(at for number, at in found.items() if 4 < number < 100) >= 75 * MINUTE_MS


def test_the_short_pass_as_long_as_they_are_gone_in_time():
    busy = [job(n, run_ms=n * HOUR_MS) for n in (1, 2, 3)]
    large = job(4, at_ms=1, devices=4)
    late = 20 * MINUTE_MS
    short, long = job(5, at_ms=late, run_ms=HOUR_MS), job(6, at_ms=late + 1, run_ms=9 * HOUR_MS)
    found = starts([*busy, large, short, long], PATIENT)
    assert found[4] == 3 * HOUR_MS
    assert found[5] == late and found[6] == 4 * HOUR_MS


def test_a_long_job_gets_no_device_that_is_kept_for_another():
    """The one that is free all the time is of the node on which the third starts first."""
    jobs = [job(1, devices=4, run_ms=3 * HOUR_MS), job(2, devices=3, run_ms=2 * HOUR_MS)]
    jobs += [job(3, at_ms=1, devices=4), job(4, at_ms=2, devices=2, run_ms=9 * HOUR_MS)]
    found = starts(jobs, PATIENT, on=nodes(2))
    assert found == {1: 0, 2: 0, 3: 2 * HOUR_MS, 4: 3 * HOUR_MS}


@settings(max_examples=5, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), order=st.sampled_from(Order), capped=st.booleans())
def test_promises_book_nothing_twice_and_lose_no_work(seed, order, capped):
    jobs = list(generate(25, capacity_milli=8000, load_percent=200, seed=seed))
    run, log = replay(
        jobs,
        on=nodes(2, devices=4, cores=40),
        policy=replace(PATIENT, capped=capped),
        order=order,
        seed=seed,
        cycle_ms=seed % 3 * 20_000,
        failures=FailureModel(mtbf_h=24, repair_h=1) if seed % 2 else None,
    )
    found = check(log)
    assert found.problems == [] and found.finished_milli_ms == run.work.done
    ended = run.work.completed + run.work.given_up
    assert ended + run.pending.count + len(run.running) == run.work.submitted == 25


def test_nobody_is_asked_to_leave_and_the_report_says_so():
    jobs = [job(1, queue=OFFLINE, devices=4), job(2, at_ms=1, queue=INFERENCE, devices=4)]
    found = [starts(jobs, replace(PATIENT, preempts=preempts)) for preempts in (False, True)]
    assert found[0] == found[1] == {1: 0, 2: HOUR_MS}
    run, _ = replay(jobs, on=nodes(1), policy=replace(PATIENT, preempts=True))
    report = report_of(run, trace="t")
    assert report["assumptions"]["preemption"].startswith("not simulated")
    assert "preemption: not simulated" in tables(report) and "run_times: known" in tables(report)


def test_hash_seeds_change_nothing(tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text(encode(replace(PATIENT, capped=True)))
    command = ["--jobs", "60", "--cluster", "2x8", "--load", "150", "--policy", str(policy), "--json"]
    logs = []
    for seed in ("1", "2"):
        log = tmp_path / seed
        out = subprocess.run(
            [sys.executable, "-m", "scheduling.simulator", *command, "--events", str(log)],
            cwd=CLONE,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        logs.append((out.stdout, log.read_bytes()))
    assert logs[0] == logs[1]


def test_a_request_of_its_own_still_waits_for_none():
    """Equal jobs of one queue share a fate under caps, others do not."""
    wide = Request(devices=1, cores=2)
    jobs = [job(n, queue=INFERENCE, at_ms=n, request=wide) for n in (1, 2)]
    jobs += [job(3, at_ms=3, request=wide)]
    assert starts(jobs, CAPPED) == {1: 1, 3: 3, 2: HOUR_MS + 1}
