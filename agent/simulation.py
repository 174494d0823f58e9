"""Simulated nodes: synthetic devices and jobs behind the real agent, protocol and journal, many in one process."""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

import agent
from agent.collect import Readings
from agent.config import ConfigError, Identity, load_identity, save_identity
from agent.host import machine
from agent.journal import Journal
from agent.loop import Agent
from agent.protocol import (
    VERSION,
    Assignment,
    Check,
    CheckResult,
    DeviceFacts,
    DeviceSample,
    EnrolRequest,
    Facts,
    NodeSample,
    Partition,
)
from agent.runners.simulated import SimRunner, Timetable
from agent.simulation_facts import node_facts, sim_machine_id
from agent.simulation_spec import SimFault, SimNode, SimSpec
from agent.transport import Backoff, Refused, Transport, Unreachable

logger = logging.getLogger("headrace.agent.simulation")
LOG_TICK_S = 1.0
STAGGER_S = 4.0


class SimCollector:
    """Facts of the spec, and readings that follow the jobs that run."""

    def __init__(self, node: SimNode, runner: SimRunner, *, machine_id: str) -> None:
        self._node = node
        self._runner = runner
        self._began_s = time.monotonic()
        self._facts = node_facts(node, machine_id)
        self._on_ready: Callable[[], None] = lambda: None

    def start(self, on_ready: Callable[[], None]) -> None:
        """Ready at once."""
        self._on_ready = on_ready

    def facts(self) -> Facts:
        """As the spec says, without devices that a fault made vanish."""
        gone = {fault.device for fault in self._faults() if fault.vanish}
        if not gone:
            return self._facts
        devices = [device for device in self._facts.devices if device.index not in gone]
        return msgspec.structs.replace(self._facts, devices=devices)

    def begin(self) -> None:
        """Readings are made when they are taken."""
        self._on_ready()

    def take(self) -> Readings | None:
        """Synthetic readings of this moment."""
        jobs = self._runner.running()
        faults = {fault.device: fault for fault in self._faults()}
        samples, checks = [], []
        for device in self.facts().devices:
            name, fault = device.uuid or "", faults.get(device.index)
            samples.append(self._sample(device, jobs))
            samples += [_slice_sample(part, jobs) for part in device.partitions]
            result = fault.result if fault else CheckResult.OK
            checks.append(Check(name, result, fault.code if fault else "", "simulated" if fault else ""))
        used_milli = sum(900 * len(job.cpus) for job in jobs)
        memory = 4096 + sum((job.memory_mib or 1024) * 7 // 10 for job in jobs)
        return Readings(
            node=NodeSample(cpu_used_milli=used_milli + 200, memory_used_mib=memory, load1_milli=used_milli),
            samples=tuple(samples),
            checks=tuple(checks),
        )

    def close(self) -> None:
        """Nothing to stop."""

    def _faults(self) -> list[SimFault]:
        if not self._node.faults:
            return []
        age_s = time.monotonic() - self._began_s
        return [fault for fault in self._node.faults if fault.at_s <= age_s < fault.at_s + fault.for_s]

    def _sample(self, device: DeviceFacts, jobs: list[Assignment]) -> DeviceSample:
        shape = self._node.devices
        assert shape is not None
        parts = {part.uuid: (part.compute_milli or 1000) / 1000 for part in device.partitions}
        share, memory_mib = _use(parts | {device.uuid: 1.0}, jobs)
        return DeviceSample(
            device=device.uuid or "",
            memory_used_mib=min(3 + memory_mib, shape.memory_mib),
            utilization_pct=round(share * 100),
            temperature_c=round(31 + 42 * share),
            power_mw=round(1000 * (shape.idle_w + share * (shape.power_limit_w - shape.idle_w) * 0.9)),
        )


def _slice_sample(part: Partition, jobs: list[Assignment]) -> DeviceSample:
    share, memory_mib = _use({part.uuid: 1.0}, jobs)
    limit_mib = part.memory_total_mib
    return DeviceSample(
        device=part.uuid or "",
        memory_used_mib=memory_mib if limit_mib is None else min(memory_mib, limit_mib),
        utilization_pct=round(share * 100),
    )


def _use(weights: Mapping[str | None, float], jobs: list[Assignment]) -> tuple[float, int]:
    """How busy jobs keep a device, and MiB in use; `weights` are what its parts (by uuid) count of the whole."""
    share, memory_mib = 0.0, 0
    for job in jobs:
        for booked in job.devices:
            weight = weights.get(booked.uuid)
            if weight is not None:
                share += weight * booked.compute_milli / 1000 * busy_share(job.job, time.monotonic())
                memory_mib += booked.memory_mib * 85 // 100
    return min(1.0, share), memory_mib


class Simulation:
    """All nodes of a spec, each an agent with threads of its own that mostly sleep."""

    def __init__(self, spec: SimSpec, *, server: str, state_dir: Path, ca_file: str | None = None) -> None:
        self._spec = spec
        self._state_dir = state_dir
        self._transport = Transport(server, ca_file=ca_file)
        self._timetable = Timetable()
        self._stopping = threading.Event()
        self.agents: list[Agent] = []

    def run(self, tokens: list[str]) -> None:
        """Enrol who is not yet enrolled, then work until stop()."""
        threads = []
        for position, node in enumerate(self._spec.nodes):
            identity = self._identity(node, tokens[position] if position < len(tokens) else None)
            if identity is None:
                break
            self.agents.append(self._agent(node, identity))
        logger.info("%d simulated nodes", len(self.agents))
        for sim in self.agents:
            threads.append(threading.Thread(target=sim.run, name="node", daemon=True))
            threads[-1].start()
            self._stopping.wait(STAGGER_S / len(self.agents))
        self._stopping.wait()
        for sim in self.agents:
            sim.stop()
        for thread in threads:
            thread.join(timeout=1.0)
        self._timetable.close()
        self._transport.close()

    def stop(self) -> None:
        """Ask run() to return; safe in a signal handler."""
        self._stopping.set()

    def _identity(self, node: SimNode, token: str | None) -> Identity | None:
        """The node's identity; None when the simulation is being stopped."""
        folder = self._state_dir / node.name
        kept = load_identity(folder)
        if kept is not None:
            return kept
        if token is None:
            raise ConfigError(
                f"token_file: no token left for {node.name}; it needs one line per simulated node"
            )
        machine_id = sim_machine_id(self._spec.seed, node.name)
        request = EnrolRequest(VERSION, token, machine_id, self._boot_id(node), node.name, agent.__version__)
        backoff = Backoff()
        while not self._stopping.is_set():
            try:
                reply = self._transport.enrol(request)
            except Unreachable as error:
                logger.info("enrolment waits for the server: %s", error)
                self._stopping.wait(backoff.next_s())
                continue
            except Refused as error:
                raise ConfigError(f"{node.name}: enrolment refused: {error}") from error
            identity = Identity(
                server=self._transport.server,
                cluster_id=reply.cluster_id,
                node=reply.node,
                token=reply.token,
                machine_id=machine_id,
                report_interval_s=reply.report_interval_s,
            )
            save_identity(folder, identity)
            return identity
        return None

    def _agent(self, node: SimNode, identity: Identity) -> Agent:
        journal = Journal(self._state_dir / node.name, durable=False)
        runner = SimRunner(node, journal, self._timetable)
        return Agent(
            identity,
            transport=self._transport.with_token(identity.token),
            collector=SimCollector(node, runner, machine_id=identity.machine_id),
            runner=runner,
            journal=journal,
            boot_id=self._boot_id(node),
            log_tick_s=LOG_TICK_S,
        )

    def _boot_id(self, node: SimNode) -> str:
        return hashlib.sha256(f"{machine.boot_id(Path('/'))} {node.name}".encode()).hexdigest()[:32]


def busy_share(job: int, now_s: float) -> float:
    """A job's own level of utilisation with some breathing."""
    level = 0.55 + (job * 2654435761 % 97) / 97 * 0.4
    return min(1.0, level + 0.05 * math.sin(now_s / 17 + job))
