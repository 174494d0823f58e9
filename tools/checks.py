"""`make check` (reads only), `make fix` and `make generate`."""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.console import ROOT, run_captured, say
from tools.frontend import FRONTEND, ensure_packages
from tools.venv import VENV, Profile, ensure_venv

BIN = VENV / "bin"
SOURCE_FOLDERS = (
    "controlplane",
    "inventory",
    "queues",
    "scheduling",
    "agent",
    "client",
    "tools",
    "bench",
    "tests",
)


@dataclass(frozen=True)
class Step:
    name: str
    command: tuple[str | Path, ...]
    folder: Path = ROOT
    env: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Result:
    """Exit status of a step and all it wrote, unless that was shown already."""

    name: str
    code: int
    output: str
    took_s: float


def check(_arguments: list[str]) -> int:
    ensure_venv(Profile.DEV)
    return run_steps("check", [*python_steps(), *console_steps()], at_once=2)


def python_steps() -> list[Step]:
    python = BIN / "python"
    return [
        Step("ruff", (BIN / "ruff", "check", ".")),
        Step("format", (BIN / "ruff", "format", "--check", ".")),
        Step("mypy", (BIN / "mypy", *present_folders())),
        Step("imports", (BIN / "lint-imports", "--no-cache")),
        Step("house rules", (BIN / "pytest", "tests/architecture", "-q", "--no-header", "--durations=0")),
        Step("django", (python, "manage.py", "check")),
        Step("openapi fresh", (python, "-m", "tools.openapi", "--check")),
    ]


def console_steps() -> list[Step]:
    node = ensure_packages()
    return [Step(name, (*node.npm, "run", name), FRONTEND, node.env()) for name in ("lint", "typecheck")]


def fix(_arguments: list[str]) -> int:
    ensure_venv(Profile.DEV)
    return run_steps(
        "fix",
        [
            Step("ruff", (BIN / "ruff", "check", "--fix", ".")),
            Step("format", (BIN / "ruff", "format", ".")),
        ],
    )


def generate(_arguments: list[str]) -> int:
    ensure_venv(Profile.DEV)
    node = ensure_packages()
    return run_steps(
        "generate",
        [
            Step("openapi", (BIN / "python", "-m", "tools.openapi")),
            Step("api types", (*node.npm, "run", "generate", "--if-present"), FRONTEND, node.env()),
        ],
    )


def present_folders() -> list[str]:
    return [name for name in SOURCE_FOLDERS if (ROOT / name).is_dir()]


def run_steps(title: str, steps: list[Step], *, at_once: int = 1) -> int:
    """Runs all steps, also after one failed; `at_once` of them together, where none changes what another reads."""
    with ThreadPoolExecutor(at_once) as pool:
        return show_results(title, pool.map(run_step, steps))


def run_step(step: Step) -> Result:
    started_s = time.monotonic()
    code, output = run_captured(step.command, env=step.env, cwd=step.folder)
    return Result(step.name, code, output, time.monotonic() - started_s)


def show_results(title: str, results: Iterable[Result]) -> int:
    """Shows what each step said as soon as it is there, and closes with one line for each; 1 if one failed."""
    lines: list[str] = []
    failed = 0
    for one in results:
        if one.output:
            say(f"\n== {one.name}\n{one.output}")
        failed += one.code != 0
        lines.append(f"  {'ok    ' if one.code == 0 else 'FAILED'} {one.name} ({one.took_s:.1f} s)")
    say(f"\nmake {title}:\n" + "\n".join(lines))
    return 1 if failed else 0
