"""`npu-smi info -t topo`: links between NPUs and the CPUs near them."""

from __future__ import annotations

import re

from agent.host.files import parse_cpu_list
from agent.notices import notice
from agent.protocol import Link
from agent.vendors.ascend.chips import Findings

_DEVICE = re.compile(r"^(NPU|Phy-ID)(\d{1,5})$")
_KIND = re.compile(r"^(?:HCCS|HCCS_SW|XLink|XLink_SW|SIO|UB|PIX|PXB|PIB|PHB|SYS|NODE)$")
_NAMES = {"XLink": "HCCS", "XLink_SW": "HCCS_SW"}  # drivers of late 2025 call it so


def looks_like_topology(captured: str) -> bool:
    """Whether some line is the matrix's header."""
    return any(_is_header(line.split()) for line in captured.splitlines())


def parse_topology(captured: str) -> Findings:
    """Rows of NPUs only; network cards and the legend are passed over. Without a CPU column the affinity is unknown."""
    columns: list[str] = []
    links: dict[tuple[int, int], Link] = {}
    affinities: dict[int, tuple[int, ...] | None] = {}
    by_phy = False
    for line in captured.splitlines():
        tokens = line.split()
        if _is_header(tokens):
            columns = [token for token in tokens if token not in ("CPU", "NUMA", "Affinity")]
            by_phy = columns[0].startswith("Phy")
        elif columns and tokens and (row := _DEVICE.match(tokens[0])):
            number = int(row.group(2))
            cells = tokens[1 : 1 + len(columns)]
            affinities[number] = _cpus(tokens[1 + len(columns) :])
            for column, cell in zip(columns, cells, strict=False):
                _link(links, number, column, cell)
    return Findings(
        links=tuple(links[pair] for pair in sorted(links)),
        affinities=tuple(sorted(affinities.items())),
        by_phy=by_phy,
        warnings=() if affinities else (notice("no-topology"),),
    )


def _is_header(tokens: list[str]) -> bool:
    if not tokens or not _DEVICE.match(tokens[0]):
        return False
    return all(
        _DEVICE.match(token) or token.startswith("NIC") or token in ("CPU", "NUMA", "Affinity")
        for token in tokens
    )


def _cpus(tokens: list[str]) -> tuple[int, ...] | None:
    return tuple(parse_cpu_list(",".join(tokens))) or None


def _link(links: dict[tuple[int, int], Link], number: int, column: str, cell: str) -> None:
    other = _DEVICE.match(column)
    if other is None or not _KIND.match(cell) or int(other.group(2)) == number:
        return
    a, b = sorted((number, int(other.group(2))))
    links.setdefault((a, b), Link(a=a, b=b, kind=_NAMES.get(cell, cell)))
