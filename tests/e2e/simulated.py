"""Simulated nodes with accelerators beside the one real node of a browser test's server."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from agent.protocol import CheckResult
from agent.simulation_spec import A100, T4, XEON, SimFault, SimNode, SimSlice, SimSpec, mixed_cluster
from tests.e2e.console import Console
from tests.waiting import eventually
from tools.console import ROOT

ENROL_S = 90.0
STOP_S = 20.0
NODE_SET = "lab"
SLICES = [
    SimSlice("3g.40gb", 40_192, compute_milli=429, memory_group=1),
    SimSlice("1c.3g.40gb", 40_192, compute_milli=143, memory_group=1),
    SimSlice("1g.10gb", 9_984, compute_milli=143),
]
FAULT = SimFault(device=0, at_s=0, for_s=86_400, result=CheckResult.FATAL, code="xid-79")


def two_whole() -> list[SimNode]:
    """Eight accelerators each."""
    return mixed_cluster().nodes[:2]


def sliced_and_frail() -> list[SimNode]:
    """One accelerator that is cut into slices, two of which share their memory; and two of which one failed fatally."""
    shape = {"memory_mib": 257_000, "numa_per_socket": 1, "node_set": NODE_SET, **XEON}
    sliced = msgspec.convert({"name": "sliced-01", **shape, "labels": {"lab": "sliced"}}, SimNode)
    frail = msgspec.convert({"name": "frail-01", **shape, "labels": {"lab": "frail"}}, SimNode)
    return [
        msgspec.structs.replace(sliced, devices=msgspec.structs.replace(A100, count=1, slices=SLICES)),
        msgspec.structs.replace(frail, devices=msgspec.structs.replace(T4, count=2), faults=[FAULT]),
    ]


@contextmanager
def simulated_nodes(console: Console, folder: Path, nodes: Sequence[SimNode]) -> Iterator[tuple[str, ...]]:
    """Enrols them and waits until they are ready; stopped when the block ends. Yields their names."""
    names = tuple(node.name for node in nodes)
    (folder / "spec.json").write_bytes(msgspec.json.encode(SimSpec(nodes=list(nodes))))
    tokens = [console.call("POST", "enrolment-tokens", {"expires_in_hours": 1})["token"] for _ in nodes]
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
            f"--spec={folder / 'spec.json'}",
        ],
        cwd=ROOT,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    try:
        eventually(
            lambda: process.poll() is not None or ready(console) >= set(names),
            within_s=ENROL_S,
            what=(folder / "out").read_text,
        )
        assert process.poll() is None, (folder / "out").read_text()
        yield names
    finally:
        process.terminate()
        process.wait(timeout=STOP_S)
        output.close()


def ready(console: Console) -> set[str]:
    """The simulated nodes that take jobs."""
    nodes = console.call("GET", "nodes?state=ready&limit=100")["results"]
    return {node["name"] for node in nodes if node["simulated"]}
