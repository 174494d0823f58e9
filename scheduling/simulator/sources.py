"""What a run is made from: nodes, jobs and perhaps a policy, by the kind of trace."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scheduling.engine.types import WHOLE_MILLI, EnginePolicy, ExpectedShape, NodeInfo
from scheduling.simulator.cluster import uniform_nodes
from scheduling.simulator.jobs import SimJob
from scheduling.simulator.traces import history, openb, philly
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.workload import generate

_SHAPES_AT_MOST = 12
_GENERATED_JOBS = 1000
_CORES_PER_DEVICE = 12
_MIB_PER_DEVICE = 65_536


@dataclass(frozen=True, slots=True)
class Source:
    """Jobs are in order of submission; the policy is None where the trace has none. `waited_ms` is, by job, how long
    it really waited, where the trace knows.
    """

    nodes: Sequence[NodeInfo]
    jobs: Sequence[SimJob]
    policy: EnginePolicy | None = None
    waited_ms: Mapping[int, int] = field(default_factory=dict)

    def real_waits_ms(self) -> list[int]:
        """Those of its jobs."""
        return [self.waited_ms[job.job] for job in self.jobs if job.job in self.waited_ms]

    @property
    def first_ms(self) -> int:
        """When the first job was submitted."""
        return self.jobs[0].submitted_ms if self.jobs else 0

    def span_ms(self, *, deferring: bool) -> int:
        """About how long a run takes at most: the arrivals (`deferring`: and the latest starts), the longest job, and
        all work on the whole cluster.
        """
        if not self.jobs:
            return 0
        milli = max(1, WHOLE_MILLI * sum(len(node.devices) for node in self.nodes))
        cores = max(1, sum(len(node.cpus) for node in self.nodes))
        on_devices = sum(job.duration_ms * job.milli for job in self.jobs) // milli
        on_cores = sum(job.duration_ms * job.replicas * job.request.cores for job in self.jobs) // cores
        last_ms = self.jobs[-1].submitted_ms
        if deferring:
            last_ms = max(last_ms, *(job.latest_start_ms or 0 for job in self.jobs if job.deferrable), 0)
        return (
            last_ms
            - self.jobs[0].submitted_ms
            + max(job.duration_ms for job in self.jobs)
            + max(on_devices, on_cores)
        )


def expected_of(jobs: Sequence[SimJob]) -> tuple[ExpectedShape, ...]:
    """The most frequent requests of the trace, for the fragmentation term."""
    counts = Counter(job.request for job in jobs).most_common(_SHAPES_AT_MOST)
    return tuple(ExpectedShape(request, count) for request, count in counts)


def open_source(options: argparse.Namespace) -> Source:
    """Read or make what the command line asks for; TraceError or ValueError when that is not possible."""
    source = _READERS[options.trace](options)
    if not source.jobs:
        raise TraceError(
            str(options.file or options.trace), "holds no jobs to run", fix="check --since and the file"
        )
    if not source.nodes:
        raise TraceError(str(options.nodes_file or options.file), "holds no nodes", fix="check the file")
    return replace(source, jobs=source.jobs[: options.jobs])


def _generated(options: argparse.Namespace) -> Source:
    if options.file is not None:
        raise ValueError("a generated workload reads no file; name its kind with --trace")
    nodes = _uniform(options, cores_per_device=_CORES_PER_DEVICE)
    capacity = WHOLE_MILLI * sum(len(node.devices) for node in nodes)
    count = options.jobs or _GENERATED_JOBS
    jobs = generate(count, capacity_milli=capacity, load_percent=options.load, seed=options.seed)
    return Source(nodes, list(jobs))


def _openb(options: argparse.Namespace) -> Source:
    if options.nodes_file is None:
        raise ValueError("openb needs --nodes-file, the node list")
    nodes = openb.read_nodes(options.nodes_file)
    pods = openb.read_pods(_file(options), {node.model for node in nodes} - {""}, timed=True)
    return Source(openb.node_infos(nodes), openb.sim_jobs(pods))


def _philly(options: argparse.Namespace) -> Source:
    jobs = philly.read_jobs(_file(options), since=options.since)
    nodes = _uniform(options, cores_per_device=0)
    return Source(nodes, philly.sim_jobs(jobs, devices_per_node=options.cluster[1]))


def _history(options: argparse.Namespace) -> Source:
    found = history.read_history(_file(options))
    return Source(found.nodes, found.sim_jobs(), found.policy, found.waited_ms())


def _file(options: argparse.Namespace) -> Path:
    if options.file is None:
        raise ValueError(f"--trace {options.trace} needs a file")
    found: Path = options.file
    return found


def _uniform(options: argparse.Namespace, *, cores_per_device: int) -> list[NodeInfo]:
    nodes, devices = options.cluster
    cores = cores_per_device * devices
    return uniform_nodes(
        nodes, devices=devices, cores=cores, memory_mib=_MIB_PER_DEVICE * devices, model="accelerator"
    )


_READERS = {"generated": _generated, "openb": _openb, "philly": _philly, "history": _history}
