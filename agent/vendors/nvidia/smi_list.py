"""`nvidia-smi -L` with its slices, and `nvidia-smi nvlink -s`: lists of lines below one line per GPU."""

from __future__ import annotations

import re
from dataclasses import replace

from agent.notices import notice
from agent.protocol import Notice, Partition, Vendor
from agent.vendors.base import Port, Readout
from agent.vendors.nvidia.look import Look, identity, silent, told_apart
from agent.vendors.nvidia.profiles import make_partition

_GPU = re.compile(r"^\s*GPU (\d{1,4})\s*:\s*(\S.*?)?\s*(?:\((?:[^()]*?,\s*)?UUID\s*:\s*([^)]*?)\s*\)?)?\s*$")
_SLICE = re.compile(r"^\s+MIG\s+(\S+)(?:\s+Device\s+(\d+))?\s*:\s*(?:\(UUID\s*:\s*([^)\s]+)\s*\)?)?")
_OLD_SLICE = re.compile(r"^MIG-GPU-[^/]+/(\d{1,5})/(\d{1,5})$")
_LINK = re.compile(
    r"^\s+Link (\d{1,3})\s*:\s*(?:(\d{1,6}(?:\.\d+)?)\s*GB/s|(<inactive>|inactive))", re.IGNORECASE
)
_BUS_ID = re.compile(r"^[0-9A-Fa-fXx*?#]{2}:[0-9A-Fa-fXx*?#]{2}\.[0-9Xx*?#]$")
_COUNTER = re.compile(
    r"^\s+Link \d{1,3}\s*:\s*[^:]*\b(?:Errors?|Count)[^:]*:\s*(?:\d+|N/A)\s*$", re.IGNORECASE
)
_NO_LINKS = re.compile(r"^\s*Unable to retrieve NVLink information[^:]*:", re.IGNORECASE)
_DETAIL = re.compile(r"^\s+(?:MIG|Link)\b")


def looks_like_list(captured: str) -> bool:
    """Whether some line names a GPU the way these lists do."""
    return any(_is_gpu(line) for line in captured.splitlines())


def parse_list(captured: str) -> Readout:
    """One device per GPU line, with the slices or links below it."""
    looks: list[Look] = []
    for line in captured.splitlines():
        match = _GPU.match(line)
        if match and _is_gpu(line):
            looks.append(
                Look(
                    index=int(match.group(1)),
                    name=match.group(2),
                    uuid=match.group(3),
                    words=(("list", line),),
                )
            )
        elif looks and line.strip():
            looks[-1] = _add(looks[-1], line)
    return Readout(
        vendor=Vendor.NVIDIA, readings=[silent(look) for look in told_apart(looks)], warnings=_inactive(looks)
    )


def _is_gpu(line: str) -> bool:
    """A bus id after the number is the heading of a report."""
    match = _GPU.match(line)
    named = match and (match.group(3) or (match.group(2) and not _BUS_ID.match(match.group(2))))
    return bool(named and "handle" not in line)


def _add(look: Look, line: str) -> Look:
    link, part = _LINK.match(line), _SLICE.match(line)
    if link:
        speed = float(link.group(2)) if link.group(2) else None
        mb_s = None if speed is None else round(speed * 1000)
        port = Port(number=int(link.group(1)), active=mb_s is not None, mb_s=mb_s)
        return replace(look, ports=(*look.ports, port))
    if part:
        return replace(look, partitions=(*look.partitions, _partition(look, part)))
    told = (_DETAIL.match(line) and not _COUNTER.match(line)) or _NO_LINKS.match(line)
    return replace(look, words=(*look.words, ("list", line))) if told else look


def _partition(look: Look, match: re.Match[str]) -> Partition:
    old = _OLD_SLICE.match(match.group(3) or "")
    return make_partition(
        model=look.name,
        name=match.group(1),
        uuid=identity(match.group(3)),
        instance=int(old.group(1)) if old else None,
        compute_instance=int(old.group(2)) if old else None,
    )


def _inactive(looks: list[Look]) -> list[Notice]:
    said = []
    for look in looks:
        down = [str(port.number) for port in look.ports if not port.active]
        if down:
            problem = f"GPU {look.index}: NVLinks {', '.join(down)} are inactive"
            said.append(notice("tool-failed", problem=problem))
    return said
