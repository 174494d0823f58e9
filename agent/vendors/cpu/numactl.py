"""`numactl -H`: NUMA nodes, their memory and their distances."""

from __future__ import annotations

import re

from agent.host.files import parse_count
from agent.vendors.base import to_mib
from agent.vendors.cpu.host import MOST_CPUS, Host

_LINE = re.compile(r"^\s*node\s+(\d{1,4})\s+(cpus|size|free)\s*:\s*(.*?)\s*$", re.IGNORECASE)
_HEADER = re.compile(r"^\s*node\s+(\d{1,4}(?:\s+\d{1,4})*)\s*$", re.IGNORECASE)
_DISTANCES = re.compile(r"^\s*(\d{1,4}):\s+(\d{1,5}(?:\s+\d{1,5})*)\s*$")


def parse_numactl(captured: str) -> Host:
    """Nodes without CPUs are memory only (persistent, of an accelerator or far): what kind is not told."""
    host = Host()
    columns: list[int] = []
    for line in captured.splitlines():
        match, header, distances = _LINE.match(line), _HEADER.match(line), _DISTANCES.match(line)
        if match:
            _node_line(host, int(match.group(1)), match.group(2).lower(), match.group(3))
        elif header:
            columns = [int(number) for number in header.group(1).split()]
        elif distances and columns:
            values = [int(value) for value in distances.group(2).split()]
            if len(values) == len(columns):
                host.node(int(distances.group(1))).distances = values
    return host


def _node_line(host: Host, number: int, what: str, value: str) -> None:
    node = host.node(number)
    if what == "cpus":
        counts = (parse_count(token) for token in value.split())
        node.cpus = sorted({count for count in counts if count is not None and count < MOST_CPUS})
    elif what == "size":
        node.memory_mib = to_mib(value)
