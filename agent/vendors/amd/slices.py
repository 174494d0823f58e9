"""Partitioned Instinct devices: the tools list every slice as a device of its own; together they are one."""

from __future__ import annotations

import re
from dataclasses import replace

from agent.protocol import Partition, normal_pci
from agent.vendors.findings import Capture, Finding, mib

WHOLE = "SPX"
_MEMORY_MODE = re.compile(r"^NPS(\d)$")


def gather(capture: Capture) -> Capture:
    """One finding per physical device: slices of one slot become its partitions, in the order of the tool.

    In a memory mode NPSn the device's memory is n parts, each shared by the slices that lie on it.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in capture.findings:
        address = normal_pci(finding.pci_bus_id)
        sliced = _mode(finding)[0] != WHOLE and address is not None
        groups.setdefault(address.rpartition(".")[0] if sliced and address else finding.index, []).append(
            finding
        )
    return replace(capture, findings=tuple(_one(group) for group in groups.values()))


def _mode(finding: Finding) -> tuple[str, str]:
    name = finding.partitions[0].name if finding.partitions else None
    compute, _, memory = (name or f"{WHOLE}/?").partition("/")
    return compute, memory


def _one(group: list[Finding]) -> Finding:
    head = group[0]
    compute, memory = _mode(head)
    if compute == WHOLE or len(group) == 1:
        return replace(head, partitions=())
    parts = _parts(memory, len(group))
    sizes = [mib(finding.memory_total) for finding in group]
    address = (normal_pci(head.pci_bus_id) or "").rpartition(".")[0] + ".0"
    return replace(
        head,
        pci_bus_id=address,
        memory_total=_whole_memory(sizes, parts),
        memory_used=head.memory_used if parts == 1 else None,  # of the first part only, where there are more
        tells_memory=False,
        partitions=tuple(
            Partition(
                name=f"{compute}/{memory}",
                uuid=finding.uuid if finding.uuid != head.uuid else f"{head.uuid or address}-{number}",
                memory_total_mib=size,
                instance=number,
                compute_milli=1000 // len(group),
                memory_group=number * parts // len(group) if parts else None,
            )
            for number, (finding, size) in enumerate(zip(group, sizes, strict=True))
        ),
        complaints=tuple(line for finding in group for line in finding.complaints),
    )


def _parts(memory: str, slices: int) -> int | None:
    match = _MEMORY_MODE.match(memory)
    count = int(match.group(1)) if match else None
    return min(count, slices) if count else None


def _whole_memory(sizes: list[int | None], parts: int | None) -> str | None:
    known = [size for size in sizes if size]
    return f"{max(known) * parts} MiB" if known and parts else None
