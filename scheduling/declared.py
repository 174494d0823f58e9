"""Figures about a node that only people know, written as labels of the node; without a label, or with one that is no
figure, they are unknown. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# What its memory or storage can deliver to all jobs together, whole MiB/s.
READ_BANDWIDTH = "headrace/read-bandwidth-mib-s"
# Watts, with up to three decimals: drawn without any job, by one busy logical CPU, and the most the node may draw.
IDLE_POWER = "headrace/idle-w"
CORE_POWER = "headrace/core-w"
POWER_CAP = "headrace/power-cap-w"

_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
_WATTS = re.compile(r"([0-9]{1,6})(?:\.([0-9]{1,3}))?", re.ASCII)


def whole(labels: Mapping[str, str], name: str) -> int | None:
    """The label as a whole number."""
    found = _WHOLE.fullmatch(labels.get(name, ""))
    return None if found is None else int(found[0])


def milliwatts(labels: Mapping[str, str], name: str) -> int | None:
    """The label, which is in watts, in milliwatts."""
    found = _WATTS.fullmatch(labels.get(name, ""))
    return None if found is None else int(found[1]) * 1000 + int((found[2] or "").ljust(3, "0"))
