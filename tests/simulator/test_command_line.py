"""`python -m scheduling.simulator` and `python -m bench openb`, as people call them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from bench import bad_day, openb, openb_check
from bench.__main__ import main as bench_main
from bench.data import data_file
from bench.openb_lists import arrivals, arrived_at, load
from scheduling.simulator import __main__ as simulator
from scheduling.simulator import failures
from scheduling.simulator.__main__ import main
from tests.simulator.checking import check
from tests.simulator.test_readers import NODES, PHILLY, PODS, a_history, past_job, write

CLONE = Path(__file__).resolve().parents[2]


def run(*arguments: str, capsys) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_a_generated_workload_gives_the_same_bytes_twice_and_a_clean_log(tmp_path, capsys):
    options = ("--jobs", "30", "--cluster", "2x4", "--load", "120", "--seed", "3", "--mtbf-h", "50", "--json")
    events = tmp_path / "events.jsonl"
    first = run(*options, "--valley", "22:00-08:00", "--events", str(events), capsys=capsys)
    log = events.read_text()
    second = run(*options, "--valley", "22:00-08:00", "--events", str(events), capsys=capsys)
    assert (first, log) == (second, events.read_text())
    assert check(json.loads(line) for line in log.splitlines()).problems == []
    report = json.loads(first)
    assert report["jobs"]["submitted"] == 30
    assert report["assumptions"]["valley"] == "22:00-08:00 UTC"
    assert run(*options, "--valley", "22:00-08:00", "--seed", "4", capsys=capsys) != first


def test_traces_run_from_files(tmp_path, capsys):
    jobs = write(tmp_path, PHILLY)
    found = json.loads(run("--trace", "philly", str(jobs), "--cluster", "2x8", "--json", capsys=capsys))
    assert found["jobs"]["completed"] == 2 and found["waits"]["by_size"][">8"]["count"] == 1
    pods = write(tmp_path, PODS, "pods.csv")
    where = ("--nodes-file", str(write(tmp_path, NODES, "nodes.csv")))
    assert "3 completed" in run("--trace", "openb", str(pods), *where, capsys=capsys)


def test_a_history_keeps_its_policy_but_for_the_weights_and_shows_its_real_waits(tmp_path, capsys):
    past = a_history(tmp_path, past_job(1, duration_ms=60_000, waited_ms=4_000))
    past.write_text(past.read_text().replace('"training"', '"learning"'))
    weights = write(tmp_path, "scoring-weights:\n  fragmentation-penalty: 0.5\n", "weights.yaml")
    options = ("--trace", "history", str(past), "--policy", str(weights), "--json")
    found = json.loads(run(*options, capsys=capsys))
    assert found["assumptions"]["weights_ppm"] == {"fragmentation-penalty": 500_000}
    assert list(found["waits"]["by_queue"]) == ["learning"]
    assert found["waits"]["in_reality"]["p99_s"] == 4.0
    with pytest.raises(SystemExit):
        main(["--trace", "history", str(past), "--preset", "sample"])
    assert "a history brings weights of its own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--trace", "philly"], "needs a file"),
        (["--trace", "philly", "absent.csv"], "absent.csv: cannot be read"),
        (["--trace", "openb", "absent.csv"], "needs --nodes-file"),
        (["some.csv"], "reads no file"),
        (["--valley", "ten-eight"], "write it like 22:00-08:00"),
        (["--valley", "22:00-08:00", "--time-zone", "Nowhere"], "no time zone"),
        (["--valley", "22:00:00.5-08:00"], "write it like 22:00-08:00"),
        (["--time-zone", "Nowhere/X"], "no time zone"),
        (["--policy", "absent.yaml"], "absent.yaml: cannot be read"),
        (["--policy", "absent.yaml", "--preset", "packing"], "--policy brings weights of its own"),
        (["--cluster", "8"], "--cluster"),
        (["--cycle-s", "nan"], "--cycle-s"),
        (["--hours", "0"], "--hours"),
        (["--seed", "-1"], "--seed"),
        (["--mtbf-h", "1e-9", "--repair-h", "1e-9", "--jobs", "20"], "--mtbf-h: 1e-09 h make"),
        (["--mtbf-h", "1e-9", "--repair-h", "1e-9", "--hours", "1"], "give at least"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(arguments, problem, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert problem in capsys.readouterr().err


def test_the_log_does_not_overwrite_what_is_read(tmp_path, capsys):
    past = a_history(tmp_path, past_job(1, duration_ms=60_000))
    text = past.read_text()
    link = tmp_path / "link.jsonl"
    link.hardlink_to(past)
    for log in (past, link):
        with pytest.raises(SystemExit) as caught:
            main(["--trace", "history", str(past), "--events", str(log)])
        assert caught.value.code == 2 and "--events" in capsys.readouterr().err
    assert past.read_text() == text


LATE = {"duration_ms": 3_600_000, "deferrable": True, "latest_start_ms": 7_258_118_300_000}


def test_a_latest_start_far_away_is_counted_on_where_nodes_fail(tmp_path, capsys):
    past = a_history(tmp_path, past_job(1, **LATE))
    options = ["--trace", "history", str(past), "--mtbf-h", "0.001", "--repair-h", "0.001"]
    with pytest.raises(SystemExit):
        main([*options, "--valley", "22:00-08:00"])
    assert "--mtbf-h: 0.001 h make" in capsys.readouterr().err


def test_a_run_that_took_longer_than_expected_has_an_end(monkeypatch, capsys):
    monkeypatch.setattr(failures, "MOST_FAILURES", 20)
    monkeypatch.setattr(simulator, "check_number", lambda *given, **named: None)
    with pytest.raises(SystemExit) as caught:
        main(["--jobs", "20", "--mtbf-h", "0.01", "--repair-h", "0.01"])
    assert caught.value.code == 2 and "failed more than 20 times" in capsys.readouterr().err


def redirected(options: str) -> subprocess.CompletedProcess[str]:
    command = f"'{sys.executable}' -m scheduling.simulator {options}"
    return subprocess.run(
        ["bash", "-c", command], cwd=CLONE, capture_output=True, text=True, check=False, timeout=60
    )


def test_output_that_nobody_takes_is_told_in_one_line_or_not_at_all():
    full = redirected("--jobs 3 > /dev/full")
    assert (full.returncode, full.stderr.count("\n")) == (1, 1) and "standard output: No space" in full.stderr
    closed = redirected("--jobs 3 >&-")
    assert (closed.returncode, closed.stderr.count("\n")) == (1, 1)
    gone = redirected("--jobs 3 | true; exit ${PIPESTATUS[0]}")
    assert (gone.returncode, gone.stderr) == (1, "")


def test_an_interrupted_run_ends_without_a_trace_of_calls(monkeypatch, capsys):
    def interrupted(*_given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulator, "_run", interrupted)
    assert main(["--jobs", "3"]) == 130
    assert capsys.readouterr() == ("", "")


def test_the_simulator_needs_no_django():
    code = "import sys, scheduling.simulator.__main__; print('django' in sys.modules, 'yaml' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=CLONE, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["False", "False"]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, Path]:
    out = tmp_path_factory.mktemp("openb") / "out.csv"
    options = {"pods": "synthetic", "seeds": range(1, 2), "load": 130, "out": out, "preset": "packing"}
    figures = openb.run(Namespace(**options, sample_seeds=0, cpu_unit=1000, data=None))
    return figures, out


def test_the_packing_bench_runs_on_its_own_sample(packed):
    figures, out = packed
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(rows[0]) == ["seed", "order", "pod", "node", "devices", "milli"]
    assert [int(row["order"]) for row in rows] == list(range(len(rows)))
    assert figures["check"]["errors"] == 0
    assert figures["check"]["percent_by_seed"] == {1: figures["seeds"][0]["percent_at_load"]}
    assert figures["seeds"][0]["percent_at_load"] > 85
    assert figures["sample_policy"]["percent_at_load"]["mean"] is None


def test_the_checker_sees_what_is_wrong(packed):
    _, out = packed
    lists = load("synthetic", None)
    rows = list(csv.DictReader(out.read_text().splitlines()))
    placed = next(row for row in rows if row["milli"] == "1000" and row["node"])

    def errors(**change: str) -> list[str]:
        edited = [{**row, **change} if row is placed else row for row in rows]
        return openb_check.check([openb_check._Read(row) for row in edited], lists.nodes, lists.pods)[
            "examples"
        ]

    assert errors() == []
    other = next(row for row in rows if row["node"] and row is not placed and row["milli"] == "1000")
    assert "overbooked" in errors(node=other["node"], devices=other["devices"])[0]
    assert "unknown node" in errors(node="nowhere")[0]
    assert "a device that" in errors(devices="9")[0]
    assert "wrong number" in errors(devices="")[0]
    assert "wrong milli" in errors(milli="500")[0]
    assert "unknown pod" in errors(pod="nobody")[0]
    assert "order 7777" in errors(order="7777")[0]


def test_arrivals_are_the_list_shuffled_and_then_drawn_until_the_load():
    lists = load("synthetic", None)
    order = arrivals(lists, seed=42, load_percent=130)
    assert sorted(order[: len(lists.pods)]) == list(range(len(lists.pods)))
    demand = [lists.pods[at].total_milli for at in order]
    assert sum(demand) >= 1.3 * lists.capacity_milli > sum(demand[:-1])
    assert order == arrivals(lists, seed=42, load_percent=130) != arrivals(lists, seed=43, load_percent=130)
    assert sum(demand[: arrived_at(lists.pods, order, lists.capacity_milli)]) >= lists.capacity_milli


@pytest.mark.shared_data
def test_a_list_may_be_any_file(tmp_path):
    own = write(tmp_path, PODS)
    assert [pod.name for pod in load(str(own), None).pods] == ["p0", "p1", "p2"]


def test_without_the_data_the_bench_says_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_SHARED", str(tmp_path))
    with pytest.raises(SystemExit, match=r"HEADRACE_SHARED.*--list synthetic"):
        load("default", None)
    (tmp_path / "x.csv").write_text("")
    assert data_file(tmp_path, "traces", "openb-2023", "x.csv") == tmp_path / "x.csv"


@pytest.mark.parametrize("text", ["", "a-b", "5-4", "1-2-3", "1-", "-1", "-"])
def test_bad_seeds_are_refused(text):
    with pytest.raises(Exception, match=r"seed|A-B"):
        openb.seeds_of(text)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--plot", "plot.png"], "name a file that ends in .svg"),
        (["--plot", "nowhere/plot.svg"], "nowhere: is no folder"),
        (["--cpu-unit", "1001"], "no whole number from 10 to 1000"),
        (["--cpu-unit", "9" * 5000], "no whole number from 10 to 1000"),
        (["--seeds", "1-"], "is not A-B"),
        (["--load", "1001"], "no whole number from 1 to 1000"),
    ],
)
def test_a_wrong_call_of_a_bench_is_refused_before_it_runs(options, problem, monkeypatch, capsys):
    monkeypatch.setattr(openb, "run", lambda options: pytest.fail("ran"))
    monkeypatch.setattr(sys, "argv", ["bench", "openb", *options])
    with pytest.raises(SystemExit) as caught:
        bench_main()
    assert caught.value.code == 2 and problem in capsys.readouterr().err


def test_the_bench_does_not_overwrite_the_list_it_reads(tmp_path):
    own = write(tmp_path, PODS)
    with pytest.raises(SystemExit, match=r"--out: .* is the list that is read"):
        openb.run(Namespace(pods=str(own), out=own, data=None))
    assert own.read_text() == PODS


def test_the_bench_command_prints_one_json_object():
    command = ["engine-speed", "--nodes", "20", "--jobs", "10", "--list", "none", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *command], cwd=CLONE, capture_output=True, text=True, check=True
    )
    figures = json.loads(done.stdout)
    assert figures["benchmark"] == "engine-speed" and figures["machine"]["cores"] >= 1
    case = figures["cases"]["20 nodes"]
    assert (case["nodes"], case["devices"], case["decisions"]) == (20, 160, 10)
    assert case["decision_us"]["cpu"]["p99"] > 0 and case["peak_memory_mib"] > 0


def test_the_bad_day_places_all_that_can_start_and_refuses_the_rest():
    options = Namespace(nodes=12, jobs=400, runnable=5, shapes=30, preset="sample", cycle=False)
    figures = bad_day.run(options)
    first, again = figures["first_look"], figures["second_look"]
    assert (first["placed"], first["refused"], again["placed"], again["refused"]) == (5, 395, 0, 395)
    assert first["last_runnable_placed_s"] > 0 and again["last_runnable_placed_s"] is None
