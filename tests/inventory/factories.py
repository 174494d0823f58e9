"""Facts, nodes and devices for tests of the inventory."""

from __future__ import annotations

from typing import Any

from agent.protocol import Cpu, DeviceFacts, Facts, Link, Numa, Partition, Vendor
from inventory.health import Thresholds
from inventory.models import Device, DeviceHealth, Node, NodeContact, NodeCredential, NodeState
from inventory.tokens import digest, new_node_secret

THRESHOLDS = Thresholds()
GIB = 1024


def device_facts(index: int, **changes: Any) -> DeviceFacts:
    values: dict[str, Any] = {
        "vendor": Vendor.NVIDIA,
        "index": index,
        "uuid": f"GPU-{index:08x}",
        "pci_bus_id": f"00000000:{index + 16:02X}:00.0",
        "model": "NVIDIA A100-SXM4-80GB",
        "memory_total_mib": 80 * GIB,
        "memory_reserved_mib": 600,
        "numa_node": 0,
        "driver_version": "570.00",
    }
    return DeviceFacts(**(values | changes))


def facts(*devices: DeviceFacts, **changes: Any) -> Facts:
    values: dict[str, Any] = {
        "machine_id": "machine-1",
        "hostname": "n1",
        "agent_version": "0.1.0",
        "arch": "x86_64",
        "os": "Debian 12",
        "kernel": "6.1",
        "cpu_model": "CPU",
        "cpus": [Cpu(id=number, core=number, socket=0, numa=0, max_mhz=3000) for number in range(4)],
        "numa": [Numa(id=0, cpus=[0, 1, 2, 3], memory_mib=64 * GIB, distances=[10])],
        "memory_mib": 64 * GIB,
        "devices": list(devices),
    }
    return Facts(**(values | changes))


def link(a: int, b: int, kind: str = "NV", **changes: Any) -> Link:
    return Link(a=a, b=b, kind=kind, **changes)


def make_node(machine_id: str = "machine-1", *, state: NodeState = NodeState.READY, **columns: Any) -> Node:
    node = Node.objects.create(machine_id=machine_id, name=machine_id, state=state, **columns)
    NodeContact.objects.create(node=node, boot_id="boot-1")
    return node


def make_credential(node: Node) -> str:
    secret = new_node_secret()
    NodeCredential.objects.create(node=node, token_hash=digest(secret))
    return secret


def make_device(node: Node, index: int = 0, **columns: Any) -> Device:
    values: dict[str, Any] = {
        "identity": f"GPU-{index:08x}",
        "uuid": f"GPU-{index:08x}",
        "index": index,
        "vendor": "nvidia",
        "model": "NVIDIA A100-SXM4-80GB",
        "memory_total_mib": 80 * GIB,
        "health": DeviceHealth.HEALTHY,
    }
    return Device.objects.create(node=node, **(values | columns))


def partition(instance: int, **changes: Any) -> Partition:
    values: dict[str, Any] = {
        "name": "MIG 3g.40gb",
        "uuid": f"MIG-{instance:08x}",
        "memory_total_mib": 40 * GIB,
        "instance": instance,
        "compute_instance": 0,
        "compute_milli": 429,
    }
    return Partition(**(values | changes))
