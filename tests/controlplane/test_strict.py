"""Requests are taken literally."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError

from controlplane.base.failures import field_errors
from controlplane.base.strict import LARGEST_INTEGER, StrictJSONParser, StrictSerializer


class Resources(StrictSerializer):
    cores = serializers.IntegerField(min_value=0, max_value=1000)
    ratio = serializers.FloatField(required=False)


class Spec(StrictSerializer):
    name = serializers.CharField(required=False, max_length=20)
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
        ({"name": "a\x00b"}, {("name", "text")}),
        ({"name": "\ud800"}, {("name", "text")}),
        ({"flag": 1}, {("flag", "type")}),
        ({"flag": "true"}, {("flag", "type")}),
        ({"kind": 1}, {("kind", "type")}),
        ({"kind": "b"}, {("kind", "choice")}),
        ({"command": "ls"}, {("command", "type")}),
        ({"command": ["ls", 1]}, {("command[1]", "type")}),
        ({"env": {"A": 1}}, {("env.A", "type")}),
        ({"env": {"A\x00": "x"}}, {("env.A\x00", "text")}),
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
        "name": "x",
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
