"""What live calls of `plan()` were given and answered: kept packed, replayed to the same bytes, the oldest dropped.

The packed form is the engine's codec document as its C-speed twin writes it (one value per field, enums by value);
the document itself is made from it when somebody asks.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec
import structlog
from django.db import connection, transaction

from controlplane.base import clock
from controlplane.policy.document import Retention
from scheduling import models
from scheduling.engine.codec import FORMAT, CodecError, Recording, check, encode
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import DeviceHealth, Plan, ReasonCode
from scheduling.models import Cycle

log = structlog.get_logger(__name__)

# Fast: a recording is written between two cycles, and node facts repeat so much that more effort gains little.
COMPRESSION = 1
# Recording a large cluster takes long: after one that took more than this, it rests for RESTS_FOR times as long.
COSTLY_S = 0.1
RESTS_FOR = 20
MOST_PER_CYCLE = 20
MIB = 1 << 20

ROTATE = """
DELETE FROM scheduling_recording WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER newest AS place, sum(bytes) OVER newest AS size
        FROM scheduling_recording WINDOW newest AS (ORDER BY id DESC)
    ) AS counted
    WHERE place > %(count)s OR (size > %(bytes)s AND place > 1)
)
"""


class Unreadable(StrEnum):
    """Why a stored recording cannot be read; the codes of the sentences that say so."""

    DAMAGED = "recording-damaged"
    FORMAT = "recording-format"


class UnreadableRecording(ValueError):
    """A stored recording that this version cannot read; `params` are those of the sentence."""

    def __init__(self, why: Unreadable, detail: str, **params: int) -> None:
        super().__init__(detail)
        self.why, self.params = why, params


@dataclass
class Recorder:
    """Chooses what is worth keeping: calls that placed something or have others leave, and calls whose refusals are
    news; all of a cycle that is `wished` for.
    """

    known: Mapping[str, ReasonCode] = field(default_factory=dict)
    calls: list[Recording] = field(default_factory=list)
    rests_until_s: float = 0.0
    wished: bool = False

    def begin(self, *, wished: bool = False) -> None:
        """A cycle begins; what one that died has left is not its own."""
        self.calls, self.wished = [], wished

    def offer(self, call: Recording, refused: Mapping[str, ReasonCode]) -> None:
        """One call with its refusals by shape key."""
        news = any(self.known.get(shape) is not code for shape, code in refused.items())
        resting = clock.monotonic_s() < self.rests_until_s
        made = call.plan
        if made is None:
            return
        acts = bool(made.placed or made.preemptions or made.takeovers)
        if self.wished or ((acts or news) and not resting):
            self.calls = [*self.calls[-MOST_PER_CYCLE + 1 :], call]

    def write(self, cycle: Cycle, refused: Mapping[str, ReasonCode], kept: Retention) -> None:
        """Store what was offered since the last time; `refused` is what this cycle left waiting. Never raises: a
        recording that fails must not cost a cycle.
        """
        self.known, calls, self.calls = refused, self.calls, []
        if not calls:
            return
        started = clock.monotonic_s()
        try:
            store(cycle, calls, kept)
        except Exception:
            log.warning("recording-failed", cycle=cycle.pk, exc_info=True)
        took_s = clock.monotonic_s() - started
        if took_s > COSTLY_S:
            self.rests_until_s = clock.monotonic_s() + RESTS_FOR * took_s


def store(cycle: Cycle, calls: Iterable[Recording], kept: Retention) -> None:
    """Keep these calls and drop what is now too much."""
    rows = [_row(cycle, call) for call in calls]
    with transaction.atomic(), connection.cursor() as cursor:
        models.Recording.objects.bulk_create(rows)
        cursor.execute(ROTATE, {"count": kept.recordings, "bytes": kept.recordings_mib * MIB})


def _row(cycle: Cycle, call: Recording) -> models.Recording:
    packed = pack(call)
    made = call.plan or Plan()
    return models.Recording(
        cycle=cycle,
        nodes=len(call.nodes),
        jobs=len(call.jobs),
        placed=len({one.job for one in made.placed}),
        refused=len(made.refused),
        bytes=len(packed),
        document=packed,
    )


def pack(call: Recording) -> bytes:
    """The compressed bytes of a call."""
    return zlib.compress(msgspec.json.encode(call), COMPRESSION)


def unpack(packed: bytes) -> Recording:
    """The call that was packed; UnreadableRecording when it is damaged or another version wrote it."""
    try:
        plain = zlib.decompress(packed)
        check_format(msgspec.json.decode(plain, type=_Head).format)
        found: Recording = msgspec.json.decode(plain, type=Recording)
        check(found)
    except (zlib.error, msgspec.DecodeError, CodecError) as error:
        raise UnreadableRecording(Unreadable.DAMAGED, str(error)) from error
    return found


class _Head(msgspec.Struct):
    format: int


def check_format(written: int) -> None:
    """UnreadableRecording when another version wrote it."""
    if written != FORMAT:
        detail = f"format {written}, this version reads {FORMAT}"
        raise UnreadableRecording(Unreadable.FORMAT, detail, format=written, reads=FORMAT)


def load(recording_id: int) -> Recording:
    """A stored call; models.Recording.DoesNotExist or UnreadableRecording."""
    return unpack(bytes(models.Recording.objects.values_list("document", flat=True).get(pk=recording_id)))


def document(call: Recording) -> str:
    """What `codec.encode` writes, at C speed: a large cluster has hundreds of thousands of values. The codec names
    health by word and sorts the weights.
    """
    plain = msgspec.to_builtins(call)
    for node in plain["nodes"]:
        for device in node["devices"]:
            device["health"] = DeviceHealth(device["health"]).name.lower()
    plain["policy"]["weights_ppm"] = dict(sorted(plain["policy"]["weights_ppm"].items()))
    return json.dumps(plain, ensure_ascii=True, separators=(",", ":"))


@dataclass(frozen=True)
class Replay:
    """What a call answers now, beside what it answered then; `difference` is the first one, None when all bytes
    are the same.
    """

    plan: Plan
    difference: str | None


def replay(call: Recording) -> Replay:
    """Make the plan again from what was recorded."""
    again = plan(
        ClusterState.build(call.nodes),
        call.jobs,
        call.policy,
        now_ms=call.now_ms,
        seed=call.seed,
        expected=call.expected,
        limit=call.limit,
        running=call.running,
        reservations=call.reservations,
    )
    if encode(again) == encode(call.plan):
        return Replay(again, None)
    return Replay(again, first_difference(_plain(call.plan), _plain(again), "plan"))


def _plain(value: Plan | None) -> Any:
    return msgspec.json.decode(encode(value))


def first_difference(then: Any, now: Any, path: str) -> str:
    """Where two JSON values part, in words; empty when they are equal."""
    if isinstance(then, dict) and isinstance(now, dict) and then.keys() == now.keys():
        parts = ((f"{path}.{name}", then[name], now[name]) for name in then)
    elif isinstance(then, list) and isinstance(now, list):
        parts = ((f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(then, now, strict=False)))
        if len(then) != len(now) and then[: len(now)] == now[: len(then)]:
            return f"{path}: {len(then)} entries then, {len(now)} now"
    elif then == now:
        return ""
    else:
        return f"{path}: {_short(then)} then, {_short(now)} now"
    return next((found for p, a, b in parts if (found := first_difference(a, b, p))), "")


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}..."
