"""Plots: the same bytes twice, a table beside, labelled axes, and a message where it cannot be."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from bench import engine_speed, openb, philly, plots
from bench.plots import Mark, Panel, Scale, Series
from scheduling.simulator.report import report_of
from scheduling.simulator.timeline import MOST_STEPS, Step, Timeline
from tests.simulator.runs import HOUR_MS, job, nodes, replay

CLONE = Path(__file__).resolve().parents[2]
PANELS = [
    Panel(
        "Lines",
        "time (h)",
        "use (%)",
        [Series("a", [(0, 1.0), (1, None), (2, 3.0)]), Series("b", [(1, 2.0)], Mark.POINTS)],
    ),
    Panel(
        "Bars",
        "size",
        "wait (s)",
        [Series("P50", [("1", 2.0), ("8", None)], Mark.BARS), Series("P95", [("8", 5.0)], Mark.BARS)],
        y_scale=Scale.SYMLOG,
    ),
    Panel(
        "Steps", "nodes", "cost (us)", [Series("c", [(1, 2.0), (10, 3.0)], Mark.STEP)], Scale.LOG, Scale.LOG
    ),
]


def test_the_same_panels_give_the_same_bytes_and_a_table_of_all_values(tmp_path):
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for path in (first, second):
        plots.write(path, "A title", PANELS)
    drawn = first.read_text()
    assert drawn == second.read_text() and "<dc:date>" not in drawn
    assert all(label in drawn for label in ("A title", "use (%)", "wait (s)", "nodes", "P95"))
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(rows) == 9 and rows[1]["y"] == ""
    assert rows[4] == {
        "panel": "Bars",
        "series": "P50",
        "x_label": "size",
        "x": "1",
        "y_label": "wait (s)",
        "y": "2.0",
    }


def test_a_plot_that_cannot_be_written_says_why(tmp_path):
    with pytest.raises(SystemExit, match=r"ends in \.svg"):
        plots.write(tmp_path / "a.png", "t", PANELS)
    with pytest.raises(SystemExit, match="No such file"):
        plots.write(tmp_path / "none" / "a.svg", "t", PANELS)


def test_a_report_is_plotted_and_nothing_else_is(tmp_path):
    run, _ = replay([job(n, devices=4) for n in range(1, 6)], on=nodes(1))
    report = report_of(run, trace="t")
    assert report["timeline"]["booked_percent"][:2] == [100.0, 100.0]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    command = [sys.executable, "-W", "error", "-m", "bench.plots", str(path), str(tmp_path / "r.svg")]
    subprocess.run(command, cwd=CLONE, check=True)
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert {row["series"] for row in rows} == {"booked", "measured", "waiting", "P50", "P95", "P99"}
    path.write_text('{"trace":"t"}')
    refused = subprocess.run(command, cwd=CLONE, capture_output=True, text=True)
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        f"{path}: nodes: is missing; is it from python -m scheduling.simulator --json?"
    ]


DAMAGES = [
    ("timeline.waiting_jobs", [10**400], "timeline.waiting_jobs[0]: must lie within 1e+15"),
    ("timeline.waiting_jobs", [[1]], "timeline.waiting_jobs[0]: is no number"),
    ("timeline.waiting_jobs", [float("nan")], "timeline.waiting_jobs[0]: must lie within 1e+15"),
    ("timeline.booked_percent", {}, "timeline.booked_percent: is not what a report has there"),
    ("timeline", None, "timeline.step_s: is missing"),
    ("timeline.step_s", "1", "timeline.step_s: is not what a report has there"),
    ("timeline.step_s", 0, "timeline.step_s: must be at least 1"),
    ("timeline.step_s", -60, "timeline.step_s: must be at least 1"),
    ("nodes", -4, "nodes: must be at least 0"),
    ("waits.by_size", {"1": {}}, "waits.by_size.1.p50_s: is missing"),
    ("waits.by_size", {"\x1b": 3}, "waits.by_size.?.p50_s: is missing"),
    ("waits.by_size", {"1": {"p50_s": "soon"}}, "waits.by_size.1.p50_s: is no number"),
    ("devices", -(10**30), "devices: must lie within 1e+15"),
    ("trace", 3, "trace: is not what a report has there"),
]


def damaged(field: str, value: object) -> dict:
    figures = {"p50_s": 1, "p95_s": None, "p99_s": 2.5}
    line = {"step_s": 60, "booked_percent": [1], "measured_percent": [None], "waiting_jobs": [2]}
    report = {"trace": "t", "nodes": 1, "devices": 8, "timeline": line, "waits": {"by_size": {"1": figures}}}
    *way, last = field.split(".")
    inner: dict = report
    for name in way:
        inner = inner[name]
    inner[last] = value
    return report


@pytest.mark.parametrize(("field", "value", "told"), DAMAGES)
def test_a_damaged_report_is_refused_in_one_line_that_names_the_field(
    tmp_path, monkeypatch, capsys, field, value, told
):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(damaged(field, value)))
    monkeypatch.setattr(sys, "argv", ["plots", str(path), str(tmp_path / "r.svg")])
    with pytest.raises(SystemExit) as refused:
        plots.main()
    assert refused.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: {told};")


@pytest.mark.parametrize("name", ["$\\undef{$", "a\x00b\x1b", "$x$" * 100])
def test_names_are_drawn_as_they_are(tmp_path, monkeypatch, name):
    report = damaged("trace", name)
    report["waits"]["by_size"] = {name: {"p50_s": 1e15, "p95_s": None, "p99_s": 0}}
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    monkeypatch.setattr(sys, "argv", ["plots", str(path), str(tmp_path / "r.svg")])
    plots.main()
    drawn = (tmp_path / "r.svg").read_text()
    assert ">P50<" in drawn and not {"\x00", "\x1b"} & set(drawn)


def test_a_timeline_stays_short_and_keeps_its_sums():
    line = Timeline()
    for hours in (1, 1000, 3):
        line.pass_time(hours * HOUR_MS, Step(1, 1000, 500, 250 * 1_000_000, hours))
    assert sum(step.span_ms for step in line.steps) == 1004 * HOUR_MS
    assert sum(step.waiting for step in line.steps) == (1 + 1000 * 1000 + 9) * HOUR_MS
    assert len(line.steps) <= MOST_STEPS and line.figures()["booked_percent"][0] == 50.0
    assert line.figures()["measured_percent"][0] == 25.0


def test_the_packing_bench_draws_a_line_per_seed_beside_what_is_published():
    options = {"pods": "synthetic", "seeds": range(1, 3), "load": 101, "out": None, "preset": "packing"}
    figures = openb.run(Namespace(**options, sample_seeds=0, cpu_unit=1000, data=None))
    curves = figures.pop("curves")
    assert list(curves) == ["seed 1", "seed 2"]
    assert curves["seed 1"][-1] == (pytest.approx(101, abs=3), figures["seeds"][0]["percent_at_load"])
    panel = openb.panels({**figures, "list": "default"}, curves)[0]
    assert [series.name for series in panel.series][2:] == [f"{name} (published)" for name in openb.PUBLISHED]
    assert [series.name for series in openb.panels(figures, curves)[1].series] == ["seed 1", "seed 2"]


def test_waits_become_shares_of_jobs():
    assert philly.cumulative([1000, 0, 3000, 2000]) == [(0.0, 25.0), (1.0, 50.0), (2.0, 75.0), (3.0, 100.0)]
    assert len(philly.cumulative(list(range(1000)))) == 101
    panels = philly.panels(
        {"jobs": 4, "devices": 8}, {"all": {"fifo": [(0.0, 100.0)]}, "8": {"plan": [(1.0, 100.0)]}}
    )
    assert [panel.title for panel in panels] == ["all (4 jobs on 8 devices)", "8 devices"]


def test_growth_of_cost_is_told_by_an_exponent():
    def case(count: int, rate: int, cold: float) -> dict:
        return {
            "nodes": count,
            "decisions_per_cpu_s": rate,
            "cold_cpu_ms": {"mean": cold},
            "build_cpu_s": 0.0,
            "peak_memory_mib": 100,
        }

    lines = engine_speed.growth([case(1000, 1000, 1.0), case(10_000, 500, 10.0)])
    assert (
        lines[1]["times_first"]["decision_cpu_us"] == 2.0 and lines[1]["times_first"]["build_cpu_s"] is None
    )
    assert lines[1]["exponent"] == {
        "decision_cpu_us": 0.3,
        "cold_cpu_ms": 1.0,
        "build_cpu_s": None,
        "peak_memory_mib": 0.0,
    }
