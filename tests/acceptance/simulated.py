"""Simulated nodes beside the running instance, each an agent process of its own."""

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import msgspec

from agent.simulation_spec import T4, XEON, SimNode, SimSpec
from bench.instance import BIN, Instance, clean_environment
from tests.waiting import eventually

# A label of each node's own lets a test's jobs go there and nowhere else.
LABEL = "only"


@dataclass(frozen=True)
class SimulatedNode:
    """A node with one accelerator that only pretends to run jobs."""

    live: Instance
    name: str
    state_dir: Path
    shared: dict[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, str]:
        """What a job must name to get there; by those that are `shared` it may get to other nodes, too."""
        return {"simulated": "true", LABEL: self.name, **self.shared}

    @property
    def number(self) -> int | None:
        """Its number in the cluster; None before it enrolled."""
        identity = self.state_dir / self.name / "node.json"
        return int(json.loads(identity.read_text())["node"]) if identity.exists() else None

    @property
    def state(self) -> str | None:
        """As the server sees it, whatever name it has at the moment."""
        rows = (row for row in self.live.client.nodes() if row["id"] == self.number)
        return next((row["state"] for row in rows), None)

    def copied(self, other: str) -> "SimulatedNode":
        """The same identity under another name, as on a machine made from an image of the first."""
        folder = self.state_dir.with_name(f"{self.state_dir.name}-{other}")
        shutil.copytree(self.state_dir / self.name, folder / other)
        return SimulatedNode(self.live, other, folder)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within, its agent lives."""
        self.state_dir.mkdir(exist_ok=True)
        devices = msgspec.structs.replace(T4, count=1)
        shape = {"name": self.name, "memory_mib": 64_000, "numa_per_socket": 1, "labels": self.labels, **XEON}
        node = msgspec.structs.replace(msgspec.convert(shape, SimNode), devices=devices)
        (self.state_dir / "spec.json").write_bytes(msgspec.json.encode(SimSpec(nodes=[node])))
        (self.state_dir / "token").write_text(enrolment_token(self.live) + "\n")
        (self.state_dir / "token").chmod(0o600)
        with (self.state_dir / "agent.log").open("ab") as log:
            process = subprocess.Popen(self.command(), stderr=log, env=clean_environment())
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)

    def command(self) -> list[str]:
        """What starts its agent."""
        files = ["--spec", str(self.state_dir / "spec.json"), "--token-file", str(self.state_dir / "token")]
        where = ["--server", self.live.url, "--state-dir", str(self.state_dir)]
        return [str(BIN / "headrace-agent"), "simulate", *where, *files]


@contextmanager
def simulated_node(live: Instance, name: str, **shared: str) -> Iterator[SimulatedNode]:
    """A fresh one, ready to take jobs; `shared` are labels that others have, too."""
    node = SimulatedNode(live, name, live.state / f"sim-{name}", shared)
    with node.running():
        eventually(lambda: node.state == "ready", what=f"{name} to be ready")
        yield node


def enrolment_token(live: Instance) -> str:
    headers = {"Authorization": f"Bearer {live.client.token}"}
    address = f"{live.url}/api/v1/enrolment-tokens"
    answer = httpx.post(address, json={"expires_in_hours": 1}, headers=headers, trust_env=False)
    return str(answer.raise_for_status().json()["token"])
