"""Recomputes capacity from what the openb benchmark put out: `python -m bench.openb_check --out FILE --list NAME`.

Knows nothing of the engine: it adds up device-milli, CPU-milli and memory of the lists themselves and says what was
overbooked, misplaced or refused although it would have fitted.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.data import add_data_option
from bench.openb_lists import load
from scheduling.simulator.traces.openb import OpenbNode, OpenbPod

_WHOLE = 1000
_EXAMPLES = 5


class Fate(Protocol):
    """One line of the output."""

    @property
    def seed(self) -> int: ...
    @property
    def order(self) -> int: ...
    @property
    def pod(self) -> str: ...
    @property
    def node(self) -> str: ...
    @property
    def devices(self) -> tuple[int, ...]: ...
    @property
    def milli(self) -> int: ...


class Cluster:
    """Free amounts of every node; device columns beyond a node's own are never free."""

    def __init__(self, nodes: Sequence[OpenbNode]) -> None:
        self.row = {node.name: row for row, node in enumerate(nodes)}
        self.counts = np.array([node.devices for node in nodes])
        self.cpu = np.array([node.cpu_milli for node in nodes])
        self.mib = np.array([node.memory_mib for node in nodes])
        self.models = np.array([node.model for node in nodes])
        width = int(self.counts.max(initial=0))
        self.free = np.where(np.arange(width) < self.counts[:, None], _WHOLE, -1)

    def fits(self, pod: OpenbPod) -> np.ndarray:
        """Nodes that could take the pod by the exact amounts of the lists."""
        pieces = (self.free >= pod.milli).sum(axis=1) if pod.devices else np.zeros(len(self.cpu), dtype=int)
        open_models = np.isin(self.models, pod.models) if pod.models else np.ones(len(self.cpu), dtype=bool)
        enough = (self.cpu >= pod.cpu_milli) & (self.mib >= pod.memory_mib)
        found: np.ndarray = enough & open_models & (pieces >= pod.devices)
        return found

    def take(self, pod: OpenbPod, fate: Fate) -> list[str]:
        """Book it and say what is wrong with it."""
        row = self.row.get(fate.node)
        if row is None:
            return [f"unknown node {fate.node!r}"]
        devices = list(fate.devices)
        if any(not 0 <= device < self.counts[row] for device in devices):
            return [f"a device that {fate.node} has not"]
        self.cpu[row] -= pod.cpu_milli
        self.mib[row] -= pod.memory_mib
        np.subtract.at(self.free[row], devices, pod.milli)
        problems = {
            "wrong number of devices": len(set(devices)) != pod.devices or len(devices) != pod.devices,
            "wrong milli": fate.milli != pod.milli,
            "wrong model": bool(pod.models) and self.models[row] not in pod.models,
            "CPU overbooked": self.cpu[row] < 0,
            "memory overbooked": self.mib[row] < 0,
            "device overbooked": bool((self.free[row, devices] < 0).any()),
        }
        return [problem for problem, found in problems.items() if found]


def check(lines: Iterable[Fate], nodes: Sequence[OpenbNode], pods: Sequence[OpenbPod]) -> dict[str, Any]:
    """Allocated % per seed, recomputed; errors with examples; pods refused although a node had room for them."""
    by_name = {pod.name: pod for pod in pods}
    capacity = _WHOLE * sum(node.devices for node in nodes)
    errors: list[str] = []
    percent: dict[int, float] = {}
    needless = 0
    for seed, fates in _by_seed(lines).items():
        cluster, taken = Cluster(nodes), 0
        for place, fate in enumerate(fates):
            pod = by_name.get(fate.pod)
            found = [f"unknown pod {fate.pod!r}"] if pod is None else []
            if fate.order != place:
                found.append(f"order {fate.order} where {place} belongs")
            if pod is not None and fate.node:
                found += cluster.take(pod, fate)
                taken += pod.milli * len(fate.devices)
            elif pod is not None:
                needless += bool(cluster.fits(pod).any())
            errors += [f"seed {seed}, order {fate.order}: {problem}" for problem in found]
        percent[seed] = round(100 * taken / capacity, 3)
    return {
        "errors": len(errors),
        "examples": errors[:_EXAMPLES],
        "refused_though_it_fits": needless,
        "percent_by_seed": percent,
    }


def _by_seed(lines: Iterable[Fate]) -> dict[int, list[Fate]]:
    found: dict[int, list[Fate]] = {}
    for line in lines:
        found.setdefault(line.seed, []).append(line)
    return found


class _Read:
    def __init__(self, cells: dict[str, str]) -> None:
        self.seed, self.order, self.milli = (int(cells[name]) for name in ("seed", "order", "milli"))
        self.pod, self.node = cells["pod"], cells["node"]
        self.devices = tuple(int(part) for part in cells["devices"].split("|") if part)


def main() -> None:
    """Check one output file; exit 1 when anything is overbooked or misplaced."""
    parser = argparse.ArgumentParser(prog="python -m bench.openb_check")
    parser.add_argument("--out", type=Path, required=True, help="the file that `python -m bench openb` wrote")
    parser.add_argument("--list", default="default", dest="pods", help="pod list it was made from")
    add_data_option(parser)
    options = parser.parse_args()
    lists = load(options.pods, options.data)
    with options.out.open(newline="", encoding="utf-8") as file:
        found = check([_Read(cells) for cells in csv.DictReader(file)], lists.nodes, lists.pods)
    json.dump(found, sys.stdout, indent=2)
    print()
    raise SystemExit(1 if found["errors"] else 0)


if __name__ == "__main__":
    main()
