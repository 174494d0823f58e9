"""Names and shares of MIG slices. Source: NVIDIA's MIG user guide, tables of the supported profiles."""

from __future__ import annotations

import re

from agent.protocol import Partition
from agent.vendors.base import in_range

_PROFILE = re.compile(r"\b(?:(\d{1,2})c\.)?(\d{1,2})g\.\d{1,4}gb\S*")
_SEVENTHS = re.compile(r"\b(A100|A800|H100|H800|H200|H20|GH200|B100|B200|B300|GB200|GB300)\b")
_QUARTERS = re.compile(r"\bA30\b|RTX PRO (?:6000|5000) Blac")
_VIRTUAL = re.compile(r"-(\d{1,3})[A-Z](?:ME)?$")  # `A40-8Q`, `A100-1-5CME`: the last number is of gigabytes
# Multiprocessors of all slices together, where one model name stands for one number.
_MULTIPROCESSORS = {"A30": 56, "A100": 98, "A800": 98}


def slices_of(model: str | None) -> int | None:
    """Into how many compute slices a model divides, None where the guide does not say."""
    if model is None:
        return None
    if _QUARTERS.search(model):
        return 4
    return 7 if _SEVENTHS.search(model) else None


def find_profile(text: str | None) -> str | None:
    """`1c.3g.40gb` in a longer name."""
    match = _PROFILE.search(text or "")
    return match.group(0) if match else None


def make_partition(
    *,
    model: str | None,
    name: str | None = None,
    uuid: str | None = None,
    total_mib: int | None = None,
    used_mib: int | None = None,
    instance: int | None = None,
    compute_instance: int | None = None,
    multiprocessors: int | None = None,
    compute_milli: int | None = None,
) -> Partition:
    """A slice; slices of one GPU instance share its memory, which is its number's memory group."""
    profile = find_profile(name)
    if used_mib is not None and total_mib is not None and used_mib > total_mib:
        used_mib = None
    return Partition(
        name=profile or name,
        uuid=uuid,
        memory_total_mib=total_mib or None,
        memory_used_mib=used_mib,
        instance=instance,
        compute_instance=compute_instance,
        compute_milli=compute_milli or _share_milli(model, profile, multiprocessors),
        memory_group=instance,
    )


def virtual_partition(
    name: str | None,
    *,
    number: int | None,
    uuid: str | None = None,
    total_mib: int | None = None,
    used_mib: int | None = None,
) -> Partition:
    """A virtual machine's share of a device; its type's name tells the size where nothing else does."""
    size = _VIRTUAL.search(name or "")
    told = (int(size.group(1)) * 1024 or 512) if size else None
    return Partition(
        name=name,
        uuid=uuid,
        memory_total_mib=total_mib or told,
        memory_used_mib=used_mib,
        instance=number,
    )


def _share_milli(model: str | None, profile: str | None, multiprocessors: int | None) -> int | None:
    slices = slices_of(model)
    match = _PROFILE.match(profile or "")
    if match and slices:
        taken = int(match.group(1) or match.group(2))
        return in_range(taken * 1000 // slices, low=1, high=1000)
    whole = next(
        (count for name, count in _MULTIPROCESSORS.items() if re.search(rf"\b{name}\b", model or "")), None
    )
    if multiprocessors and whole:
        return in_range(multiprocessors * 1000 // whole, low=1, high=1000)
    return None
