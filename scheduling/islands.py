"""Which devices hang together by direct links (NVLink, HCCS, XGMI and the like), for pairs between which nothing is
reported. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.engine.links import is_direct
from scheduling.engine.types import LinkInfo


def islands(links: Iterable[LinkInfo]) -> dict[int, int]:
    """The island of every device with a direct link, named by the lowest device in it."""
    island: dict[int, int] = {}
    members: dict[int, set[int]] = {}
    for link in links:
        if link.a == link.b or not is_direct(link.kind):
            continue
        joined = set[int]()
        for end in (link.a, link.b):
            joined |= members.pop(island.get(end, end), {end})
        name = min(joined)
        members[name] = joined
        island |= dict.fromkeys(joined, name)
    return island
