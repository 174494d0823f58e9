"""Requests are taken literally."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings
from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError

from controlplane.base.failures import FIELD_FAULTS, fault_of, field_errors
from controlplane.base.problems import FAULT_TEXTS, Fault, Problem
from controlplane.base.strict import (
    LARGEST_INTEGER,
    LinesField,
    SecretField,
    StrictJSONParser,
    StrictSerializer,
    whole_number,
)


class Resources(StrictSerializer):
    cores = serializers.IntegerField(min_value=0, max_value=1000)
    ratio = serializers.FloatField(required=False)


class Spec(StrictSerializer):
    name = serializers.CharField(required=False, max_length=20)
    story = LinesField(required=False)
    secret = SecretField(required=False)
    command = serializers.ListField(child=serializers.CharField(), required=False)
    env = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    flag = serializers.BooleanField(required=False, allow_null=True)
    kind = serializers.ChoiceField(choices=["a", "1"], required=False)
    cpus = serializers.ListField(child=serializers.IntegerField(), required=False)
    resources = Resources(required=False)
    steps = Resources(many=True, required=False)


def errors_of(document: Any) -> set[tuple[str, str]]:
    reader = Spec(data=document)
    try:
        reader.is_valid(raise_exception=True)
    except ValidationError as error:
        return {(e.field, e.code) for e in field_errors(error.detail)}
    return set()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"name": "x", "colour": 1}, {("colour", "unknown-field")}),
        ({"name": 5}, {("name", "type")}),
        ({"name": True}, {("name", "type")}),
        ({"name": "a\x00b"}, {("name", "control-character")}),
        ({"name": "\ud800"}, {("name", "control-character")}),
        ({"name": "red\x1b[31m"}, {("name", "control-character")}),
        ({"name": "two\nlines"}, {("name", "control-character")}),
        ({"name": "cod\u202egpj.exe"}, {("name", "control-character")}),
        ({"name": "ro\u200bot"}, {("name", "control-character")}),
        ({"name": ""}, {("name", "empty")}),
        ({"name": "x" * 21}, {("name", "max-length")}),
        ({"story": "two\nlines\t\u202e"}, {("story", "control-character")}),
        ({"secret": "\x00"}, {("secret", "control-character")}),
        ({"flag": 1}, {("flag", "type")}),
        ({"flag": "true"}, {("flag", "type")}),
        ({"kind": 1}, {("kind", "type")}),
        ({"kind": "b"}, {("kind", "choice")}),
        ({"command": "ls"}, {("command", "type")}),
        ({"command": ["ls", 1]}, {("command[1]", "type")}),
        ({"env": {"A": 1}}, {("env.A", "type")}),
        ({"env": {"A\x00": "x"}}, {("env.A\x00", "control-character")}),
        ({"env": []}, {("env", "type")}),
        ({"cpus": [1, True, "2", 3.0]}, {("cpus[1]", "type"), ("cpus[2]", "type"), ("cpus[3]", "type")}),
        ({"cpus": [2**60]}, {("cpus[0]", "max")}),
        ({"resources": {"cores": "1"}}, {("resources.cores", "type")}),
        ({"resources": {"cores": -1}}, {("resources.cores", "min")}),
        ({"resources": {"cores": 1, "gpus": 1}}, {("resources.gpus", "unknown-field")}),
        ({"resources": {}}, {("resources.cores", "required")}),
        ({"resources": 7}, {("resources", "type")}),
        ({"resources": {"cores": 1, "ratio": float("inf")}}, {("resources.ratio", "max")}),
        ({"resources": {"cores": 1, "ratio": float("nan")}}, {("resources.ratio", "max")}),
        ({"steps": [{"cores": 1}, {"cores": None}]}, {("steps[1].cores", "null")}),
        ({"colour": 1, "flag": 1, "resources": {"cores": 1.5}},
         {("colour", "unknown-field"), ("flag", "type"), ("resources.cores", "type")}),
        ([], {("", "type")}),
        ("text", {("", "type")}),
    ],
)  # fmt: skip
def test_every_fault_is_named(document: Any, expected: set[tuple[str, str]]) -> None:
    assert errors_of(document) == expected


def test_a_good_document_passes_unchanged() -> None:
    document = {
        "name": "测试 x",
        "story": "two\n\tlines",
        "secret": " \u200btyped\t",
        "command": ["ls"],
        "env": {"A": ""},
        "flag": None,
        "resources": {"cores": 2, "ratio": 1},
    }
    reader = Spec(data=document)
    assert reader.is_valid()
    assert reader.validated_data == document


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
KNOWN = st.dictionaries(st.sampled_from([*Spec().fields, "x"]), JSON, max_size=5)


@given(document=JSON | KNOWN)
def test_no_document_breaks_it(document: Any) -> None:
    """What passes is storable and has exactly the types that the fields say."""
    reader = Spec(data=document)
    if not reader.is_valid():
        return
    stored = json.dumps(reader.validated_data, allow_nan=False)
    assert "\\u0000" not in stored
    assert all(
        type(cpu) is int and abs(cpu) <= LARGEST_INTEGER for cpu in reader.validated_data.get("cpus", [])
    )


@pytest.mark.parametrize("body", [b'{"\\ud800": 1}', b'{"a": [{"b": {"\\udfff": 1}}]}'])
def test_a_name_that_cannot_be_told_back_is_refused_as_a_whole(body: bytes) -> None:
    with pytest.raises(ParseError):
        StrictJSONParser().parse(io.BytesIO(body))


def test_every_fault_of_the_table_has_a_sentence() -> None:
    assert set(FAULT_TEXTS) == set(Fault)


def test_every_fault_of_a_field_of_the_framework_is_in_the_table() -> None:
    """Only what has no business with us (images, paths) counts as merely not valid."""
    kinds = [kind for kind in vars(serializers).values() if isinstance(kind, type)]
    codes = {
        code for kind in kinds if issubclass(kind, serializers.Field) for code in kind.default_error_messages
    }
    assert {code for code in codes if fault_of(code) is Fault.INVALID} <= {"invalid_image", "no_name"}
    assert set(FIELD_FAULTS.values()) <= set(Fault)


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "type"), ("x", "type"), ("1.0", "type"), ("\u0661", "type"), ("-1", "min"), ("9" * 5000, "max")],
)
def test_numbers_of_query_strings_name_their_fault(text: str, code: str) -> None:
    with pytest.raises(Problem) as refused:
        whole_number("limit", text, low=0, high=500)
    assert [(e.field, e.code) for e in refused.value.errors] == [("limit", code)]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'{"a": 1, "b": 2, "a": 1}', ["a"]),
        (b'{"x": [{"gpus": 1, "gpus": 8}]}', ["x[0].gpus"]),
        (b'[{"a": {"b": 1, "b": {"c": [], "c": 2}}, "a": {"d": {}, "d": {}}}]', ["[0].a", "[0].a.d"]),
        (b'{"spec": {"env": {"A": "1", "A": "2", "B": ""}}, "z": 0, "z": 1}', ["z", "spec.env.A"]),
        (b'{"a": 1, "a": 2, "b": 1, "b": 1}', ["a", "b"]),
        (b'{"\\u202ea": 1, "\\u202ea": 2}', ["a"]),
    ],
)
def test_a_name_given_twice_is_refused(body: bytes, names: list[str]) -> None:
    with pytest.raises(Problem) as refused:
        StrictJSONParser().parse(io.BytesIO(body))
    assert [(e.field, e.code) for e in refused.value.errors] == [(name, "repeated-field") for name in names]


def test_a_body_too_large_is_refused(settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    with pytest.raises(Problem) as refused:
        StrictJSONParser().parse(io.BytesIO(b'{"a": "0123456789"}'))
    assert (refused.value.status, refused.value.code) == (413, "too-large")
