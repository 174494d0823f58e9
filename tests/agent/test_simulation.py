"""Simulated nodes behind the real agent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agent.protocol import AssignedDevice, CheckResult, TaskPhase, Vendor
from agent.runners.simulated import exit_code, job_seconds
from agent.simulation import SimCollector, Simulation
from agent.simulation_facts import node_facts
from agent.simulation_spec import SimFault, SimNode, SimSlice, SimSpec, mixed_cluster
from tests.agent.server import ControlPlane, assignment
from tests.waiting import eventually

NODES = {node.name: node for node in mixed_cluster().nodes}


def test_the_mixed_cluster_is_what_the_demo_promises() -> None:
    facts = [node_facts(node, node.name) for node in NODES.values()]
    assert len(facts) == 48
    models = {device.model for fact in facts for device in fact.devices}
    assert models == {"NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB", "Tesla T4", "910B3", "MLU370-X8"}
    assert sum(1 for fact in facts if not fact.devices) == 8
    assert {len(fact.numa) for fact in facts} == {2, 8}
    assert all(fact.simulated and len({cpu.id for cpu in fact.cpus}) == len(fact.cpus) for fact in facts)


def test_devices_hang_on_numa_nodes_that_exist_and_links_join_all_pairs() -> None:
    for node in NODES.values():
        facts = node_facts(node, node.name)
        assert {device.numa_node for device in facts.devices} <= {numa.id for numa in facts.numa}
        count = len(facts.devices)
        assert len(facts.links) == count * (count - 1) // 2
        assert sorted(cpu for numa in facts.numa for cpu in numa.cpus) == [cpu.id for cpu in facts.cpus]
    kinds = {link.kind for link in node_facts(NODES["v100-01"], "x").links}
    assert kinds == {"NV", "SYS"}


def test_how_long_a_simulated_job_takes_and_how_it_ends() -> None:
    assert job_seconds(assignment(1, "sh", "-c", "sleep 2.5; exit 3")) == 2.5
    assert job_seconds(assignment(1, "train", env={"HEADRACE_SIM_SECONDS": "90"})) == 90
    assert exit_code(assignment(1, "sh", "-c", "sleep 2.5; exit 3")) == 3
    assert (exit_code(assignment(1, "false")), exit_code(assignment(1, "true"))) == (1, 0)


class Idle:
    """A runner with a fixed set of running jobs."""

    def __init__(self, *jobs: object) -> None:
        self.jobs = list(jobs)

    def running(self) -> list[object]:
        return self.jobs


def collector(node: SimNode, *jobs: object) -> SimCollector:
    return SimCollector(node, Idle(*jobs), machine_id="m")  # type: ignore[arg-type]


def test_readings_follow_the_jobs() -> None:
    device = node_facts(NODES["t4-01"], "m").devices[1]
    booked = AssignedDevice(Vendor.NVIDIA, 1, device.uuid, device.pci_bus_id, 10_000, 1000)
    readings = collector(NODES["t4-01"], assignment(1, devices=[booked])).take()
    assert readings is not None
    idle, busy = readings.samples[:2]
    assert (idle.utilization_pct, idle.memory_used_mib) == (0, 3)
    assert busy.utilization_pct is not None and busy.utilization_pct > 40 and busy.memory_used_mib == 8503
    assert busy.power_mw is not None and idle.power_mw is not None and 70_000 >= busy.power_mw > idle.power_mw


def test_faults_befall_devices() -> None:
    faults = [
        SimFault(0, 0, 60, CheckResult.FATAL, "lost"),
        SimFault(1, 0, 60, vanish=True),
        SimFault(2, 900, 60),
    ]
    node = SimNode("n", "cpu", 1, 4, 1, 1000, 2000, devices=NODES["t4-01"].devices, faults=faults)
    readings = collector(node).take()
    assert readings is not None
    assert [check.result for check in readings.checks] == [CheckResult.FATAL, CheckResult.OK, CheckResult.OK]
    assert [device.index for device in collector(node).facts().devices] == [0, 2, 3]


@pytest.fixture
def run(server: ControlPlane, tmp_path: Path) -> Iterator[Simulation]:
    spec = SimSpec(nodes=[NODES["a100-01"]])
    simulation = Simulation(spec, server=server.url, state_dir=tmp_path)
    thread = threading.Thread(target=simulation.run, args=(["token"],))
    thread.start()
    yield simulation
    simulation.stop()
    thread.join(timeout=10)
    assert not thread.is_alive()


@pytest.mark.acceptance
def test_a_simulated_job_runs_logs_and_ends_with_its_code(server: ControlPlane, run: Simulation) -> None:
    eventually(lambda: server.reports)
    assert server.enrolments[0].token == "token" and server.reports[0].facts is not None
    server.want(assignment(1, "sh", "-c", "sleep 0.5; exit 3", cpus=[4, 5]), assignment(2, "sleep", "600"))
    assert server.wait_task(1, TaskPhase.RUNNING).cpus == [4, 5]
    assert server.wait_task(1, TaskPhase.ENDED).exit_code == 3
    eventually(lambda: b"simulated" in server.log(1) and b"ended" in server.log(1))
    server.want()
    eventually(lambda: not server.reports[-1].tasks)


def test_devices_that_are_cut_into_slices_tell_of_each_and_of_the_whole() -> None:
    node = NODES["a100-01"]
    assert node.devices is not None
    parts = [SimSlice("3g.40gb", 40_192, 429), SimSlice("4g.40gb", 40_192, 571)]
    cut = msgspec.structs.replace(node, devices=msgspec.structs.replace(node.devices, slices=parts))
    device = node_facts(cut, "m").devices[0]
    first, second = device.partitions
    assert (first.instance, first.compute_milli, first.memory_total_mib) == (1, 429, 40_192)
    assert len({first.uuid, second.uuid, device.uuid}) == 3 and (first.uuid or "").startswith("MIG-")
    assert node_facts(cut, "m").devices[0] == device
    held = AssignedDevice(Vendor.NVIDIA, 1, first.uuid, None, 20_000, 1000)
    job = msgspec.structs.replace(assignment(1, "sleep", "60"), devices=[held])
    readings = collector(cut, job).take()
    assert readings is not None
    samples = {sample.device: sample for sample in readings.samples}
    a, b, whole = (samples[uuid or ""] for uuid in (first.uuid, second.uuid, device.uuid))
    assert (a.memory_used_mib, b.memory_used_mib, whole.memory_used_mib) == (17_000, 0, 17_003)
    assert 0 < (whole.utilization_pct or 0) < (a.utilization_pct or 0) and b.utilization_pct == 0
