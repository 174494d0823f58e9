"""Jobs that another scheduler ran, in the engine's terms, and the documented CSV of them.

CSV columns: `job, submitted, devices`, and if present `started, ended, duration_s, queue, team, models,
device_memory_mib, device_milli, cores, memory_mib, replicas`. Times are ISO 8601 or Unix seconds; without a zone they
are of the zone given. An empty cell is unknown. Amounts are those of one replica; `models` are names parted by |.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from scheduling.engine.types import WHOLE_MILLI, Request
from scheduling.simulator.traces.files import Row, read_csv
from scheduling.simulator.traces.ranges import SPAN_MS, TIME_MS

COLUMNS = ("job", "submitted", "devices")
LONGEST_NAME = 200
MOST_REPLICAS = 1024
_UNIX = re.compile(r"\d{9,11}", re.ASCII)
_MOST_MIB = 1 << 40
# Controls, direction marks, halves of characters, separators of lines: they steer a terminal or hide.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class PastJob:
    """One job. `job` names it within its source; `started_ms` and `duration_ms` are None where it never ran (or nobody
    noted it), `queue` and `team` empty where the source names none. `row` is where it stands.
    """

    row: Row
    job: str
    submitted_ms: int
    started_ms: int | None
    duration_ms: int | None
    queue: str
    team: str
    request: Request
    replicas: int

    @property
    def waited_ms(self) -> int | None:
        """From the submission to the start."""
        return None if self.started_ms is None else self.started_ms - self.submitted_ms


def read_past(path: Path, zone: ZoneInfo) -> Iterator[PastJob]:
    """All jobs of a CSV, one at a time; TraceError where it is wrong."""
    seen: set[str] = set()
    for row in read_csv(path, COLUMNS):
        yield _job(row, zone, name_once(row, "job", seen))


def name_once(row: Row, column: str, seen: set[str]) -> str:
    """The name in this cell, which no earlier line had."""
    name = short(row, column, row.named(column))
    if name in seen:
        row.refuse(column, f"{name[:40]!r} stands twice", fix="keep the last line of each job")
    seen.add(name)
    return name


def short(row: Row, column: str, text: str) -> str:
    """The text, if it is not too long and can be shown."""
    if len(text) > LONGEST_NAME:
        row.refuse(column, f"{text[:20]!r} is no name", fix=f"use {LONGEST_NAME} characters at most")
    if any(unicodedata.category(sign) in _UNSEEN for sign in text):
        row.refuse(column, f"{text[:40]!a} holds characters that are not seen", fix="remove them")
    return text


def moment_ms(row: Row, column: str, zone: ZoneInfo) -> int:
    """Unix ms of a time in this cell."""
    raw = row.named(column)
    if _UNIX.fullmatch(raw):
        found = 1000 * int(raw)
    else:
        try:
            at = datetime.fromisoformat(raw)
            found = int((at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC).timestamp() * 1000)
        except (ValueError, OverflowError):
            row.refuse(column, f"{raw[:40]!r} is no time", fix="write it like 2025-10-09T07:01:55")
    if not TIME_MS[0] <= found <= TIME_MS[1]:
        row.refuse(column, f"{raw[:40]!r} lies not between 1970 and 2200", fix="correct the year")
    return found


def request(row: Row, column: str, **amounts: object) -> Request:
    """The request; a refusal at this cell where the engine does not take it."""
    try:
        found = Request(**amounts)  # type: ignore[arg-type]
    except ValueError as error:
        row.refuse(column, f"gives no request ({error})", fix="correct the amount or remove the line")
    for model in found.models:
        short(row, column, model)
    return found


def _job(row: Row, zone: ZoneInfo, name: str) -> PastJob:
    submitted_ms = moment_ms(row, "submitted", zone)
    started_ms = moment_ms(row, "started", zone) if row.text("started") else None
    if started_ms is not None and started_ms < submitted_ms:
        row.refuse("started", "lies before submitted", fix="correct one of them")
    return PastJob(
        row=row,
        job=name,
        submitted_ms=submitted_ms,
        started_ms=started_ms,
        duration_ms=_duration_ms(row, zone, started_ms),
        queue=short(row, "queue", row.text("queue")),
        team=short(row, "team", row.text("team")),
        request=_request(row),
        replicas=row.whole("replicas", least=1, most=MOST_REPLICAS) if row.text("replicas") else 1,
    )


def _duration_ms(row: Row, zone: ZoneInfo, started_ms: int | None) -> int | None:
    if row.text("duration_s"):
        return int(1000 * row.number("duration_s", most=SPAN_MS[1] // 1000))
    if started_ms is None or not row.text("ended"):
        return None
    ended_ms = moment_ms(row, "ended", zone)
    if ended_ms < started_ms:
        row.refuse("ended", "lies before started", fix="correct one of them")
    return ended_ms - started_ms


def _request(row: Row) -> Request:
    def whole(column: str, absent: int | None, *, least: int = 0, most: int = _MOST_MIB) -> int | None:
        return row.whole(column, least=least, most=most) if row.text(column) else absent

    devices = row.whole("devices", most=1024)
    milli = whole("device_milli", WHOLE_MILLI, least=1, most=WHOLE_MILLI)
    memory_mib = whole("device_memory_mib", None, least=1)
    if not devices:
        # A job without devices asks for no model or memory of one, whatever the cells say.
        return request(
            row, "devices", cores=whole("cores", 1, most=65_536), host_memory_mib=whole("memory_mib", None)
        )
    return request(
        row,
        "devices",
        devices=devices,
        device_memory_mib=memory_mib,
        device_compute_milli=milli,
        shareable=milli != WHOLE_MILLI,
        models=tuple(sorted({name.strip() for name in row.text("models").split("|")} - {""})),
        cores=whole("cores", 1, most=65_536),
        host_memory_mib=whole("memory_mib", None),
    )
