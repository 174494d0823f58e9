"""What simulated nodes look like, and the mixed cluster of 48 that the demo shows."""

from __future__ import annotations

import msgspec

from agent.protocol import CheckResult, Vendor


class SimFault(msgspec.Struct, frozen=True):
    """Something that befalls one device `at_s` seconds after the start, for `for_s` seconds; `vanish` hides
    it from reports.
    """

    device: int
    at_s: float
    for_s: float
    result: CheckResult = CheckResult.FAILED
    code: str = "error-state"
    vanish: bool = False


class SimSlice(msgspec.Struct, frozen=True):
    """One hardware slice into which every accelerator of a node is cut."""

    name: str
    memory_mib: int
    compute_milli: int | None = None
    memory_group: int | None = None


class SimDevices(msgspec.Struct, frozen=True):
    """Equal accelerators of one node, each cut into `slices`. `link` joins devices of one group of `link_group`, PCIe
    paths join the rest.
    """

    vendor: Vendor
    model: str
    count: int
    memory_mib: int
    power_limit_w: int
    idle_w: int
    reserved_mib: int = 0
    compute_units: int | None = None
    link: str | None = None
    link_lanes: int | None = None
    link_group: int = 8
    driver_version: str = "sim"
    slices: list[SimSlice] = []


class SimNode(msgspec.Struct, frozen=True):
    """One simulated machine. CPUs n and n + cores are SMT siblings where `smt` is 2."""

    name: str
    cpu_model: str
    sockets: int
    cores_per_socket: int
    numa_per_socket: int
    memory_mib: int
    max_mhz: int
    smt: int = 2
    devices: SimDevices | None = None
    labels: dict[str, str] = {}
    node_set: str | None = None
    faults: list[SimFault] = []


class SimSpec(msgspec.Struct, frozen=True):
    """A simulated cluster."""

    nodes: list[SimNode]
    seed: int = 1


A100 = SimDevices(
    vendor=Vendor.NVIDIA,
    model="NVIDIA A100-SXM4-80GB",
    count=8,
    memory_mib=81920,
    reserved_mib=869,
    power_limit_w=400,
    idle_w=62,
    compute_units=108,
    link="NV",
    link_lanes=12,
    driver_version="535.161.08",
)
V100 = SimDevices(
    vendor=Vendor.NVIDIA,
    model="Tesla V100-SXM2-32GB",
    count=8,
    memory_mib=32768,
    reserved_mib=258,
    power_limit_w=300,
    idle_w=42,
    compute_units=80,
    link="NV",
    link_lanes=2,
    link_group=4,
    driver_version="470.223.02",
)
T4 = SimDevices(
    vendor=Vendor.NVIDIA,
    model="Tesla T4",
    count=4,
    memory_mib=15360,
    reserved_mib=388,
    power_limit_w=70,
    idle_w=10,
    compute_units=40,
    driver_version="535.161.08",
)
ASCEND_910B = SimDevices(
    vendor=Vendor.ASCEND,
    model="910B3",
    count=8,
    memory_mib=65536,
    reserved_mib=3314,
    power_limit_w=400,
    idle_w=95,
    compute_units=20,
    link="HCCS",
    driver_version="23.0.3",
)
MLU370 = SimDevices(
    vendor=Vendor.CAMBRICON,
    model="MLU370-X8",
    count=4,
    memory_mib=23374,
    power_limit_w=250,
    idle_w=38,
    driver_version="5.10.22",
)
XEON = {
    "cpu_model": "Intel(R) Xeon(R) Gold 6348 CPU @ 2.60GHz",
    "sockets": 2,
    "cores_per_socket": 28,
    "max_mhz": 3500,
}
EPYC = {"cpu_model": "AMD EPYC 7763 64-Core Processor", "sockets": 2, "cores_per_socket": 64, "max_mhz": 3529}
KUNPENG = {"cpu_model": "Kunpeng-920", "sockets": 4, "cores_per_socket": 48, "max_mhz": 2600, "smt": 1}


def mixed_cluster() -> SimSpec:
    """48 nodes: 8 x A100, 8 x V100, 10 x T4, 8 x Ascend 910B, 6 x MLU, 8 without accelerators; one and four
    NUMA nodes per socket.
    """
    nodes = [
        *_group("a100", 8, devices=A100, memory_mib=2_063_000, numa_per_socket=4, node_set="train", **EPYC),
        *_group("v100", 8, devices=V100, memory_mib=515_000, numa_per_socket=1, node_set="train", **XEON),
        *_group("t4", 10, devices=T4, memory_mib=257_000, numa_per_socket=1, node_set="serve", **XEON),
        *_group(
            "ascend",
            8,
            devices=ASCEND_910B,
            memory_mib=1_547_000,
            numa_per_socket=2,
            node_set="train",
            **KUNPENG,
        ),
        *_group("mlu", 6, devices=MLU370, memory_mib=515_000, numa_per_socket=1, node_set="serve", **XEON),
        *_group("cpu", 8, devices=None, memory_mib=515_000, numa_per_socket=4, node_set="batch", **EPYC),
    ]
    return SimSpec(nodes=nodes)


def _group(prefix: str, count: int, **shape: object) -> list[SimNode]:
    return [
        msgspec.convert(
            {"name": f"{prefix}-{number:02d}", "labels": {"rack": f"r{number % 4 + 1}"}} | shape, SimNode
        )
        for number in range(1, count + 1)
    ]
