"""Requests taken literally: unknown fields, wrong JSON types and unstorable text are refused, nothing is coerced."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.parsers import JSONParser

from controlplane.base.problems import FAULT_TEXTS, Fault, Problem, fault, filled, invalid
from controlplane.base.texts import LINES, has_control_character, without_control_characters

# JSON numbers beyond this are not exact in browsers, and larger ones do not fit the database.
LARGEST_INTEGER = 2**53 - 1
# More unknown fields than this are not told one by one.
MOST_UNKNOWN = 20
Detail = ErrorDetail | dict[Any, Any] | None


class StrictJSONParser(JSONParser):
    """JSON without NaN, Infinity and names given twice; nesting that exhausts the interpreter is the sender's
    fault.
    """

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise Problem(413, "too-large", params={"limit_bytes": limit})
        try:
            document = json.loads(body.decode(), parse_constant=_refuse_constant, object_pairs_hook=_members)
        except (ValueError, RecursionError):
            raise ParseError from None
        repeated = list(itertools.islice(_repeated(document), MOST_UNKNOWN))
        if repeated:
            errors = [fault(path, Fault.REPEATED_FIELD) for path in repeated]
            raise Problem(400, "invalid", errors=errors)
        if any(_has_surrogate(name) for name in _names(document)):
            # Such a name could not even be told back in the refusal.
            raise ParseError
        return document


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


class _Ambiguous(dict[str, Any]):
    """An object in which names stand more than once: readers would disagree which one counts."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _value in pairs)
        self.repeated = [name for name, count in counts.items() if count > 1]


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Ambiguous(pairs)


def _repeated(document: Any) -> Iterator[str]:
    """The paths of all names that stand more than once in their object, outer ones first."""
    left = deque([("", document)])
    while left:
        path, value = left.popleft()
        if isinstance(value, dict):
            prefix = f"{path}." if path else ""
            if isinstance(value, _Ambiguous):
                yield from (f"{prefix}{_shown(name)}" for name in value.repeated)
            left.extend((f"{prefix}{_shown(name)}", inner) for name, inner in value.items() if _holds(inner))
        elif isinstance(value, list):
            left.extend((f"{path}[{i}]", inner) for i, inner in enumerate(value) if _holds(inner))


def _holds(value: Any) -> bool:
    return isinstance(value, dict | list)


def _shown(name: str) -> str:
    return without_control_characters(name[:100])


def _names(document: Any) -> Iterator[str]:
    """The names of all fields of a JSON document."""
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield from value
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


class LinesField(serializers.CharField):
    """A text of several lines."""


class SecretField(serializers.CharField):
    """A password, taken as typed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"trim_whitespace": False, "write_only": True, "max_length": 128, **options})


def takes_list(field: serializers.Field | None) -> bool:
    """Whether a query string may name this field more than once."""
    return isinstance(field, serializers.ListField | serializers.MultipleChoiceField)


class QueryValues(dict[str, Any]):
    """A query string: all values are text, so types are converted instead of judged."""


class StrictSerializer(serializers.Serializer):
    """Base of every request body and query string; answers may use it, too."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise ValidationError({"non_field_errors": [_wrong_type(_("an object"))]})
        errors = {
            **self._unknown_fields(data),
            **({} if isinstance(data, QueryValues) else self._wrong_types(data)),
        }
        if not errors:
            return super().to_internal_value(data)
        try:
            super().to_internal_value(data)
        except ValidationError as error:
            if isinstance(error.detail, dict):
                errors = {**error.detail, **errors}
        raise ValidationError(errors)

    def _unknown_fields(self, data: Mapping[str, Any]) -> dict[str, list[ErrorDetail]]:
        known = {name for name, field in self.fields.items() if not field.read_only}
        unknown = [str(name) for name in data if name not in known][:MOST_UNKNOWN]
        return {without_control_characters(name[:100]): [_detail(Fault.UNKNOWN_FIELD)] for name in unknown}

    def _wrong_types(self, data: Mapping[str, Any]) -> dict[str, Any]:
        errors = {}
        for name, field in self.fields.items():
            # Nested serializers of this kind judge themselves.
            if name in data and not field.read_only and not isinstance(field, serializers.BaseSerializer):
                detail = type_error(field, data[name])
                if detail is not None:
                    errors[name] = detail if isinstance(detail, dict) else [detail]
        return errors


def whole_number(name: str, text: str, *, low: int, high: int) -> int:
    """A number out of a query string; 400 naming what is wrong with it."""
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        raise invalid(name, Fault.TYPE, expected=_("a whole number"))
    # More digits than the bound has are too many, whatever they are.
    value = int(text[: len(str(high)) + 2])
    if value < low:
        raise invalid(name, Fault.MIN, limit=low)
    if value > high:
        raise invalid(name, Fault.MAX, limit=high)
    return value


def type_error(field: serializers.Field, raw: Any) -> Detail:
    """What is wrong with the JSON type of `raw` for this field; None when nothing is, or when the field says it."""
    if raw is None:
        return None
    if isinstance(field, serializers.ListField):
        return _list_error(field.child, raw)
    if isinstance(field, serializers.MultipleChoiceField):
        return _list_error(serializers.CharField(), raw)
    if isinstance(field, serializers.DictField):
        return _dict_error(field, raw)
    if isinstance(field, serializers.BooleanField):
        return None if isinstance(raw, bool) else _wrong_type(_("true or false"))
    if isinstance(field, serializers.IntegerField):
        return _integer_error(raw)
    if isinstance(field, serializers.FloatField | serializers.DecimalField):
        return _number_error(raw)
    if isinstance(field, serializers.CharField | serializers.ChoiceField):
        return _text_error(field, raw) if isinstance(raw, str) else _wrong_type(_("a string"))
    return None


def _text_error(field: serializers.Field, text: str) -> ErrorDetail | None:
    if isinstance(field, SecretField):
        # Only what no database can store.
        odd = "\x00" in text or _has_surrogate(text)
    else:
        odd = has_control_character(text, allowed=LINES if isinstance(field, LinesField) else "")
    return _detail(Fault.CONTROL_CHARACTER) if odd else None


def _detail(code: Fault, **params: Any) -> ErrorDetail:
    return ErrorDetail(filled(FAULT_TEXTS[code], params), code=code)


def _wrong_type(expected: Any) -> ErrorDetail:
    return _detail(Fault.TYPE, expected=expected)


def _integer_error(raw: Any) -> ErrorDetail | None:
    if isinstance(raw, bool) or not isinstance(raw, int):
        return _wrong_type(_("a whole number"))
    if abs(raw) > LARGEST_INTEGER:
        return _detail(Fault.MAX, limit=LARGEST_INTEGER)
    return None


def _number_error(raw: Any) -> ErrorDetail | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return _wrong_type(_("a number"))
    if abs(raw) > LARGEST_INTEGER or not math.isfinite(raw):
        return _detail(Fault.MAX, limit=LARGEST_INTEGER)
    return None


def _list_error(child: serializers.Field, raw: Any) -> Detail:
    if not isinstance(raw, list):
        return _wrong_type(_("a list"))
    found = {i: type_error(child, item) for i, item in enumerate(raw)}
    return _only_errors(found)


def _dict_error(field: serializers.DictField, raw: Any) -> Detail:
    if not isinstance(raw, dict):
        return _wrong_type(_("an object"))
    found = {
        str(key): _detail(Fault.CONTROL_CHARACTER)
        if has_control_character(str(key))
        else type_error(field.child, value)
        for key, value in raw.items()
    }
    return _only_errors(found)


def _only_errors(found: Mapping[Any, Detail]) -> Detail:
    errors = {
        key: detail if isinstance(detail, dict) else [detail]
        for key, detail in found.items()
        if detail is not None
    }
    return errors or None
