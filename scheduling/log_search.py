"""Looking for a text in the log of one attempt: bounded work per call, a place in the log to go on from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scheduling.logs import is_closed, read_bytes
from scheduling.models import Placement
from scheduling.text import escape_controls

# What one call looks through, and how far around it lines are read that are only shown.
SEARCH_BYTES = 4 * 1024 * 1024
AROUND_BYTES = 64 * 1024
# A job that writes slowly leaves many small chunks.
MOST_CHUNKS = 8_000
# Of a long line so much is shown; of what stands before the match at most a fourth of it.
SHOWN_CHARACTERS = 400
LEAD_CHARACTERS = SHOWN_CHARACTERS // 4


@dataclass(frozen=True)
class Search:
    """What is looked for, from `offset` on; `line` is the number of the line there, None when nobody knows it."""

    text: str
    offset: int
    line: int | None
    ignore_case: bool = False
    context: int = 0
    most: int = 100


@dataclass(frozen=True)
class Match:
    """A line that holds the text; `offset` is where the line begins. Only the first place of a line is marked."""

    line: int | None
    offset: int
    before: str
    match: str
    after: str
    lines_before: list[str]
    lines_after: list[str]


@dataclass(frozen=True)
class Found:
    """Matches up to `next_offset`, where line `next_line` begins; `at_end` when that is all that has arrived so far,
    `complete` when also nothing can follow.
    """

    matches: list[Match]
    next_offset: int
    next_line: int | None
    at_end: bool
    complete: bool
    truncated: bool


@dataclass(frozen=True)
class Block:
    """Decoded text; what stands in [begin, end) is searched, the rest is shown around it. `offset` is that of
    `begin`; `last`: nothing more has arrived; `starts_inside`: the text may begin in the middle of a line.
    """

    text: str
    begin: int
    end: int
    offset: int
    last: bool
    starts_inside: bool = False


def search_log(placement_id: int, search: Search) -> Found | None:
    """What the log holds from the search's offset on; None when there is no such placement. At most three queries."""
    placement = Placement.objects.filter(pk=placement_id).first()
    if placement is None:
        return None
    lead = body = b""
    if search.offset < placement.log_bytes:
        most = SEARCH_BYTES + AROUND_BYTES
        body = read_bytes(placement, offset=search.offset, limit=most, most_chunks=MOST_CHUNKS)
        lead = _lead(placement, search)
    # What is not kept any longer cannot be waited for.
    arrived = not body or search.offset + len(body) >= placement.log_bytes
    block = _block(lead, body, search, arrived=arrived)
    found = search_block(block, search, closed=is_closed(placement))
    return replace(found, truncated=placement.log_truncated)


def _lead(placement: Placement, search: Search) -> bytes:
    """What stands before the offset, to show lines of it; nothing where it lies in too many pieces."""
    wanted = min(search.offset, AROUND_BYTES) if search.context else 0
    first = search.offset - wanted
    lead = read_bytes(placement, offset=first, limit=wanted, most_chunks=MOST_CHUNKS) if wanted else b""
    return lead if len(lead) == wanted else b""


def _block(lead: bytes, body: bytes, search: Search, *, arrived: bool) -> Block:
    """Cut between lines; a line longer than a block is cut where it must be."""
    end = min(len(body), SEARCH_BYTES)
    last = arrived and end == len(body)
    if not last:
        end = body.rfind(b"\n", 0, end) + 1 or _whole(body, end)
    before, inside, behind = _decoded(lead), _decoded(body[:end]), _decoded(body[end:])
    starts_inside = bool(lead) and len(lead) < search.offset
    begin = len(before)
    return Block(before + inside + behind, begin, begin + len(inside), search.offset, last, starts_inside)


def _whole(body: bytes, end: int) -> int:
    """Before a character that would be cut in two; it has four bytes at most, and what has more of them is no text."""
    for back in range(min(4, end)):
        if end == len(body) or body[end - back] & 0xC0 != 0x80:
            return end - back
    return end


def _decoded(data: bytes) -> str:
    """Text from which the bytes can be had back."""
    return data.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def fold(text: str) -> str:
    """The text without its case, of the same length: what would grow or depends on its place is replaced first."""
    return text.lower() if text.isascii() else text.replace("İ", "i").lower().replace("ς", "σ")


def search_block(block: Block, search: Search, *, closed: bool) -> Found:
    """What one block holds; `closed`: nothing can be added to the log any more."""
    matches: list[Match] = []
    place, at_end = _Place(block.text, block.begin, block.offset, search.line), block.last
    for begin, at in _hits(block, search):
        place = place.at(begin)
        if len(matches) == search.most:
            at_end = False
            break
        matches.append(_match(block, search, place, at))
    else:
        place = place.at(_next_begin(block, search, closed=closed))
    return Found(matches, place.offset, place.line, at_end, complete=at_end and closed, truncated=False)


def _hits(block: Block, search: Search) -> Iterator[tuple[int, int]]:
    """Where the lines with the text begin, and where in them it stands."""
    text, wanted = block.text, search.text
    if search.ignore_case:
        text, wanted = fold(text), fold(wanted)
    at = text.find(wanted, block.begin, block.end)
    while at >= 0:
        yield max(block.begin, text.rfind("\n", block.begin, at) + 1), at
        line_end = text.find("\n", at, block.end)
        if line_end < 0:
            return
        at = text.find(wanted, line_end, block.end)


def _next_begin(block: Block, search: Search, *, closed: bool) -> int:
    """Where to go on: an unfinished line is looked at again once there is more of it, a cut one from a little
    before the cut.
    """
    line_begin = block.text.rfind("\n", block.begin, block.end) + 1 or block.begin
    if line_begin == block.end or (block.last and closed):
        return block.end
    return line_begin if block.last else max(line_begin, block.end - len(search.text) + 1)


@dataclass(frozen=True)
class _Place:
    """A place in the text with its offset and the number of its line."""

    text: str
    position: int
    offset: int
    line: int | None

    def at(self, position: int) -> _Place:
        """A later place; counts on from here."""
        between = self.text[self.position : position]
        line = None if self.line is None else self.line + between.count("\n")
        return _Place(self.text, position, self.offset + len(_encoded(between)), line)


def _match(block: Block, search: Search, place: _Place, at: int) -> Match:
    text, begin, behind = block.text, place.position, at + len(search.text)
    shown_from = begin if at - begin <= LEAD_CHARACTERS else at - LEAD_CHARACTERS
    line_end = text.find("\n", behind)
    line_end = len(text) if line_end < 0 else line_end
    shown_to = min(line_end, max(behind, shown_from + SHOWN_CHARACTERS))
    cut_before, cut_after = "…" * (shown_from > begin), "…" * (shown_to < line_end)
    return Match(
        line=place.line,
        offset=place.offset,
        before=cut_before + _shown(text[shown_from:at]),
        match=_shown(text[at:behind]),
        after=_shown(text[behind:shown_to]) + cut_after,
        lines_before=_lines_before(block, begin, search.context),
        lines_after=_lines_after(text, line_end, search.context),
    )


def _lines_before(block: Block, begin: int, most: int) -> list[str]:
    """The lines above, the nearest last, as far as they were read from their beginning on."""
    lines: list[str] = []
    end = begin - 1
    while len(lines) < most and end >= 0:
        start = block.text.rfind("\n", 0, end) + 1
        if start == 0 and block.starts_inside:
            break
        lines.append(_line(block.text, start, end))
        end = start - 1
    return lines[::-1]


def _lines_after(text: str, line_end: int, most: int) -> list[str]:
    lines: list[str] = []
    start = line_end + 1
    while len(lines) < most and start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        lines.append(_line(text, start, end))
        start = end + 1
    return lines


def _line(text: str, start: int, end: int) -> str:
    cut = min(end, start + SHOWN_CHARACTERS)
    return _shown(text[start:cut]) + "…" * (cut < end)


def _shown(text: str) -> str:
    return escape_controls(_encoded(text).decode("utf-8", "replace"))
