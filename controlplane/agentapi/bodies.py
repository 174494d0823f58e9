"""Request bodies of agents: bounded, of a supported version, repaired where a number is impossible."""

from __future__ import annotations

import json
import math
import types
import typing
import zlib
from typing import Any, TypeVar

import msgspec
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agent import protocol
from controlplane.agentapi.compat import check_version
from controlplane.base.problems import Fault, FieldError, Problem

T = TypeVar("T", bound=msgspec.Struct)

ENROL_LIMIT = 64 * 1024
REPORT_LIMIT = 8 * 1024 * 1024
LOG_LIMIT = 4 * 1024 * 1024
_CHUNK = 64 * 1024
_INT64 = 2**63


def read_bytes(request: HttpRequest, *, limit: int) -> bytes:
    """The body, decompressed when it says gzip; 413 above `limit` on either side of the compression."""
    try:
        declared = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        declared = 0
    if declared > limit:
        raise _too_large(limit)
    body = request.read(limit + 1)
    if len(body) > limit:
        raise _too_large(limit)
    match request.headers.get("Content-Encoding", "identity").strip().lower():
        case "" | "identity":
            return body
        case "gzip":
            return _gunzip(body, limit=limit)
        case other:
            raise Problem(415, "unsupported-encoding", message=_ENCODING, params={"encoding": other[:50]})


def _gunzip(body: bytes, *, limit: int) -> bytes:
    decompressor = zlib.decompressobj(wbits=31)
    try:
        data = decompressor.decompress(body, limit + 1)
    except zlib.error as error:
        raise Problem(400, "malformed", message=_("The body is not valid gzip.")) from error
    if len(data) > limit:
        raise _too_large(limit)
    if not decompressor.eof:
        raise Problem(400, "malformed", message=_("The gzip body ends too early."))
    return data


def _too_large(limit: int) -> Problem:
    return Problem(413, "too-large", params={"limit_bytes": limit})


def decode(body: bytes, type_: type[T]) -> T:
    """One message of a supported version; a Problem naming the field otherwise."""
    check_version(body)
    try:
        return protocol.decode(body, type_)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _decode_repaired(body, type_)


def _decode_repaired(body: bytes, type_: type[T]) -> T:
    """Broken drivers say NaN, 1e400 or 2^64: unknown where the type allows it, and the rest counts."""
    try:
        document = json.loads(body, parse_constant=lambda name: math.nan)
        # A lone surrogate is no character: nothing could store it.
        json.dumps(document, ensure_ascii=False).encode()
        return msgspec.convert(_repair(document, type_), type_)
    except msgspec.ValidationError as error:
        raise field_problem(error) from error
    except (ValueError, RecursionError) as error:
        raise Problem(400, "malformed") from error


def field_problem(error: msgspec.ValidationError) -> Problem:
    """400 naming the field that msgspec complains about."""
    reason, _sep, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    return Problem(400, "invalid", errors=[FieldError(field, Fault.TYPE, reason)])


def _repair(value: Any, annotation: Any) -> Any:
    """The same document with null for numbers that cannot be where the type allows null."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        inner = next(argument for argument in arguments if argument is not type(None))
        if inner is int:
            return value if _is_int64(value) else _unknown_or_wrong(value)
        return _repair(value, inner)
    if origin is list and isinstance(value, list):
        return [_repair(item, arguments[0]) for item in value]
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct) and isinstance(value, dict):
        hints = _hints(annotation)
        return {name: _repair(item, hints[name]) if name in hints else item for name, item in value.items()}
    return value


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64


def _unknown_or_wrong(value: Any) -> Any:
    """NaN becomes unknown, a number that cannot be the largest there is, which no reading accepts: an exit code of
    1e400 or 1.5 was given nevertheless. Text and lists stay, and are refused by type.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return max(-_INT64, min(value, _INT64 - 1))
    if math.isnan(value):
        return None
    if value.is_integer() and abs(value) < 2**53:
        return int(value)
    return -_INT64 if value < 0 else _INT64 - 1


def _hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return typing.get_type_hints(struct)


_ENCODING = _("Content-Encoding %(encoding)s is not supported; send gzip or nothing.")
