"""Plots of benchmarks and of simulator reports: an SVG, and a CSV with every value of it beside.

`python -m bench NAME --plot FILE.svg`, and `python -m bench.plots REPORT.json FILE.svg` for what
`python -m scheduling.simulator --json` wrote. The same figures give the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

_COLUMNS = 3
_PANEL_INCHES = (4.8, 3.6)
# Okabe and Ito's palette, which people of any colour vision tell apart; beyond it line styles help.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DOTS_AT_MOST = 10
_LINES = ("-", "--", "-.", ":")
_CSV_COLUMNS = ("panel", "series", "x_label", "x", "y_label", "y")
# What is beyond these no simulator writes, and no axis shows.
_LARGEST = 1e15
_STEPS_AT_MOST, _SIZES_AT_MOST, _NAME_AT_MOST = 100_000, 64, 80
_METHODS = {"linear": {}, "log": {}, "symlog": {"linthresh": 1.0}}


class Mark(StrEnum):
    """How a series is drawn."""

    LINE = "line"
    STEP = "step"
    POINTS = "points"
    BARS = "bars"


class Scale(StrEnum):
    """Of an axis; SYMLOG shows 0, too."""

    LINEAR = "linear"
    LOG = "log"
    SYMLOG = "symlog"


@dataclass(frozen=True, slots=True)
class Series:
    """Points (x, y); x of bars are names. A y of None is unknown and not drawn."""

    name: str
    points: Sequence[tuple[float | str, float | None]]
    mark: Mark = Mark.LINE


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes; the labels name their units."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_scale: Scale = Scale.LINEAR
    y_scale: Scale = Scale.LINEAR


def svg_path(text: str) -> Path:
    """A type for options: where a plot can be written."""
    path = Path(text)
    if path.suffix != ".svg":
        raise argparse.ArgumentTypeError(f"{text}: plots are SVG; name a file that ends in .svg")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{path.parent}: is no folder")
    for file in (path, path.with_suffix(".csv")):
        if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
            raise argparse.ArgumentTypeError(f"{file}: cannot be written")
    return path


def write(path: Path, title: str, panels: Sequence[Panel]) -> None:
    """The plot, and the same as a table in `path` with the ending .csv; SystemExit where that is not possible."""
    if path.suffix != ".svg":
        raise SystemExit(f"{path}: plots are SVG; name a file that ends in .svg")
    try:
        _write_table(path.with_suffix(".csv"), panels)
        _draw(path, title, panels)
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror or error}") from error


def _write_table(path: Path, panels: Sequence[Panel]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_CSV_COLUMNS)
        for panel in panels:
            for series in panel.series:
                for x, y in series.points:
                    writer.writerow((panel.title, series.name, panel.x_label, x, panel.y_label, y))


def _draw(path: Path, title: str, panels: Sequence[Panel]) -> None:
    # Only a plot needs it, and it is a tool of development: a server's environment measures without it.
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit("plots need matplotlib, which `make setup` installs") from error
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    # Names are no formulas.
    with rc_context(
        {"svg.hashsalt": "headrace", "svg.fonttype": "none", "font.size": 9, "text.parse_math": False}
    ):
        size = (columns * _PANEL_INCHES[0], rows * _PANEL_INCHES[1])
        figure = Figure(figsize=size, layout="constrained")
        figure.suptitle(title)
        for number, panel in enumerate(panels, start=1):
            _draw_panel(figure.add_subplot(rows, columns, number), panel)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None, "Title": title})


def _draw_panel(axes: Any, panel: Panel) -> None:
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    bars = [series for series in panel.series if series.mark is Mark.BARS]
    for number, series in enumerate(panel.series):
        colour = _COLOURS[number % len(_COLOURS)]
        known = [(x, y) for x, y in series.points if y is not None]
        x, y = [x for x, _ in known], [y for _, y in known]
        match series.mark:
            case Mark.BARS:
                _draw_bars(axes, series, bars, colour)
            case Mark.POINTS:
                axes.plot(x, y, label=series.name, color=colour, marker="o", linestyle="none")
            case Mark.STEP | Mark.LINE:
                style = "steps-post" if series.mark is Mark.STEP else "default"
                line = _LINES[number // len(_COLOURS) % len(_LINES)]
                dot = "." if len(known) <= _DOTS_AT_MOST else None
                axes.plot(x, y, label=series.name, color=colour, linestyle=line, drawstyle=style, marker=dot)
    if not bars:
        axes.set_xscale(panel.x_scale.value, **_METHODS[panel.x_scale.value])
    axes.set_yscale(panel.y_scale.value, **_METHODS[panel.y_scale.value])
    axes.grid(visible=True, alpha=0.3)
    if len(panel.series) > 1:
        axes.legend(fontsize="small")


def _draw_bars(axes: Any, series: Series, bars: Sequence[Series], colour: str) -> None:
    """Groups of bars: one group per name on the x axis, one bar of it per series."""
    width = 0.8 / len(bars)
    names = list(dict.fromkeys(str(x) for each in bars for x, _ in each.points))
    first = width * (bars.index(series) - (len(bars) - 1) / 2)
    known = [(names.index(str(x)) + first, y) for x, y in series.points if y is not None]
    axes.bar([x for x, _ in known], [y for _, y in known], width, label=series.name, color=colour)
    axes.set_xticks(range(len(names)), names)


class NoReport(ValueError):
    """A report that cannot be drawn; names the field."""


def _at(report: Any, path: str, kind: type[Any]) -> Any:
    """The value of a field with dots, which must be of this kind."""
    found = report
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if found is None or not isinstance(found, kind) or isinstance(found, bool):
        raise NoReport(f"{path}: {'is missing' if found is None else 'is not what a report has there'}")
    return found


def _number(value: Any, field: str) -> float | None:
    """A figure that can be drawn, or null."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoReport(f"{field}: is no number")
    if not abs(value) <= _LARGEST:
        raise NoReport(f"{field}: must lie within {_LARGEST:.0e}")
    return float(value)


def _least(value: int, field: str, *, least: int) -> float:
    """A whole figure from `least` on."""
    found = _number(value, field) or 0
    if found < least:
        raise NoReport(f"{field}: must be at least {least}")
    return found


def _named(name: str) -> str:
    """A name that any SVG can hold."""
    return "".join(char if char.isprintable() else "?" for char in name[:_NAME_AT_MOST])


def _step_s(report: Any) -> float:
    field = "timeline.step_s"
    return _least(_at(report, field, int), field, least=1)


def _over_time(report: Any, key: str) -> Series:
    step_h = _step_s(report) / 3600
    path = f"timeline.{key}"
    values = [_number(value, f"{path}[{n}]") for n, value in enumerate(_at(report, path, list))]
    if len(values) > _STEPS_AT_MOST:
        raise NoReport(f"{path}: has more than {_STEPS_AT_MOST} entries")
    name = key.partition("_")[0]
    return Series(name, [(number * step_h, value) for number, value in enumerate(values)], Mark.STEP)


def _waits(report: Any, name: str) -> Series:
    by_size = _at(report, "waits.by_size", dict)
    if len(by_size) > _SIZES_AT_MOST:
        raise NoReport(f"waits.by_size: has more than {_SIZES_AT_MOST} entries")
    key, points = f"{name.lower()}_s", []
    for size, found in by_size.items():
        field = f"waits.by_size.{_named(size)}"
        if not isinstance(found, dict) or key not in found:
            raise NoReport(f"{field}.{key}: is missing")
        points.append((_named(size), _number(found[key], f"{field}.{key}")))
    return Series(name, points, Mark.BARS)


def report_title(report: Any) -> str:
    """What was replayed on what; NoReport names a damaged field."""
    trace = _at(report, "trace", str)
    nodes, devices = (_least(_at(report, name, int), name, least=0) for name in ("nodes", "devices"))
    return f"{_named(trace)}: {nodes:.0f} nodes, {devices:.0f} devices"


def report_panels(report: Any) -> list[Panel]:
    """Utilisation and waiting jobs over time, and waits by size class, of a simulator report; NoReport names a damaged
    field.
    """
    booked, measured, waiting = (
        _over_time(report, key) for key in ("booked_percent", "measured_percent", "waiting_jobs")
    )
    step = f"mean over {_step_s(report) / 60:g} min"
    return [
        Panel(
            "Utilisation of accelerators",
            "time since the first submission (h)",
            f"device time (%), {step}",
            [booked, measured],
        ),
        Panel(
            "Queue",
            "time since the first submission (h)",
            f"waiting jobs, {step}",
            [waiting],
        ),
        Panel(
            "Waits",
            "devices of a job",
            "wait (s)",
            [_waits(report, name) for name in ("P50", "P95", "P99")],
            y_scale=Scale.SYMLOG,
        ),
    ]


def main() -> None:
    """Plot a saved report."""
    parser = argparse.ArgumentParser(prog="python -m bench.plots")
    parser.add_argument("report", type=Path, help="what `python -m scheduling.simulator --json` wrote")
    parser.add_argument("plot", type=Path, help="the SVG to write")
    options = parser.parse_args()
    try:
        report = json.loads(options.report.read_text(encoding="utf-8"))
        title, panels = report_title(report), report_panels(report)
    except OSError as error:
        _refuse(f"{options.report}: {error.strerror or error}")
    except NoReport as error:
        _refuse(f"{options.report}: {error}; is it from python -m scheduling.simulator --json?")
    except (ValueError, RecursionError):
        _refuse(f"{options.report}: is no JSON; write it with python -m scheduling.simulator --json")
    write(options.plot, title, panels)


def _refuse(line: str) -> NoReturn:
    sys.stderr.write(line + "\n")
    raise SystemExit(2)


if __name__ == "__main__":
    main()
