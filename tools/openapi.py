"""The committed API description: written by `make generate`, compared by `make check`."""

import difflib
import subprocess
import sys

from tools.console import ROOT, say

COMMITTED = ROOT / "docs" / "openapi.json"
COMMAND = (
    sys.executable,
    "manage.py",
    "spectacular",
    "--format",
    "openapi-json",
    "--validate",
    "--fail-on-warn",
)
SHOWN_LINES = 40


def main(arguments: list[str]) -> int:
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        say(done.stderr)
        return done.returncode
    fresh = done.stdout.rstrip("\n") + "\n"
    if "--check" not in arguments:
        COMMITTED.write_text(fresh)
        return 0
    committed = COMMITTED.read_text() if COMMITTED.exists() else ""
    if committed == fresh:
        return 0
    changes = difflib.unified_diff(
        committed.splitlines(), fresh.splitlines(), "committed", "fresh", lineterm=""
    )
    say("\n".join(list(changes)[:SHOWN_LINES]))
    say("docs/openapi.json is stale. Fix: make generate")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
