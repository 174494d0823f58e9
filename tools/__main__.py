"""`make TARGET` ends here: python -m tools TARGET."""

import os
import sys
from collections.abc import Callable

from tools import checks, suite
from tools.console import ROOT, BuildError, say
from tools.locks import write_locks
from tools.preparation import set_up
from tools.venv import PYTHON, Profile


def main(arguments: list[str]) -> int:
    target, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if target not in TARGETS:
        say(f"unknown target {target!r}; one of: {', '.join(TARGETS)}")
        return 2
    os.chdir(ROOT)
    try:
        return TARGETS[target](rest)
    except BuildError as error:
        print(f"\nmake {target}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nmake {target}: interrupted", file=sys.stderr)
        return 130


def setup(_arguments: list[str]) -> int:
    set_up(Profile.RUN)
    say("Ready. Start it with: make run")
    return 0


def run(arguments: list[str]) -> int:
    set_up(Profile.RUN)
    sys.stdout.flush()
    # The supervisor takes this process's place, so that one Ctrl-C reaches one process.
    os.execv(PYTHON, [str(PYTHON), "-m", "controlplane.embedded", *arguments])


def demo(arguments: list[str]) -> int:
    return run(["--demo", *arguments])


def lock(_arguments: list[str]) -> int:
    write_locks()
    return 0


TARGETS: dict[str, Callable[[list[str]], int]] = {
    "setup": setup,
    "run": run,
    "demo": demo,
    "test": suite.test,
    "test-pure": suite.test_pure,
    "test-deep": suite.test_deep,
    "bench": suite.bench,
    "check": checks.check,
    "fix": checks.fix,
    "generate": checks.generate,
    "lock": lock,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
