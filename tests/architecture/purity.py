"""Law: the engine asks nobody; the server reads the wall clock in one place."""

import ast
import sys
from collections.abc import Iterator

from tests.architecture.tree import Module, Tree, dotted, imported

THIRD_PARTY = {"numpy", "numba"}
OURS = ("scheduling.engine", "scheduling.simulator")
IMPURE_STDLIB = {
    "asyncio", "concurrent", "ctypes", "datetime.datetime.now", "ftplib", "glob", "http", "logging",
    "multiprocessing", "os", "pathlib", "queue", "random", "secrets", "select", "shutil", "signal", "socket",
    "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid", "warnings",
}  # fmt: skip
# The simulator reads trace files and writes results; it decides through the engine, which does neither.
SIMULATOR_MAY = {"pathlib", "sys", "argparse", "json", "csv", "gzip"}
IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "hash", "id", "breakpoint"}
CLOCK = "controlplane/base/clock.py"
# The launchers and commands below it serve one machine and decide nothing by the time of day.
WALL_CLOCK_CALLS = {
    "time.time", "time.time_ns", "time.localtime", "time.gmtime", "datetime.now", "datetime.utcnow", "datetime.today",
    "date.today", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.date.today", "timezone.now",
    "timezone.localtime", "timezone.localdate", "Now",
}  # fmt: skip
WALL_CLOCK_OPTIONS = {"auto_now", "auto_now_add"}


def may_import(name: str, *, simulator: bool) -> bool:
    top = name.split(".")[0]
    if (
        top in THIRD_PARTY
        or any(name == own or name.startswith(own + ".") for own in OURS)
        or name == "scheduling"
    ):
        return True
    impure = IMPURE_STDLIB - (SIMULATOR_MAY if simulator else set())
    return top in sys.stdlib_module_names and top not in impure


def calls(module: Module) -> Iterator[ast.Call]:
    return (node for node in module.nodes if isinstance(node, ast.Call))


def impure_engine(tree: Tree) -> list[str]:
    found: list[str] = []
    for module in tree.pure:
        simulator = module.below("scheduling/simulator")
        found += [
            f"{module.path}:{line} imports {name}; the engine is pure"
            for name, line in imported(module)
            if not may_import(name, simulator=simulator)
        ]
        if not simulator:
            found += [
                f"{module.path}:{call.lineno} calls {dotted(call.func)}()" for call in impure_calls(module)
            ]
    return found


def impure_calls(module: Module) -> Iterator[ast.Call]:
    for call in calls(module):
        name = dotted(call.func)
        # `random` also as NumPy's: np.random.default_rng, np.random.seed ...
        if name in IMPURE_CALLS or name in WALL_CLOCK_CALLS or ".random." in f".{name}.":
            yield call


def wall_clock_reads(tree: Tree) -> list[str]:
    found: list[str] = []
    for module in tree.server:
        if module.path == CLOCK:
            continue
        for call in calls(module):
            options = {keyword.arg for keyword in call.keywords} & WALL_CLOCK_OPTIONS
            if dotted(call.func) in WALL_CLOCK_CALLS or options:
                found.append(f"{module.path}:{call.lineno} reads the wall clock; use controlplane.base.clock")
        found += [
            f"{module.path}:{line} imports {name}; use controlplane.base.clock"
            for name, line in imported(module)
            if name in ("time.time", "time.time_ns", "django.db.models.functions.Now")
        ]
    return found


def findings(tree: Tree) -> list[str]:
    return impure_engine(tree) + wall_clock_reads(tree)
