"""`make test`, `make test-pure`, `make test-deep` and `make bench`."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.checks import BIN, Result, Step, run_step, show_results
from tools.console import ROOT, run_shown
from tools.frontend import FRONTEND, ensure_packages
from tools.preparation import set_up
from tools.venv import Profile, ensure_venv

PURE = ("tests/engine", "tests/agent")
# These start processes and wait for some that hang.
NOT_PURE = ("*_live.py", "*_faults.py", "*_examples.py")
WORKERS = 2
PURE_CASES, DEEP_CASES = 2, 5000
PURE_MUTATIONS, DEEP_MUTATIONS = 200, 1_000_000


def test(arguments: list[str]) -> int:
    """All tests; the closing lines say what passed and how long it took."""
    set_up(Profile.DEV)
    node = ensure_packages()
    spread = ("-n", str(WORKERS), "--dist", "loadfile", "--ignore=tests/e2e")
    # The browser's driver keeps an event loop running in its process, which no other test may meet. It waits most of
    # its time: beside the others it takes hardly any.
    beside = [
        Step("browser tests", (BIN / "pytest", "tests/e2e", *arguments)),
        Step("console tests", (*node.npm, "run", "test"), FRONTEND, node.env()),
    ]
    started_s = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        others = [pool.submit(run_step, step) for step in beside]
        code = run_shown([BIN / "pytest", *spread, *arguments])
        results = [Result("Python tests", code, "", time.monotonic() - started_s)]
        results += [other.result() for other in others]
    return show_results("test", results)


def test_pure(arguments: list[str]) -> int:
    """What a developer runs after every change: few cases of each property, many are for `make test`."""
    ensure_venv(Profile.DEV)
    cases = {"HEADRACE_PROPERTY_CASES": str(PURE_CASES), "HEADRACE_MUTATIONS": str(PURE_MUTATIONS)}
    env = {**cases, **os.environ, "HEADRACE_TEST_PURE": "1"}
    folders = [name for name in PURE if (ROOT / name).is_dir()]
    # Loading Django and what drives the API takes longer than most of these tests.
    without = ("-p", "no:schemathesis", "-p", "no:django", *(f"--ignore-glob={glob}" for glob in NOT_PURE))
    plain = ("-q", *without, "-m", "not acceptance", "-n", str(WORKERS), "--dist", "loadfile")
    return run_shown([BIN / "pytest", *folders, *plain, *arguments], env=env)


def test_deep(arguments: list[str]) -> int:
    """The properties of the engine on 5,000 random cases each, or as many as HEADRACE_PROPERTY_CASES says, and the
    parsers on 1,000,000 damaged outputs, or as many as HEADRACE_MUTATIONS says.
    """
    ensure_venv(Profile.DEV)
    cases = {"HEADRACE_PROPERTY_CASES": str(DEEP_CASES), "HEADRACE_MUTATIONS": str(DEEP_MUTATIONS)}
    env = {**cases, **os.environ}
    # Thousands of cases of one test take longer than a test that hangs.
    patient = ("-q", "-p", "no:schemathesis", "-n", str(WORKERS), "-o", "faulthandler_timeout=0")
    engine = run_shown([BIN / "pytest", "tests/engine", *patient, "-m", "property", *arguments], env=env)
    parsers = run_shown([BIN / "pytest", "tests/agent/test_mutations.py", *patient, *arguments], env=env)
    return engine or parsers


def bench(arguments: list[str]) -> int:
    set_up(Profile.DEV)
    return run_shown([BIN / "python", "-m", "bench", *arguments])


def chromium() -> Path | None:
    named = os.environ.get("CHROMIUM")
    for path in filter(
        None, (named, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
    ):
        if Path(path).exists():
            return Path(path)
    return None
