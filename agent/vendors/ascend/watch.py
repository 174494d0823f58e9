"""`npu-smi info watch`: rows of figures that come again; the last ones count."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.host.files import parse_count
from agent.vendors.ascend.chips import Chip, Findings
from agent.vendors.ascend.states import judge_value
from agent.vendors.ascend.table import HOTTEST_C, MOST_BOARD_W
from agent.vendors.base import to_int, to_number

_LABEL = re.compile(r"([A-Za-z][A-Za-z ]{0,40}?)\s{0,20}\([^)]{0,40}\)")


def looks_like_watch(captured: str) -> bool:
    """Whether some line is the header."""
    return any(_columns(line) for line in captured.splitlines())


def parse_watch(captured: str) -> Findings:
    """One chip per place; nothing is said of health unless an error stands in a figure's place."""
    columns: list[str] = []
    chips: dict[tuple[int, int], Chip] = {}
    for line in captured.splitlines():
        columns = _columns(line) or columns
        tokens = line.split()
        npu = parse_count(tokens[0]) if columns and tokens else None
        if npu is None or npu >= 1 << 16 or len(tokens) != len(columns):
            continue
        chip = _chip(npu, dict(zip(columns, tokens, strict=True)), " ".join(tokens[1:]))
        chips[chip.npu, chip.chip] = chip
    return Findings(chips=tuple(chips.values()))


def _columns(line: str) -> list[str]:
    found = [label.lower() for label in _LABEL.findall(line)]
    return found if found[:1] == ["npuid"] else []


def _chip(npu: int, values: Mapping[str, str], figures: str) -> Chip:
    watts = to_number(values.get("pwr"), low=0, high=MOST_BOARD_W)
    chip = parse_count(values.get("chipid", "0")) or 0
    return Chip(
        npu=npu,
        chip=min(chip, 64),
        power_w=watts or None,
        temperature_c=to_int(values.get("temp"), low=1, high=HOTTEST_C),
        utilization_pct=to_int(values.get("ai core"), low=0, high=100),
        used_pct=to_int(values.get("memory"), low=0, high=100),
        verdict=judge_value("figures", figures),
    )
