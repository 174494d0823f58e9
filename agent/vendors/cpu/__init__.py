"""The host's own processors from captured text: lscpu, numactl, /proc and listings of /sys."""

from __future__ import annotations

import re
from typing import cast

from agent.notices import notice
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Vendor
from agent.vendors.base import CPU, Reading, Readout, plain
from agent.vendors.cpu.host import Slot, cpus_of, join, memory_of, nodes_of
from agent.vendors.cpu.lscpu import parse_lscpu
from agent.vendors.cpu.numactl import parse_numactl
from agent.vendors.cpu.sysfs import parse_cpuinfo, parse_sysfs

_CPUINFO = re.compile(r"^(?:processor|cpu number)\s*:\s*\d|^processor \d+: version", re.MULTILINE)


def parse(captured: str) -> Readout:
    """Any of these outputs, also several in one text; never raises."""
    clean = plain(captured)
    parts = [parse_cpuinfo(clean)] if _CPUINFO.search(clean) else [parse_lscpu(clean)]
    host = join([*parts, parse_numactl(clean), parse_sysfs(clean)])
    return Readout(
        vendor=CPU,
        readings=[_slot(place, slot) for place, slot in enumerate(host.slots)],
        numa=nodes_of(host),
        warnings=[] if host.told() else [notice("not-recognised")],
        cpu_model=host.model,
        sockets=host.sockets,
        cpus=cpus_of(host),
        memory_mib=memory_of(host),
    )


def _slot(place: int, slot: Slot) -> Reading:
    """A PCI device of a listing: only where it hangs is known."""
    facts = DeviceFacts(
        vendor=cast(Vendor, CPU),  # whose device it is the listing does not tell
        index=place,
        pci_bus_id=slot.bus_id,
        numa_node=slot.numa,
        cpu_affinity=None if slot.cpus is None else list(slot.cpus),
    )
    check = Check(
        device=slot.bus_id,
        result=CheckResult.UNKNOWN,
        code="no-reading",
        evidence="a listing of slots says nothing of health",
    )
    return Reading(facts=facts, sample=DeviceSample(device=slot.bus_id), check=check)
