"""`python -m bench NAME [options]`: run one benchmark; `python -m bench --list` names them."""

from __future__ import annotations

import argparse
import importlib
import json
import sys

from bench import plots
from bench.machine import describe
from scheduling.simulator.printing import print_whole

BENCHMARKS = {
    "startup": "bench.startup",
    "start-latency": "bench.start_latency",
    "telemetry": "bench.telemetry",
    "map": "bench.map",
    "console": "bench.console",
    "chaos": "bench.chaos",
    "openb": "bench.openb",
    "engine-speed": "bench.engine_speed",
    "philly": "bench.philly",
    "bad-day": "bench.bad_day",
}


def main() -> None:
    """Parse the command line, run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--list", action="store_true", help="name the benchmarks")
    commands = parser.add_subparsers(dest="name")
    for name, module in BENCHMARKS.items():
        benchmark = importlib.import_module(module)
        command = commands.add_parser(name, help=(benchmark.__doc__ or "").partition("\n")[0])
        command.add_argument("--json", action="store_true", help="JSON on one line")
        if hasattr(benchmark, "panels"):
            command.add_argument(
                "--plot", type=plots.svg_path, help="write a plot here (.svg), and its values beside (.csv)"
            )
            command.set_defaults(panels=benchmark.panels)
        benchmark.add_options(command)
        command.set_defaults(run=benchmark.run)
    options = parser.parse_args()
    if options.list or not options.name:
        print("\n".join(BENCHMARKS))
        return
    figures = {"benchmark": options.name, "machine": describe(), **options.run(options)}
    curves = figures.pop("curves", {})
    if getattr(options, "plot", None):
        plots.write(options.plot, options.name, options.panels(figures, curves))
    text = json.dumps(figures, indent=None if options.json else 2) + "\n"
    sys.exit(print_whole(text, program=parser.prog))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
