"""Facts of simulated machines, worked out from their spec."""

from __future__ import annotations

import hashlib
import itertools

import agent
from agent.protocol import Cpu, DeviceFacts, Facts, Link, Numa, Partition, Runtime, Vendor
from agent.simulation_spec import SimDevices, SimNode, SimSlice


def sim_machine_id(seed: int, name: str) -> str:
    """Stable over restarts."""
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()[:32]


def node_facts(node: SimNode, machine_id: str) -> Facts:
    """Facts of a spec."""
    return Facts(
        machine_id=machine_id,
        hostname=node.name,
        agent_version=agent.__version__,
        arch="aarch64" if node.cpu_model.startswith("Kunpeng") else "x86_64",
        os="Simulated Linux",
        kernel="6.1.0-sim",
        cpu_model=node.cpu_model,
        cpus=_cpus(node),
        numa=_numa(node),
        memory_mib=node.memory_mib,
        runtimes=[Runtime(name="podman", version="4.9.4")],
        devices=_devices(node.devices, node, machine_id) if node.devices else [],
        links=_links(node.devices, node) if node.devices else [],
        # Jobs that do not name it are kept off: nobody's real work may only seem to run.
        labels={**node.labels, "simulated": "true"},
        node_set=node.node_set,
        isolates_users=True,
        simulated=True,
        runs_containers=True,
    )


def _cpus(node: SimNode) -> list[Cpu]:
    cores = node.sockets * node.cores_per_socket
    per_numa = node.cores_per_socket // node.numa_per_socket
    return [
        Cpu(
            id=cpu,
            core=cpu % cores,
            socket=cpu % cores // node.cores_per_socket,
            numa=min(cpu % cores // per_numa, node.sockets * node.numa_per_socket - 1),
            max_mhz=node.max_mhz,
        )
        for cpu in range(cores * node.smt)
    ]


def _numa(node: SimNode) -> list[Numa]:
    count = node.sockets * node.numa_per_socket
    cpus = _cpus(node)
    return [
        Numa(
            id=number,
            cpus=[cpu.id for cpu in cpus if cpu.numa == number],
            memory_mib=node.memory_mib // count,
            distances=[_distance(number, other, node.numa_per_socket) for other in range(count)],
        )
        for number in range(count)
    ]


def _distance(a: int, b: int, numa_per_socket: int) -> int:
    if a == b:
        return 10
    return 12 if a // numa_per_socket == b // numa_per_socket else 32


def _devices(shape: SimDevices, node: SimNode, machine_id: str) -> list[DeviceFacts]:
    count = node.sockets * node.numa_per_socket
    numa = _numa(node)
    found = []
    for index in range(shape.count):
        place = index * count // shape.count
        digest = hashlib.sha256(f"{machine_id} {index}".encode()).hexdigest()
        nvidia = shape.vendor is Vendor.NVIDIA
        found.append(
            DeviceFacts(
                vendor=shape.vendor,
                index=index,
                uuid=_uuid("GPU-" if nvidia else "", digest),
                pci_bus_id=f"0000:{0x10 + index * 0x10:02x}:00.0",
                model=shape.model,
                memory_total_mib=shape.memory_mib,
                memory_reserved_mib=shape.reserved_mib or None,
                compute_units=shape.compute_units,
                numa_node=numa[place].id,
                cpu_affinity=numa[place].cpus,
                driver_version=shape.driver_version,
                power_limit_w=shape.power_limit_w,
                partitions=[
                    _partition(part, number, "MIG-" if nvidia else "vnpu-", digest)
                    for number, part in enumerate(shape.slices)
                ],
            )
        )
    return found


def _partition(part: SimSlice, number: int, prefix: str, device: str) -> Partition:
    """Cut alike again, a device has the same slices again."""
    digest = hashlib.sha256(f"{device} {number} {part.name}".encode()).hexdigest()
    return Partition(
        name=part.name,
        uuid=_uuid(prefix, digest),
        memory_total_mib=part.memory_mib,
        instance=number + 1,
        compute_milli=part.compute_milli,
        memory_group=part.memory_group,
    )


def _uuid(prefix: str, digest: str) -> str:
    return f"{prefix}{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def _links(shape: SimDevices, node: SimNode) -> list[Link]:
    half = max(1, shape.count // node.sockets)
    found = []
    for a, b in itertools.combinations(range(shape.count), 2):
        if shape.link and a // shape.link_group == b // shape.link_group:
            found.append(Link(a=a, b=b, kind=shape.link, lanes=shape.link_lanes))
        else:
            kind = "PIX" if a // 2 == b // 2 else "NODE" if a // half == b // half else "SYS"
            found.append(Link(a=a, b=b, kind=kind))
    return found
