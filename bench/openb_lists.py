"""The node and pod lists of the openb benchmarks, and the order in which pods arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.data import OPENB, data_file
from scheduling.engine.types import WHOLE_MILLI
from scheduling.simulator.traces.openb import OpenbNode, OpenbPod, read_nodes, read_pods

SYNTHETIC = "synthetic"
_SEED = 7
# (nodes, cpu_milli, memory_mib, devices, model) and (weight, cpu_milli, memory_mib, devices, milli, models).
_NODES = ((24, 96_000, 393_216, 8, "G2"), (20, 104_000, 524_288, 2, "T4"), (6, 32_000, 131_072, 4, "V100"))
_PODS = (
    (40, 11_400, 45_000, 1, 1000, ()),
    (15, 12_000, 49_152, 1, 810, ()),
    (12, 6_000, 24_576, 1, 460, ()),
    (8, 3_152, 12_288, 1, 190, ()),
    (6, 8_000, 32_768, 1, 320, ("T4",)),
    (3, 46_000, 180_000, 4, 1000, ("G2", "V100")),
    (2, 92_000, 350_000, 8, 1000, ("G2",)),
    (14, 8_000, 30_517, 0, 0, ()),
)


@dataclass(frozen=True, slots=True)
class Lists:
    """A cluster and the pods to draw from."""

    nodes: list[OpenbNode]
    pods: list[OpenbPod]

    @property
    def capacity_milli(self) -> int:
        """Device-milli of all nodes."""
        return WHOLE_MILLI * sum(node.devices for node in self.nodes)


def load(name: str, data: Path | None) -> Lists:
    """The lists of this name; `synthetic` is made here, all others are files of the data folder, or any file."""
    if name == SYNTHETIC:
        return _synthetic()
    nodes = read_nodes(data_file(data, OPENB, "openb_node_list_gpu_node.csv"))
    path = Path(name) if Path(name).is_file() else data_file(data, OPENB, f"openb_pod_list_{name}.csv")
    pods = read_pods(path, {node.model for node in nodes} - {""})
    return Lists(nodes, pods)


def arrivals(lists: Lists, *, seed: int, load_percent: int) -> list[int]:
    """Positions in the pod list: the list shuffled, then uniform draws until the demand reaches the load."""
    dice = Random(seed)
    order = list(range(len(lists.pods)))
    dice.shuffle(order)
    demand = sum(pod.total_milli for pod in lists.pods)
    wanted = lists.capacity_milli * load_percent // 100
    while demand < wanted:
        drawn = dice.randrange(len(lists.pods))
        order.append(drawn)
        demand += lists.pods[drawn].total_milli
    return order


def arrived_at(pods: Sequence[OpenbPod], order: Sequence[int], wanted_milli: int) -> int:
    """How many pods had arrived when their demand first reached this much; all when it never does."""
    demand = 0
    for number, position in enumerate(order, start=1):
        demand += pods[position].total_milli
        if demand >= wanted_milli:
            return number
    return len(order)


def _synthetic() -> Lists:
    kinds = [kind for kind in _NODES for _ in range(kind[0])]
    nodes = [OpenbNode(f"node-{i:03}", cpu, mib, n, model) for i, (_, cpu, mib, n, model) in enumerate(kinds)]
    dice = Random(_SEED)
    capacity = WHOLE_MILLI * sum(node.devices for node in nodes)
    pods: list[OpenbPod] = []
    while sum(pod.total_milli for pod in pods) < capacity * 98 // 100:
        _, cpu, mib, n, milli, models = dice.choices(_PODS, [kind[0] for kind in _PODS])[0]
        pods.append(OpenbPod(f"pod-{len(pods):04}", cpu, mib, n, milli, models, ""))
    return Lists(nodes, pods)
