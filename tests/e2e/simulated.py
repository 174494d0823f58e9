"""Simulated nodes with accelerators beside the one real node of a browser test's server."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.console import Console
from tests.waiting import eventually
from tools.console import ROOT

NODES = 2
ENROL_S = 90.0
STOP_S = 20.0


@contextmanager
def simulated_nodes(console: Console, folder: Path) -> Iterator[tuple[str, ...]]:
    """Enrols them and waits until they are ready; stopped when the block ends. Yields their names."""
    tokens = [
        console.call("POST", "enrolment-tokens", {"expires_in_hours": 1})["token"] for _ in range(NODES)
    ]
    token_file = folder / "tokens"
    token_file.write_text("\n".join(tokens))
    token_file.chmod(0o600)
    output = (folder / "out").open("wb")
    process = subprocess.Popen(
        [
            str(Path(sys.executable).parent / "headrace-agent"),
            "simulate",
            f"--server={console.stack.url}",
            f"--state-dir={folder / 'nodes'}",
            f"--token-file={token_file}",
            f"--nodes={NODES}",
        ],
        cwd=ROOT,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    try:
        eventually(
            lambda: process.poll() is not None or len(ready(console)) == NODES,
            within_s=ENROL_S,
            what=(folder / "out").read_text,
        )
        assert process.poll() is None, (folder / "out").read_text()
        yield ready(console)
    finally:
        process.terminate()
        process.wait(timeout=STOP_S)
        output.close()


def ready(console: Console) -> tuple[str, ...]:
    """The simulated nodes that take jobs."""
    nodes = console.call("GET", "nodes?state=ready&limit=100")["results"]
    return tuple(sorted(node["name"] for node in nodes if node["simulated"]))
