"""Logs of placements: appended by offset, capped, read in parts."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from agent.protocol import LogReply
from controlplane.base.problems import Problem, not_found
from inventory.models import Node
from scheduling.models import DEAD_PHASES, LogChunk, Phase, Placement

CAP_BYTES = 64 * 1024 * 1024
MOST_BYTES_PER_READ = 1024 * 1024


@dataclass(frozen=True)
class LogPart:
    """Bytes of one attempt's log from `offset` on; `complete` when nothing can follow."""

    data: bytes
    offset: int
    next_offset: int
    truncated: bool
    complete: bool


@dataclass(frozen=True)
class LogPiece:
    """What an agent appends: bytes from `offset` on, of the task that this attempt and fence name."""

    attempt: int
    fence: int
    offset: int
    data: bytes


def append_log(node: Node, placement_id: int, piece: LogPiece) -> LogReply:
    """Store a piece of a log. What is there already is skipped; a gap is refused with 409 `log-gap` and
    `next_offset`.
    """
    with transaction.atomic():
        rows = Placement.objects.select_for_update(no_key=True).filter(pk=placement_id, node=node)
        placement = rows.first()
        if placement is None or (placement.attempt, placement.fence) != (piece.attempt, piece.fence):
            raise not_found()
        stored = placement.log_bytes
        if piece.offset > stored:
            raise Problem(409, "log-gap", params={"next_offset": stored})
        fresh = piece.data[stored - piece.offset :]
        kept = fresh[: max(0, CAP_BYTES - stored)]
        truncated = placement.log_truncated or len(kept) < len(fresh)
        if kept:
            LogChunk.objects.create(placement=placement, offset=stored, data=kept)
        if kept or truncated != placement.log_truncated:
            rows.update(log_bytes=stored + len(kept), log_truncated=truncated)
        return LogReply(next_offset=stored + len(kept), truncated=truncated)


def read_log(placement_id: int, *, offset: int, limit: int) -> LogPart | None:
    """A part of a log, None when there is no such placement. Two queries."""
    placement = Placement.objects.filter(pk=placement_id).first()
    if placement is None:
        return None
    data = b"" if offset >= placement.log_bytes else read_bytes(placement, offset=offset, limit=limit)
    next_offset = offset + len(data)
    return LogPart(
        data=data,
        offset=offset,
        next_offset=next_offset,
        truncated=placement.log_truncated,
        complete=next_offset >= placement.log_bytes and is_closed(placement),
    )


def is_closed(placement: Placement) -> bool:
    """Whether no more bytes can come: the attempt ended and its agent sent all it announced, or the cap is reached."""
    if placement.phase not in DEAD_PHASES:
        return False
    if placement.phase == Phase.LOST or placement.log_truncated or placement.log_total_bytes is None:
        return True
    return placement.log_bytes >= placement.log_total_bytes


def read_bytes(placement: Placement, *, offset: int, limit: int, most_chunks: int | None = None) -> bytes:
    """Bytes of [offset, offset + limit), of the first so many chunks that cover it."""
    chunks = LogChunk.objects.filter(placement=placement)
    first = chunks.filter(offset__lte=offset).order_by("-offset").values("offset")[:1]
    rows = chunks.filter(offset__gte=first, offset__lt=offset + limit).order_by("offset")
    found = bytearray()
    for at, data in rows.values_list("offset", "data")[:most_chunks].iterator(chunk_size=200):
        found += bytes(data)[max(0, offset - at) :]
        if len(found) >= limit:
            break
    return bytes(found[:limit])
