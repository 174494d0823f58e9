"""Whatever stands in a file: a run that ends, or one line that names file, place and fix. Never an exception."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, get_args, get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.codec import encode
from scheduling.engine.types import (
    EnginePolicy,
    Hold,
    LinkInfo,
    NodeInfo,
    PendingJob,
    QueueInfo,
    Request,
    Reservation,
    Running,
    SliceChoice,
    Window,
)
from scheduling.simulator.__main__ import main
from scheduling.simulator.policy import preset
from scheduling.simulator.traces import history, ranges
from tests.engine.profiles import property_test
from tests.simulator.runs import HOUR_MS, nodes
from tests.simulator.test_readers import NODES, PHILLY, PODS

LIMIT_S = 20
NUMBERS = st.sampled_from(
    [
        -(2**63),
        -1,
        0,
        1,
        2,
        3,
        1000,
        1001,
        2**31,
        2**40,
        2**53,
        2**63,
        2**63 - 1,
        10**30,
        1.5,
        1e400,
        float("nan"),
    ]
)
ODD: st.SearchStrategy[Any] = st.one_of(
    NUMBERS,
    st.integers(-10, 10_000),
    st.sampled_from(
        [None, True, "", "0", "NaN", "\ud800", "中文🙂", "a" * 5000, [], {}, [[]], {"a": {"b": 1}}]
    ),
)
CELLS = st.one_of(
    st.sampled_from(
        ["nan", "inf", "-inf", "1e400", "1e18", "-1", "0", "1", "1.5", "0x10", "1_000", "²", str(2**63)]
    ),
    st.sampled_from(
        ["1969-12-31", "9999-12-31T23:59:59", "0001-01-01T00:00:00+23:59", "2017-10-09 07:01:55+99:99"]
    ),
    st.sampled_from(["", " ", '"', "a" * 200_000, "G2|X"]),
    st.integers(-5, 2**70).map(str),
    st.text(max_size=8),
)
OPTIONS = (
    "mtbf-h",
    "repair-h",
    "hours",
    "cycle-s",
    "seed",
    "load",
    "read-mib-s",
    "pull-mib-s",
    "valley",
)


def document() -> list[Any]:
    """A history with something in every field."""
    first, second = nodes(2, devices=2, cores=4)
    first = replace(
        first,
        labels=(("disk", "ssd"),),
        links=(LinkInfo(1000, 1001, "NV4", 4, 100_000),),
        images=("serve:1",),
        holds=(Hold(9, (SliceChoice(1000, 0, 100),), (0,), 10, 10, 5),),
        read_bandwidth_total_mib_s=500,
        devices=(
            replace(first.devices[0], memory_total_mib=1000, numa=0, cpu_affinity=(0, 1)),
            first.devices[1],
        ),
        idle_mw=1000,
        core_mw=10,
        power_cap_mw=9_000_000,
    )
    queue = QueueInfo(2, "training", 70, 500_000, preemptable=True)
    policy = replace(preset("sample"), queues=(queue,), power_cap_mw=10_000_000, valley=(Window(1, 2),))
    shared = Request(
        devices=1, device_memory_mib=400, device_compute_milli=0, shareable=True, image="serve:1"
    )
    asked = (
        shared,
        Request(devices=2, cores=2, read_bandwidth_mib_s=300),
        Request(cores=1, host_memory_mib=10),
    )
    jobs = [
        history.HistoryJob(n, 2, 1, 0, 100 * n, request, HOUR_MS, 5, 2000, 500_000, 1 + n % 2, True, 900 * n)
        for n, request in enumerate(asked * 2, start=1)
    ]
    lines: list[Any] = [
        {"head": history.HistoryHead(0, 10)},
        {"policy": policy},
        {"node": first},
        {"node": second},
    ]
    return [json.loads(encode(line)) for line in [*lines, *({"job": job} for job in jobs)]]


def paths(found: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where one value could be exchanged."""
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, value in inner:
        yield (*at, key)
        yield from paths(value, (*at, key))


PATHS = list(paths(document()))


def put(found: Any, path: tuple[Any, ...], value: Any) -> None:
    try:
        for key in path[:-1]:
            found = found[key]
        found[path[-1]] = value
    except (KeyError, IndexError, TypeError):
        return


@contextmanager
def limited() -> Iterator[None]:
    """Fails what does not end."""

    def late(*_: object) -> None:
        raise AssertionError(f"does not end within {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(arguments: list[str], *, names: str) -> None:
    """A finished run with a report, or exit status 2 with a message that names the culprit."""
    out, err = StringIO(), StringIO()
    status: int | str | None
    with limited(), redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code
    if status == 0:
        assert json.loads(out.getvalue())["jobs"]["submitted"] > 0
    else:
        assert status == 2 and names in err.getvalue() and "Traceback" not in err.getvalue(), err.getvalue()


def run_on(text: str | bytes, arguments: list[str], *, name: str = "trace.txt") -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        run([str(path) if part == "FILE" else part for part in [*arguments, "--json"]], names=name)


def lines_of(found: list[Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in found)


def test_the_unharmed_files_run():
    run_on(lines_of(document()), ["--trace", "history", "FILE"])
    run_on(PHILLY, ["--trace", "philly", "FILE", "--cluster", "2x8"])


@property_test
@given(st.lists(st.tuples(st.sampled_from(PATHS), ODD), min_size=1, max_size=3))
def test_a_history_with_other_values_runs_or_is_refused(changes):
    found = document()
    for path, value in changes:
        put(found, path, value)
    run_on(lines_of(found), ["--trace", "history", "FILE"])


@property_test
@given(st.lists(st.tuples(st.integers(0), st.integers(0, 40), st.binary(max_size=6)), min_size=1, max_size=3))
def test_a_history_with_other_bytes_runs_or_is_refused(cuts):
    text = lines_of(document()).encode()
    for at, gone, new in cuts:
        at %= len(text) + 1
        text = text[:at] + new + text[at + gone :]
    run_on(text, ["--trace", "history", "FILE"])


@property_test
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10), CELLS), min_size=1, max_size=3), st.booleans()
)
def test_openb_lists_with_other_cells_run_or_are_refused(changes, in_nodes):
    good, bad = (PODS, NODES) if in_nodes else (NODES, PODS)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "good.csv"
        where.write_text(good)
        kinds = ["FILE", "--nodes-file", str(where)] if bad is PODS else [str(where), "--nodes-file", "FILE"]
        run_on(with_cells(bad, changes), ["--trace", "openb", *kinds], name="d")


@property_test
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), CELLS), min_size=1, max_size=2))
def test_a_philly_table_with_other_cells_runs_or_is_refused(changes):
    run_on(with_cells(PHILLY, changes), ["--trace", "philly", "FILE", "--cluster", "2x8"])


def with_cells(table: str, changes: list[tuple[int, int, str]]) -> str:
    rows = [line.split(",") for line in table.splitlines()]
    for row, column, cell in changes:
        cells = rows[row % len(rows)]
        cells[column % len(cells)] = cell
    return "\n".join(map(",".join, rows)) + "\n"


@property_test
@given(st.sampled_from(list(paths(json.loads(encode(preset("sample")))))), ODD)
def test_a_policy_with_other_values_runs_or_is_refused(path, value):
    found = json.loads(encode(preset("sample")))
    put(found, path, value)
    run_on(json.dumps(found), ["--jobs", "4", "--cluster", "2x8", "--policy", "FILE"])


@property_test
@given(st.sampled_from(OPTIONS), CELLS.filter(lambda cell: "\0" not in cell))
def test_any_option_runs_or_is_refused(option, value):
    run(
        ["--jobs", "4", "--cluster", "2x8", "--mtbf-h", "50", f"--{option}={value}", "--json"],
        names=f"--{option}",
    )


def test_deep_nesting_is_refused_with_its_line():
    for deep in ("[" * 100_000, '{"job":' * 100_000, '{"job":' + "[" * 900 + "]" * 900 + "}"):
        run_on(lines_of(document()) + deep + "\n", ["--trace", "history", "FILE"])


def test_every_number_of_a_document_has_a_range():
    known: set[type[Any]] = set()

    def numbers(kind: Any) -> bool:
        if is_dataclass(kind):
            classes(kind)
            return False
        return kind is int or any(numbers(inner) for inner in get_args(kind))

    def classes(kind: Any) -> None:
        if kind in known:
            return
        known.add(kind)
        hints = get_type_hints(kind)
        wanted = {field.name for field in fields(kind) if numbers(hints[field.name])}
        if kind is Request:
            wanted = {"previous_nodes", "excluded_nodes", "excluded_devices"}
        assert wanted - {"version"} == set(history.RANGES.get(kind, {})), kind

    given = (NodeInfo, EnginePolicy, PendingJob, Running, Reservation)
    for kind in (*given, history.HistoryHead, history.HistoryJob):
        classes(kind)
    assert set(ranges.RANGES) < known
