"""`python -m scheduling.simulator`: run a trace, a history or a generated workload through the engine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from scheduling.simulator.cluster import Cluster, Hardware
from scheduling.simulator.failures import FailureModel, TooManyFailures, check_number
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.log import Event, line_of
from scheduling.simulator.policy import PRESETS, preset, read_policy
from scheduling.simulator.printing import print_whole
from scheduling.simulator.replay import Replay
from scheduling.simulator.report import report_of, tables
from scheduling.simulator.settings import HORIZON_MS, Order, Settings
from scheduling.simulator.sources import Source, expected_of, open_source
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.windows import Valley, zone_of

_BAR = 30
# As shells name a process that SIGINT ended.
_INTERRUPTED = 130
_PRESET = "sample"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print; 2 with a message when the trace or an option is wrong, 130 when it was interrupted."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return _work(parser, options)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _work(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    try:
        _check_events(options)
        source = open_source(options)
        settings = _settings(options, source)
    except (TraceError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    try:
        with ExitStack() as files:
            run = _run(options, source, settings, files)
    except OSError as error:
        parser.exit(2, f"{parser.prog}: {options.events}: {error.strerror or error}\n")
    except TooManyFailures as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    report = report_of(run, trace=options.trace, real_waits_ms=source.real_waits_ms())
    text = json.dumps(report, allow_nan=False) + "\n" if options.json else tables(report)
    return print_whole(text, program=parser.prog)


def _check_events(options: argparse.Namespace) -> None:
    """ValueError where the log would overwrite what is read."""
    log = options.events
    for path in (options.file, options.nodes_file, options.policy):
        if log is not None and path is not None and log.exists() and path.exists() and log.samefile(path):
            raise ValueError(f"--events: {log} is read from; name another file")


def _run(options: argparse.Namespace, source: Source, settings: Settings, files: ExitStack) -> Replay:
    hardware = Hardware(
        read_mib_s=options.read_mib_s, read_is_told=not options.hide_read, pull_mib_s=options.pull_mib_s
    )
    cluster = Cluster(source.nodes, hardware)
    jobs = source.jobs
    if not options.events:
        return Replay(cluster, jobs, settings).run(_progress(jobs))
    log = files.enter_context(options.events.open("w", encoding="utf-8"))

    def sink(event: Event) -> None:
        log.write(line_of(event))

    return Replay(cluster, jobs, settings, sink=sink).run(_progress(jobs))


def _progress(jobs: Sequence[SimJob]) -> Callable[[int], None]:
    """A bar over the submitted jobs, on a terminal only."""
    total = max(1, len(jobs))
    step = max(1, total // 200)

    def show(done: int) -> None:
        if sys.stderr is not None and sys.stderr.isatty() and (done % step == 0 or done == total):
            bar = "#" * (_BAR * done // total)
            sys.stderr.write(f"\r[{bar:<{_BAR}}] {done}/{total} jobs" + ("\n" if done == total else ""))

    return show


def _settings(options: argparse.Namespace, source: Source) -> Settings:
    if options.preset and (source.policy or options.policy):
        brings = "--policy" if options.policy else "a history"
        raise ValueError(f"--preset: {brings} brings weights of its own; leave --preset out")
    policy = source.policy or preset(options.preset or _PRESET)
    if options.policy:
        policy = read_policy(options.policy, policy)
    valley = _valley(options)
    span_ms = None if options.hours is None else round(3_600_000 * options.hours)
    return Settings(
        policy=policy,
        order=Order(options.order),
        seed=options.seed,
        cycle_ms=round(1000 * options.cycle_s),
        expected=expected_of(source.jobs),
        valley=valley,
        failures=_failures(options, source, span_ms),
        until_ms=HORIZON_MS if span_ms is None else min(HORIZON_MS, source.first_ms + span_ms),
    )


def _valley(options: argparse.Namespace) -> Valley | None:
    try:
        zone = zone_of(options.time_zone)
        return None if options.valley is None else Valley.parse(options.valley, zone.key)
    except ValueError as error:
        raise ValueError(f"--valley, --time-zone: {error}") from error


def _failures(options: argparse.Namespace, source: Source, span_ms: int | None) -> FailureModel | None:
    if options.mtbf_h is None:
        return None
    model = FailureModel(options.mtbf_h, options.repair_h)
    longest_ms = source.span_ms(deferring=options.valley is not None)
    check_number(
        model, nodes=len(source.nodes), span_ms=longest_ms if span_ms is None else min(longest_ms, span_ms)
    )
    return model


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scheduling.simulator", description=__doc__)
    add = parser.add_argument
    add("file", type=Path, nargs="?", help="the trace (not for generated)")
    add("--trace", choices=("generated", "openb", "philly", "history"), default="generated", help="its kind")
    add("--nodes-file", type=Path, help="openb: the node list")
    add(
        "--cluster",
        type=_nodes_by_devices,
        default=(16, 8),
        help="NODESxDEVICES of equal nodes (default 16x8)",
    )
    add(
        "--jobs",
        type=_up_to(10_000_000),
        help="generated: how many (default 1000); else only the first so many",
    )
    add("--load", type=_up_to(10_000), default=90, help="generated: offered load in %% (default 90)")
    add("--since", type=datetime.fromisoformat, help="philly: first day, like 2017-10-03")
    add("--hours", type=_above_zero, help="stop after so many hours of virtual time")
    add(
        "--order",
        choices=[order.value for order in Order],
        default="plan",
        help="fifo: nobody passes a job that waits",
    )
    add("--policy", type=Path, help="weights (policy document) or a whole policy (engine's JSON)")
    add(
        "--preset",
        choices=sorted(PRESETS),
        help=f"weights where neither --policy nor a history gives any (default {_PRESET})",
    )
    add("--cycle-s", type=_from_zero, default=0.0, help="least time between two plans (default 0)")
    add("--seed", type=_seed, default=1, help="of the workload and the failures (default 1)")
    add(
        "--read-mib-s",
        type=_positive,
        help="memory bandwidth for declared reads of nodes that state none (default unlimited)",
    )
    add(
        "--hide-read",
        action="store_true",
        help="the engine is not told --read-mib-s, so that readers compete",
    )
    add("--pull-mib-s", type=_positive, default=200, help="image pull rate of a node (default 200)")
    add("--mtbf-h", type=_above_zero, help="mean time between failures of a node (default: none fail)")
    add("--repair-h", type=_above_zero, default=4.0, help="mean time to repair (default 4)")
    add("--valley", help="hours in which deferrable jobs start, like 22:00-08:00 (default: any)")
    add("--time-zone", default="UTC", help="of the valley window (default UTC)")
    add("--events", type=Path, help="write the event log here (JSON lines)")
    add("--json", action="store_true", help="one JSON object instead of tables")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 40:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _up_to(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        found = _positive(text)
        if found > most:
            raise argparse.ArgumentTypeError(f"{text!r} is more than {most}")
        return found

    return read


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no whole number from 0 to 2^63 - 1")
    return int(text)


def _from_zero(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 0")
    return found


def _above_zero(text: str) -> float:
    found = _from_zero(text)
    if not found:
        raise argparse.ArgumentTypeError("must be above 0")
    return found


def _nodes_by_devices(text: str) -> tuple[int, int]:
    nodes, _, devices = text.partition("x")
    found = _positive(nodes), _positive(devices)
    if found[0] > 100_000 or found[1] > 64:
        raise argparse.ArgumentTypeError(f"{text!r}: at most 100000 nodes with 64 devices")
    return found


if __name__ == "__main__":
    sys.exit(main())
