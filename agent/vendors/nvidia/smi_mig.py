"""`nvidia-smi mig -lgi`, `-lci` and `-lgip`: tables of the slices that there are, and of those that there could be."""

from __future__ import annotations

import re

from agent.notices import notice
from agent.protocol import Notice, Partition, Vendor
from agent.vendors.base import EVIDENCE_CHARS, Readout
from agent.vendors.nvidia.look import Look, silent
from agent.vendors.nvidia.profiles import make_partition

TITLES = ("GPU instances", "Compute instances", "GPU instance profiles", "Compute instance profiles")
_TITLE = re.compile(r"^\|\s*(GPU|Compute) instance(s|\s+profiles)\s*:\s*\|\s*$")
_INSTANCE = re.compile(r"^\|\s*(\d{1,4})\s+MIG\s+(\S+)\s+\d{1,4}\s+(\d{1,4})\s+\d{1,3}:\d{1,3}\s*\|\s*$")
_COMPUTE = re.compile(
    r"^\|\s*(\d{1,4})\s+(\d{1,4})\s+MIG\s+(\S+)\s+\d{1,4}\s+(\d{1,4})\s+\d{1,3}:\d{1,3}\s*\|\s*$"
)
_PROFILE = re.compile(r"^\|\s*(\d{1,4})\s+(?:\d{1,4}\s+)?MIG\s+\S+\s+\d{1,4}\*?\s+\d{1,3}/\d{1,3}\s")
_NONE = re.compile(
    r"^No MIG-supported devices found|^No (?:GPU|compute) instances found|^Unable to determine .*instance",
    re.IGNORECASE | re.MULTILINE,
)


def looks_like_mig(captured: str) -> bool:
    """Whether such a table's title is there, or the sentence in its place."""
    return any(_TITLE.match(line.strip()) for line in captured.splitlines() if "|" in line) or bool(
        _NONE.search(captured)
    )


def parse_mig(captured: str) -> Readout:
    """A device per GPU with a row; its slices, compute instances in the place of the instance that they divide."""
    parts: dict[int, dict[int, dict[int | None, Partition]]] = {}
    said: list[Notice] = []
    for line in (line.strip() for line in captured.splitlines()):
        instance, compute, profile = _INSTANCE.match(line), _COMPUTE.match(line), _PROFILE.match(line)
        if instance:
            gpu, name, number = int(instance.group(1)), instance.group(2), int(instance.group(3))
            slot = parts.setdefault(gpu, {}).setdefault(number, {})
            if not slot:
                slot[None] = make_partition(model=None, name=name, instance=number)
        elif compute:
            gpu, owner, number = int(compute.group(1)), int(compute.group(2)), int(compute.group(4))
            slot = parts.setdefault(gpu, {}).setdefault(owner, {})
            slot.pop(None, None)
            slot[number] = make_partition(
                model=None, name=compute.group(3), instance=owner, compute_instance=number
            )
        elif profile:
            parts.setdefault(int(profile.group(1)), {})
        elif _NONE.match(line):
            said.append(notice("tool-failed", problem=line[:EVIDENCE_CHARS]))
    looks = [
        Look(index=gpu, partitions=tuple(part for slot in slots.values() for part in slot.values()))
        for gpu, slots in parts.items()
    ]
    return Readout(vendor=Vendor.NVIDIA, readings=[silent(look) for look in looks], warnings=said)
