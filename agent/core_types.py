"""Wire types of what tasks use of their cores; part of `agent.protocol`."""

from __future__ import annotations

import msgspec


class CpuUse(msgspec.Struct, frozen=True):
    """What a task used of its cores, on average over the `seconds` in which it was looked at: of all of them, and of
    these its data loaders (null: none was seen). `full_pct` of the time the cores of the loaders, without loaders all
    of its cores, were used up. `device_pct`: how busy its whole devices were, null where that is unknown.
    """

    seconds: int
    used_milli: int
    loader_milli: int | None = None
    full_pct: int = 0
    device_pct: int | None = None
