"""An independent look at an event log: it knows the log's format and arithmetic, nothing of how a run is made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PPM = 1_000_000


@dataclass
class Attempt:
    """One placement of a job while the log is read; `done` in ms x PPM."""

    parts: Sequence[Mapping[str, Any]]
    left: int
    since: int
    speed: int = 0
    done: int = 0

    @property
    def milli(self) -> int:
        return sum(milli for part in self.parts for _, _, milli in part["devices"])

    def advance(self, at: int) -> None:
        self.done += self.speed * (at - self.since)
        self.since = at


@dataclass
class Checked:
    """What the log adds up to, and everything that is wrong in it."""

    problems: list[str] = field(default_factory=list)
    work: dict[int, int] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    given_up: set[int] = field(default_factory=set)
    live: dict[int, Attempt] = field(default_factory=dict)
    finished_milli_ms: int = 0
    booked_milli_ms: int = 0
    last_at: int = 0


def check(events: Iterable[Mapping[str, Any]]) -> Checked:
    """Read a log from its beginning."""
    found = Checked()
    devices: dict[tuple[int, int], int] = defaultdict(int)
    cpus: set[tuple[int, int]] = set()
    down: set[int] = set()
    for event in events:
        at = event["at"]
        if at < found.last_at:
            found.problems.append(f"{at}: time runs backwards")
        span, found.last_at = at - found.last_at, at
        found.booked_milli_ms += span * sum(attempt.milli for attempt in found.live.values())
        _HANDLERS[event["event"]](found, event, devices, cpus, down)
    return found


def _submit(found: Checked, event: Mapping[str, Any], *_: Any) -> None:
    found.work[event["job"]] = event["work_ms"]
    found.kept[event["job"]] = 0


def _place(found: Checked, event: Mapping[str, Any], devices: Any, cpus: Any, down: set[int]) -> None:
    job = event["job"]
    if job in found.live or job in found.finished | found.given_up or job not in found.work:
        found.problems.append(f"job {job}: placed while it runs, after its end, or never submitted")
    if event["left_ms"] != found.work[job] - found.kept[job]:
        found.problems.append(
            f"job {job}: {event['left_ms']} ms left, not {found.work[job] - found.kept[job]}"
        )
    for part in event["parts"]:
        if part["node"] in down:
            found.problems.append(f"job {job}: placed on failed node {part['node']}")
        for device, _, milli in part["devices"]:
            devices[part["node"], device] += milli
            if devices[part["node"], device] > 1000:
                found.problems.append(f"job {job}: device {device} overbooked")
        for cpu in part["cpus"]:
            if (part["node"], cpu) in cpus:
                found.problems.append(f"job {job}: cpu {cpu} booked twice")
            cpus.add((part["node"], cpu))
    found.live[job] = Attempt(event["parts"], event["left_ms"] * PPM, event["at"])


def _speed(found: Checked, event: Mapping[str, Any], *_: Any) -> None:
    attempt = found.live[event["job"]]
    attempt.advance(event["at"])
    attempt.speed = event["ppm"]
    if not 0 < attempt.speed <= PPM:
        found.problems.append(f"job {event['job']}: runs at {attempt.speed} ppm")


def _leave(found: Checked, event: Mapping[str, Any], devices: Any, cpus: Any) -> Attempt:
    attempt = found.live.pop(event["job"])
    attempt.advance(event["at"])
    for part in attempt.parts:
        for device, _, milli in part["devices"]:
            devices[part["node"], device] -= milli
        cpus -= {(part["node"], cpu) for cpu in part["cpus"]}
    return attempt


def _end(found: Checked, event: Mapping[str, Any], devices: Any, cpus: Any, _: Any) -> None:
    attempt = _leave(found, event, devices, cpus)
    if not attempt.left <= attempt.done < attempt.left + PPM:
        found.problems.append(f"job {event['job']}: did {attempt.done} of {attempt.left}")
    found.finished.add(event["job"])
    found.finished_milli_ms += attempt.milli * found.work[event["job"]]


def _requeue(found: Checked, event: Mapping[str, Any], devices: Any, cpus: Any, _: Any) -> None:
    job = event["job"]
    attempt = _leave(found, event, devices, cpus)
    could = found.kept[job] + attempt.done // PPM
    if not found.kept[job] <= event["kept_ms"] <= could and event["kept_ms"] != 0:
        found.problems.append(f"job {job}: kept {event['kept_ms']} ms of {could}")
    found.kept[job] = event["kept_ms"]


def _give_up(found: Checked, event: Mapping[str, Any], *_: Any) -> None:
    if event["job"] in found.live or event["job"] in found.finished:
        found.problems.append(f"job {event['job']}: given up while it runs, or after its end")
    found.given_up.add(event["job"])


def _failed(found: Checked, event: Mapping[str, Any], _d: Any, _c: Any, down: set[int]) -> None:
    down.add(event["node"])


def _ready(found: Checked, event: Mapping[str, Any], _d: Any, _c: Any, down: set[int]) -> None:
    down.discard(event["node"])


_HANDLERS = {
    "submit": _submit,
    "place": _place,
    "speed": _speed,
    "end": _end,
    "requeue": _requeue,
    "give-up": _give_up,
    "node-failed": _failed,
    "node-ready": _ready,
}
