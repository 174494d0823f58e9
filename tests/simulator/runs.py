"""Small clusters and runs for these tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduling.engine.types import NodeInfo, Request
from scheduling.simulator.cluster import Cluster, Hardware, uniform_nodes
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.policy import TRAINING, preset
from scheduling.simulator.replay import Replay
from scheduling.simulator.settings import Settings

HOUR_MS = 3_600_000


def nodes(count: int = 2, *, devices: int = 4, cores: int = 16) -> list[NodeInfo]:
    return uniform_nodes(count, devices=devices, cores=cores, memory_mib=65_536, model="accelerator")


def job(
    number: int, *, at_ms: int = 0, devices: int = 1, run_ms: int = HOUR_MS, cores: int = 1, **more: Any
) -> SimJob:
    request = more.pop("request", None) or Request(devices=devices, cores=cores)
    return SimJob(number, more.pop("queue", TRAINING), at_ms, run_ms, request, **more)


def replay(
    jobs: Iterable[SimJob],
    *,
    on: list[NodeInfo] | None = None,
    hardware: Hardware | None = None,
    **settings: Any,
) -> tuple[Replay, list[dict[str, Any]]]:
    """A finished run and its event log."""
    settings.setdefault("policy", preset("sample"))
    log: list[dict[str, Any]] = []
    cluster = Cluster(on or nodes(), hardware or Hardware())
    run = Replay(cluster, jobs, Settings(**settings), sink=log.append).run()
    return run, log
