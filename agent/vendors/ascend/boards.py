"""What npu-smi tells board by board, asked in one go: `#board N` before its error counts, `#chip N C` before the slices
of one of its chips, `#templates` before their sizes, and `#whole` at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.vendors.ascend.chips import Chip, Findings
from agent.vendors.ascend.fields import parse_fields
from agent.vendors.ascend.slices import parse_templates, told_slices

_MARK = re.compile(r"^#(templates|whole|board (\d{1,4})|chip (\d{1,4}) (\d{1,2}))$", re.MULTILINE)


def looks_like_boards(captured: str) -> bool:
    """Whether boards were asked one by one."""
    return _MARK.search(captured) is not None


def parse_boards(captured: str) -> Findings:
    """Error counts and slices of the chips; nothing of their health. A chip has partitions, be they none, only where
    all its slices are told.
    """
    sections = list(_sections(captured))
    templates = parse_templates("\n".join(text for mark, text in sections if mark.group(1) == "templates"))
    chips: list[Chip] = []
    for mark, text in sections:
        if mark.group(2):
            chips += board_errors(int(mark.group(2)), text)
        elif mark.group(3):
            npu, chip = int(mark.group(3)), int(mark.group(4))
            told = told_slices(text, templates)
            chips += [] if told is None else [Chip(npu=npu, chip=chip, partitions=told)]
    return Findings(chips=tuple(chips))


def board_errors(npu: int, captured: str) -> list[Chip]:
    """The error counts of one board's chips, whichever board the text says it is about."""
    told = parse_fields(captured).chips
    return [Chip(npu=npu, chip=one.chip, uncorrectable=one.uncorrectable) for one in told]


def _sections(captured: str) -> Iterator[tuple[re.Match[str], str]]:
    marks = list(_MARK.finditer(captured))
    for mark, after in zip(marks, [*(one.start() for one in marks[1:]), len(captured)], strict=True):
        yield mark, captured[mark.end() : after]
