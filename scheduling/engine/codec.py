"""JSON for everything that goes into and comes out of `plan()`: recordings, replays, golden files.

Objects are written field by field in the order of their class, enums by value (health by name), tuples as lists, a
weight table as an object with sorted keys. Equal values give equal bytes. Reading refuses unknown and missing fields,
fields given twice and wrong types, naming the path; fields that have a default may be missing, so that older
recordings stay readable.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum, IntEnum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from scheduling.engine.bounds import MOST_MS, check_bound
from scheduling.engine.types import (
    EnginePolicy,
    ExpectedShape,
    NodeInfo,
    PendingJob,
    Plan,
    Reservation,
    Running,
)

FORMAT = 1
# What is promised lies after it, and must still be a moment.
_MOST_NOW_MS = MOST_MS // 2
# Fields that older recordings still carry and that decided nothing.
_RETIRED: dict[type[Any], frozenset[str]] = {EnginePolicy: frozenset({"bind_core"})}
T = TypeVar("T")
_FIELDS: dict[type[Any], dict[str, tuple[Field[Any], Any]]] = {}


class CodecError(ValueError):
    """A document that is not what it should be; the message names the path."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything one call of `plan()` was given, and what it answered (None before the call)."""

    nodes: tuple[NodeInfo, ...]
    jobs: tuple[PendingJob, ...]
    policy: EnginePolicy
    now_ms: int
    seed: int
    expected: tuple[ExpectedShape, ...] = ()
    limit: int | None = None
    plan: Plan | None = None
    running: tuple[Running, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    format: int = FORMAT

    def __post_init__(self) -> None:
        check_bound("now_ms", self.now_ms, -_MOST_NOW_MS, _MOST_NOW_MS)


def encode(value: object) -> str:
    """Canonical JSON: one line, no blanks, ASCII."""
    return json.dumps(_plain(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def encode_pretty(value: object) -> str:
    """The same with line breaks, for files that people read."""
    return json.dumps(_plain(value), ensure_ascii=True, indent=1, allow_nan=False) + "\n"


def decode(kind: type[T], text: str) -> T:
    """Read one object of this class; CodecError when the document is anything else."""
    try:
        raw = json.loads(text, object_pairs_hook=_object)
    except ValueError as error:  # Not JSON, or a number of thousands of digits.
        raise CodecError(f"document: not JSON: {error}") from error
    if kind is Recording and isinstance(raw, dict):
        _check_format(raw.get("format"))
    found: T = _read(kind, raw, kind.__name__)
    if isinstance(found, Recording):
        check(found)
    return found


class _Twice(dict[str, Any]):
    """An object with a field that it names twice: whoever reads it knows its path."""

    twice: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    wrong = _Twice(found)
    wrong.twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
    return wrong


def _check_format(written: object) -> None:
    """What another version wrote may have any fields."""
    if isinstance(written, int) and not isinstance(written, bool) and written != FORMAT:
        raise CodecError(f"Recording.format: is format {written}, this version reads {FORMAT}")


def check(call: Recording) -> None:
    """CodecError when what the types cannot tell is wrong: ids that are there twice, links between foreign devices."""
    _each_once("nodes", (info.node for info in call.nodes))
    _each_once("jobs", (job.job for job in call.jobs))
    _each_once("devices", (device.device for info in call.nodes for device in info.devices))
    for row, info in enumerate(call.nodes):
        path = f"nodes[{row}]"
        _each_once(f"{path}.cpus", (cpu.cpu for cpu in info.cpus))
        here = {device.device for device in info.devices}
        if any(link.a not in here or link.b not in here for link in info.links):
            raise CodecError(f"Recording.{path}.links: a link leads to a device that is not of this node")


def _each_once(path: str, ids: Iterable[int]) -> None:
    seen: set[int] = set()
    for one in ids:
        if one in seen:
            raise CodecError(f"Recording.{path}: the id {one} stands there twice")
        seen.add(one)


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(value[key]) for key in sorted(value)}
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    raise CodecError(f"{type(value).__name__}: has no JSON form here")


def _read(kind: Any, raw: object, path: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_optional(kind, raw, path)
    if origin is tuple:
        return _read_tuple(get_args(kind), raw, path)
    if origin is dict:
        return _read_table(get_args(kind), raw, path)
    if is_dataclass(kind) and isinstance(kind, type):
        return _read_object(kind, raw, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _read_enum(kind, raw, path)
    if not isinstance(raw, kind) or (kind is int and isinstance(raw, bool)):
        raise CodecError(f"{path}: must be {kind.__name__}, not {raw!r:.60}")
    return raw


def _read_optional(kind: Any, raw: object, path: str) -> Any:
    if raw is None:
        return None
    inner = [arg for arg in get_args(kind) if arg is not NoneType]
    return _read(inner[0], raw, path)


def _read_tuple(args: Sequence[Any], raw: object, path: str) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise CodecError(f"{path}: must be a list")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_read(args[0], item, f"{path}[{i}]") for i, item in enumerate(raw))
    if len(raw) != len(args):
        raise CodecError(f"{path}: must have {len(args)} items, not {len(raw)}")
    return tuple(
        _read(arg, item, f"{path}[{i}]") for i, (arg, item) in enumerate(zip(args, raw, strict=True))
    )


def _read_table(args: Sequence[Any], raw: object, path: str) -> dict[Any, Any]:
    raw = _read_pairs(raw, path)
    return {_read(args[0], key, path): _read(args[1], item, f"{path}.{key}") for key, item in raw.items()}


def _read_pairs(raw: object, path: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise CodecError(f"{path}: must be an object")
    if isinstance(raw, _Twice):
        raise CodecError(f"{path}.{raw.twice}: stands there twice")
    return raw


def _read_enum(kind: type[Enum], raw: object, path: str) -> Enum:
    for member in kind:
        if raw == (member.name.lower() if issubclass(kind, IntEnum) else member.value):
            return member
    raise CodecError(f"{path}: {raw!r:.60} is no {kind.__name__}")


def _read_object(kind: type[Any], raw: object, path: str) -> Any:
    raw = _read_pairs(raw, path)
    known = _fields(kind)
    for name in raw:
        if name not in known and name not in _RETIRED.get(kind, ()):
            raise CodecError(f"{path}.{name}: unknown field")
    for name, (field, _) in known.items():
        if name not in raw and field.default is MISSING and field.default_factory is MISSING:
            raise CodecError(f"{path}.{name}: is missing")
    values = {
        name: _read(hint, raw[name], f"{path}.{name}") for name, (_, hint) in known.items() if name in raw
    }
    try:
        return kind(**values)
    except ValueError as error:
        raise CodecError(f"{path}.{error}") from error


def _fields(kind: type[Any]) -> dict[str, tuple[Field[Any], Any]]:
    found = _FIELDS.get(kind)
    if found is None:
        hints = get_type_hints(kind)
        found = _FIELDS[kind] = {f.name: (f, hints[f.name]) for f in fields(kind)}
    return found
