"""What a run must be whatever the workload: nothing booked twice, no work lost or invented, the same every time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.types import PPM, Request
from scheduling.simulator.cluster import Hardware
from scheduling.simulator.failures import FailureModel
from scheduling.simulator.log import line_of
from scheduling.simulator.report import report_of, tables
from scheduling.simulator.settings import Order
from scheduling.simulator.workload import generate
from tests.simulator.checking import check
from tests.simulator.runs import HOUR_MS, job, nodes, replay


def crooked(seed: int, *, order: Order, fails: bool, slow: bool):
    """A run in which everything happens at once."""
    jobs = list(generate(20, capacity_milli=8000, load_percent=150, seed=seed))
    return replay(
        jobs,
        on=nodes(2, devices=4, cores=20),
        hardware=Hardware(read_mib_s=3_000 if slow else None, read_is_told=seed % 2 == 0),
        order=order,
        seed=seed,
        cycle_ms=seed % 3 * 20_000,
        failures=FailureModel(mtbf_h=24, repair_h=1) if fails else None,
    )


@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), order=st.sampled_from(Order), fails=st.booleans(), slow=st.booleans())
def test_nothing_is_booked_twice_and_work_is_conserved(seed, order, fails, slow):
    run, log = crooked(seed, order=order, fails=fails, slow=slow)
    found = check(log)
    assert found.problems == []
    assert len(found.work) == run.work.submitted == 20
    assert found.finished_milli_ms == run.work.done
    assert found.booked_milli_ms == run.meter.whole.booked
    assert len(found.finished) == run.work.completed
    assert run.work.completed + run.pending.count + len(run.running) == run.work.submitted
    assert run.cluster.totals.booked_milli == 0 or run.running
    # Nothing goes on after the last thing that happened, but for one more look at what waits.
    assert 0 <= run.now_ms - log[-1]["at"] <= (run.settings.cycle_ms if run.pending.count else 0)


@settings(max_examples=3, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_the_same_arguments_give_the_same_bytes(seed):
    first, second = (crooked(seed, order=Order.PLAN, fails=True, slow=True) for _ in range(2))
    assert "".join(map(line_of, first[1])) == "".join(map(line_of, second[1]))
    assert report_of(first[0], trace="t") == report_of(second[0], trace="t")


def test_jobs_start_in_order_and_a_large_one_waits_until_others_leave():
    run, log = replay([job(n, at_ms=n) for n in range(1, 8)] + [job(8, at_ms=10, devices=4)])
    placed = {e["job"]: e["at"] for e in log if e["event"] == "place"}
    # Jobs 1 to 4 or 5 to 7 leave one node whole; the larger number of them is not waited for.
    assert placed == {**{n: n for n in range(1, 8)}, 8: placed[8]}
    assert HOUR_MS < placed[8] <= HOUR_MS + 7
    assert run.work.completed == 8
    assert check(log).problems == []


def test_fifo_lets_nobody_pass():
    jobs = [job(1, devices=3), job(2, at_ms=1, devices=4), job(3, at_ms=2, devices=1)]
    one = nodes(1)
    greedy = {e["job"]: e["at"] for e in replay(jobs, on=one)[1] if e["event"] == "place"}
    fifo = {e["job"]: e["at"] for e in replay(jobs, on=one, order=Order.FIFO)[1] if e["event"] == "place"}
    assert greedy == {1: 0, 3: 2, 2: HOUR_MS + 2}
    assert fifo == {1: 0, 2: HOUR_MS, 3: 2 * HOUR_MS}


def test_a_gang_starts_whole_or_not_at_all():
    jobs = [job(1, devices=4), job(2, at_ms=1, devices=4, replicas=2), job(3, at_ms=2, devices=4)]
    _, log = replay(jobs)
    placed = [
        (e["job"], e["at"], sorted(p["node"] for p in e["parts"])) for e in log if e["event"] == "place"
    ]
    assert [(number, at) for number, at, _ in placed] == [(1, 0), (3, 2), (2, HOUR_MS + 2)]
    assert placed[2][2] == [1, 2]


def test_the_first_of_two_equal_gangs_starts_where_there_is_room_for_one():
    run, log = replay([job(1, devices=4, replicas=2), job(2, devices=4, replicas=2)])
    assert [(e["job"], e["at"]) for e in log if e["event"] == "place"] == [(1, 0), (2, HOUR_MS)]
    assert run.work.completed == 2


def test_starved_cores_halve_the_speed_as_the_formula_says():
    _, log = replay([job(1, cores=4, cpu_need_milli=8_000)])
    assert [e["ppm"] for e in log if e["event"] == "speed"] == [PPM // 2]
    assert log[-1] == {"at": 2 * HOUR_MS, "event": "end", "job": 1}


def test_readers_of_one_node_share_its_bandwidth_and_speed_up_when_one_leaves():
    reads = Request(devices=1, cores=1, read_bandwidth_mib_s=1000)
    jobs = [job(1, request=reads, run_ms=HOUR_MS), job(2, request=reads, run_ms=2 * HOUR_MS)]
    run, log = replay(jobs, on=nodes(1), hardware=Hardware(read_mib_s=1000, read_is_told=False))
    ends = {e["job"]: e["at"] for e in log if e["event"] == "end"}
    assert ends == {1: 2 * HOUR_MS, 2: 3 * HOUR_MS}
    # The end that job 2 would have had beside job 1 is no part of the run.
    assert run.meter.whole.span_ms == run.now_ms == 3 * HOUR_MS
    assert check(log).problems == []


def test_readers_wait_for_one_another_where_the_engine_knows_the_bandwidth():
    reads = Request(devices=1, cores=1, read_bandwidth_mib_s=1000)
    run, log = replay(
        [job(1, request=reads), job(2, request=reads)], on=nodes(1), hardware=Hardware(read_mib_s=1000)
    )
    assert [e["ppm"] for e in log if e["event"] == "speed"] == [PPM, PPM]
    assert run.now_ms == 2 * HOUR_MS
    assert run.meter.whole.false_shortage_ms == HOUR_MS


def test_an_image_is_pulled_once_per_node_and_the_pull_is_part_of_the_account():
    image = Request(devices=1, cores=1, image="train:1", image_mib=2000)
    jobs = [job(n, at_ms=n * 2 * HOUR_MS, request=image) for n in (0, 1)]
    run, _ = replay(jobs, on=nodes(1), hardware=Hardware(pull_mib_s=100))
    assert list(run.waits.pulls) == [20_000, 0]


def test_a_failed_node_sends_its_jobs_back_to_their_last_checkpoint():
    run, log = replay(
        [job(n, run_ms=100 * HOUR_MS, checkpoint_ms=HOUR_MS) for n in range(1, 5)],
        failures=FailureModel(mtbf_h=30, repair_h=1),
        most_attempts=100,
    )
    found = check(log)
    assert found.problems == []
    assert run.work.requeued > 0 and run.work.completed == 4
    assert all(e["kept_ms"] % HOUR_MS == 0 for e in log if e["event"] == "requeue")
    assert run.work.lost > 0 and len(run.waits.requeued) == run.work.requeued


def test_an_impossible_job_neither_runs_nor_keeps_the_run_alive():
    run, _ = replay([job(1, devices=64), job(2)], failures=FailureModel(mtbf_h=1000, repair_h=1))
    assert (run.work.completed, run.pending.count) == (1, 1)
    assert report_of(run, trace="t")["waits"]["still_waiting"]["max_s"] == 3600.0
    assert run.meter.whole.false_shortage_ms == 0


def test_an_impossible_job_does_not_keep_failures_and_repairs_going():
    run, log = replay(
        [job(1, devices=64), job(2)], failures=FailureModel(mtbf_h=0.5, repair_h=5), most_attempts=100
    )
    assert (run.work.completed, run.pending.count) == (1, 1)
    assert check(log).problems == []


def test_requests_that_nobody_waits_with_are_forgotten():
    run, _ = replay([job(n, at_ms=n, cores=1 + n % 3) for n in range(9)] + [job(9, at_ms=9, devices=64)])
    assert [len(group.jobs) for group in run.pending.waiting_groups()] == [1]


def test_two_half_free_nodes_are_a_false_shortage():
    jobs = [job(1, devices=2), job(2, devices=2, at_ms=0), job(3, devices=4, at_ms=1)]
    spread = {"on": nodes(2, devices=3), "until_ms": HOUR_MS // 2}
    run, _ = replay([jobs[0], jobs[1], job(3, devices=2, at_ms=1)], **spread)
    assert run.meter.whole.false_shortage_ms == HOUR_MS // 2 - 1
    assert report_of(run, trace="t")["fragmentation"]["false_shortage_percent_of_time"] == 100.0


def test_a_report_reads_as_tables_and_knows_what_it_does_not_know():
    run, _ = replay([job(1)])
    report = report_of(run, trace="own")
    assert report["utilisation"]["whole"]["booked_percent"] == 12.5
    assert report["waits"]["after_requeue"]["p95_s"] is None
    assert report["output"]["finished_device_hours"] == 1.0
    assert "1 completed" in tables(report) and "after requeue" in tables(report)


def test_a_job_that_failing_nodes_always_take_down_is_given_up():
    failures = FailureModel(mtbf_h=0.05, repair_h=0.01)
    run, log = replay([job(1, run_ms=100 * HOUR_MS)], failures=failures, most_attempts=4)
    assert (run.work.given_up, run.work.requeued, run.work.completed) == (1, 4, 0)
    assert log[-1]["event"] in ("give-up", "node-failed", "node-ready") and check(log).given_up == {1}
    assert check(log).problems == []
