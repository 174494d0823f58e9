"""Requests: what is read, what is refused and how it is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.problems import Fault
from controlplane.policy.reading import read_document
from queues.rules import spec_rules
from queues.spec import (
    JobSpec,
    KeyMeaning,
    ResourceKey,
    SpecFaults,
    SpecRules,
    decode_spec,
    encode_spec,
    read_spec,
)
from queues.wording import FAULTS, fault

RULES = SpecRules(
    queues=spec_rules(read_document("scheduler: {}")).queues,
    keys=(
        ResourceKey("example.com/gpu-memory", KeyMeaning.MEMORY),
        ResourceKey("example.com/accelerator-type", KeyMeaning.MODEL, ("nvidia-a100", "huawei-ascend")),
    ),
)


def body(**changes):
    return {"queue": "training", "command": ["/bin/true"], **changes}


def read(**changes) -> JobSpec:
    return read_spec(body(**changes), RULES)


def faults(raw) -> dict[str, str]:
    with pytest.raises(SpecFaults) as caught:
        read_spec(raw, RULES)
    return {error.field: error.code for error in caught.value.errors}


@pytest.mark.parametrize(
    "written,mib",
    [
        ("8Gi", 8192),
        ("8GiB", 8192),
        ("8000Mi", 8000),
        (8000, 8000),
        ("8000 MB", 7630),
        ("2000mb", 1908),
        ("1.5 GiB", 1536),
        ("0.1Gi", 103),
        ("1KiB", 1),
        ("1Ti", 1048576),
    ],
)
def test_amounts_of_memory_are_read_exactly(written, mib):
    assert read(resources={"memory": written}).resources.memory_mib == mib
    assert read(resources={"device_memory": written}).resources.device_memory_mib == mib


@pytest.mark.parametrize(
    "written,code",
    [
        ("5k", "unit"),
        ("8G", "unit"),
        ("8Mb/s", "not-a-quantity"),
        ("8", "unit-missing"),
        ("", "not-a-quantity"),
        ("-8Gi", "not-a-quantity"),
        ("1e3Mi", "not-a-quantity"),
        ("٨Gi", "not-a-quantity"),
        ("9" * 50 + "Mi", "not-a-quantity"),
        ("0Mi", "min"),
        ("99999999999Ti", "max"),
        (0, "min"),
        (-8, "min"),
        (10**12, "max"),
        (2**63, "max"),
        (1.5, "type"),
        (True, "type"),
        (float("nan"), "type"),
        ([8], "type"),
    ],
)
def test_other_amounts_are_refused_by_name(written, code):
    assert faults(body(resources={"memory": written})) == {"resources.memory": code}
    assert faults(body(resources={"device_memory": written})) == {"resources.device_memory": code}


@pytest.mark.parametrize(
    "field,low,high",
    [
        ("resources.devices", 0, 1024),
        ("resources.cores", 1, 8192),
        ("resources.device_compute_milli", 1, 1000),
        ("resources.read_bandwidth_mib_s", 0, 2**24),
        ("priority", -1000, 1000),
        ("max_retries", 0, 10),
        ("time_limit_s", 1, 366 * 86400),
    ],
)
def test_whole_numbers_have_bounds(field, low, high):
    def with_value(value):
        head, _, tail = field.partition(".")
        return body(**({head: {tail: value}} if tail else {head: value}))

    for value in (low, high):
        read_spec(with_value(value), RULES)
    for value, code in [
        (low - 1, "min"),
        (high + 1, "max"),
        (2**31, "max"),
        (10**12, "max"),
        (-(10**12), "min"),
    ]:
        assert faults(with_value(value)) == {field: code}
    for value in (True, "1", 1.0, 1.5, float("nan"), float("inf"), [], {}):
        assert faults(with_value(value)) == {field: "type"}


@pytest.mark.parametrize(
    "raw,expected",
    [
        ([], {"": "type"}),
        (None, {"": "type"}),
        ({}, {"command": "required", "queue": "required"}),
        (body(queue="nowhere"), {"queue": "choice"}),
        (body(queue=7), {"queue": "choice"}),
        (body(command=[]), {"command": "empty"}),
        (body(command=[""]), {"command": "empty"}),
        (body(command="ls"), {"command": "type"}),
        (body(command=["ls", 1]), {"command[1]": "type"}),
        (body(command=["ls", "a\x00b"]), {"command[1]": "control-character"}),
        (body(command=["ls", "\ud800"]), {"command[1]": "control-character"}),
        (body(command=["x" * 40000]), {"command[0]": "max-length"}),
        (body(command=["x" * 30000] * 5), {"command": "command-size"}),
        (body(command=["x"] * 2000), {"command": "max-length"}),
        (body(name="a\nb"), {"name": "control-character"}),
        (body(name="\x1b[31mred"), {"name": "control-character"}),
        (body(name="safe\u202egnp"), {"name": "control-character"}),
        (body(name=""), {"name": "empty"}),
        (body(name="x" * 201), {"name": "max-length"}),
        (body(env={"1A": "x"}), {"env": "variable-name"}),
        (body(env={"HEADRACE_JOB": "x"}), {"env": "variable-reserved"}),
        (body(env={"A": 1}), {"env.A": "type"}),
        (body(env={"A": "\x00"}), {"env.A": "control-character"}),
        (body(env=[]), {"env": "type"}),
        (body(working_dir="data"), {"working_dir": "not-absolute"}),
        (body(cpu_class="fast"), {"cpu_class": "choice"}),
        (body(strict_single=1), {"strict_single": "type"}),
        (body(checkpoint=1), {"checkpoint": "type"}),
        (body(checkpoint={}), {"checkpoint": "signal-or-command"}),
        (body(checkpoint={"signal": "USR1", "command": ["a"]}), {"checkpoint": "signal-or-command"}),
        (body(checkpoint={"command": ["a"], "timeout_s": 0}), {"checkpoint.timeout_s": "min"}),
        (body(checkpoint={"signal": "USR1", "other": 1}), {"checkpoint.other": "unknown-field"}),
        (body(image="--privileged"), {"image": "image-name"}),
        (body(image="Registry/x y"), {"image": "image-name"}),
        (
            body(shared_memory=64, network="host"),
            {"shared_memory": "image-missing", "network": "image-missing"},
        ),
        (body(image="a", mounts=["/a:/b", "/a/../b:/c"]), {"mounts": "not-a-mount"}),
        (body(image="a", mounts=["/a,ro:/b"]), {"mounts": "not-a-mount"}),
        (body(image="a", network="container:1"), {"network": "choice"}),
        (body(node_labels={"a b": "x"}), {"node_labels": "label-name"}),
        (body(node_sets="a"), {"node_sets": "type"}),
        (body(resources=[]), {"resources": "type"}),
        (body(resources={"gpus": 1}), {"resources.gpus": "unknown-field"}),
        (body(color="red"), {"color": "unknown-field"}),
        (body(resources={"shareable": "yes"}), {"resources.shareable": "type"}),
        (
            body(resources={"shareable": False, "device_compute_milli": 500}),
            {"resources.device_compute_milli": "not-shareable"},
        ),
    ],
)
def test_faults_name_field_and_cause(raw, expected):
    assert faults(raw) == expected


def test_all_faults_are_found_at_once_and_have_sentences():
    raw = body(resources={"cores": -1, "memory": "5k"}, env={"1A": "x"}, priority="high", extra=1)
    with pytest.raises(SpecFaults) as caught:
        read_spec(raw, RULES)
    shown = [fault(error) for error in caught.value.errors]
    assert {f.field for f in shown} == {"resources.cores", "resources.memory", "env", "priority", "extra"}
    assert all(str(f.message) and "%(" not in str(f.message) for f in shown)
    assert {f.code for f in shown} <= {*FAULTS, *Fault}


@pytest.mark.parametrize(
    "queue,resources,expected",
    [
        ("training", {}, (0, None, None, False, False)),
        ("training", {"devices": 2}, (2, None, None, False, False)),
        ("training", {"device_memory": "8Gi"}, (1, 8192, None, False, False)),
        ("training", {"device_compute_milli": 250}, (1, None, 250, False, True)),
        ("training", {"device_memory": "8Gi", "shareable": True}, (1, 8192, None, False, True)),
        ("training", {"device_models": ["A100"]}, (1, None, None, False, False)),
        ("offline", {"device_memory": "8Gi"}, (1, 8192, None, False, True)),
        ("offline", {"devices": 1}, (1, None, None, False, False)),
        ("inference", {"device_memory": "8Gi"}, (0, 8192, None, True, True)),
        ("inference", {"device_memory": "8Gi", "devices": 2}, (2, 8192, None, True, True)),
        ("inference", {"device_memory": "8Gi", "splittable": False}, (1, 8192, None, False, True)),
        ("inference", {"device_memory": "8Gi", "device_compute_milli": 1000}, (0, 8192, None, True, False)),
        ("inference", {"cores": 4}, (0, None, None, False, False)),
    ],
)
def test_queues_presume_what_a_request_leaves_open(queue, resources, expected):
    r = read(queue=queue, resources=resources).resources
    assert (r.devices, r.device_memory_mib, r.device_compute_milli, r.splittable, r.shareable) == expected


def test_resource_keys_of_the_policy_say_the_same_as_our_own():
    r = read(
        resources={"example.com/gpu-memory": 35840, "example.com/accelerator-type": "nvidia-a100"}
    ).resources
    assert (r.device_memory_mib, r.device_models, r.devices) == (35840, ["nvidia-a100"], 1)


@pytest.mark.parametrize(
    "resources,expected",
    [
        ({"example.com/gpu-memory": "5k"}, {"resources.example.com/gpu-memory": "unit"}),
        ({"example.com/gpu-memory": -1}, {"resources.example.com/gpu-memory": "min"}),
        ({"example.com/accelerator-type": "abacus"}, {"resources.example.com/accelerator-type": "choice"}),
        (
            {"example.com/gpu-memory": 100, "device_memory": 200},
            {"resources.example.com/gpu-memory": "contradicts"},
        ),
        (
            {"example.com/accelerator-type": "nvidia-a100", "device_models": ["T4"]},
            {"resources.example.com/accelerator-type": "contradicts"},
        ),
    ],
)
def test_resource_keys_are_judged_like_fields(resources, expected):
    assert faults(body(resources=resources)) == expected


def test_a_job_without_a_name_is_called_after_its_command():
    assert read(command=["/usr/bin/python3", "-c", "print(1)\nprint(2)"]).name == "python3"
    assert read(command=["/"]).name == "job"


good = st.fixed_dictionaries(
    {"queue": st.sampled_from(list(RULES.queues)), "command": st.just(["run"])},
    optional={
        "resources": st.fixed_dictionaries(
            {},
            optional={
                "devices": st.integers(0, 8),
                "device_memory": st.integers(1, 10**6) | st.sampled_from(["8Gi", "7 GB"]),
                "device_compute_milli": st.integers(1, 1000),
                "device_models": st.lists(st.sampled_from(["A100", "T4"]), max_size=3),
                "cores": st.integers(1, 64),
                "memory": st.integers(1, 10**6),
                "splittable": st.booleans(),
                "shareable": st.booleans() | st.none(),
            },
        ),
        "priority": st.integers(-1000, 1000),
        "node_labels": st.dictionaries(st.sampled_from(["a", "b/c"]), st.sampled_from(["", "x"])),
    },
)


@given(good)
def test_the_normal_form_reads_as_itself(raw):
    try:
        spec = read_spec(raw, RULES)
    except SpecFaults as error:
        assert {fault.code for fault in error.errors} == {"not-shareable"}
        return
    plain = json.loads(json.dumps(encode_spec(spec)))
    assert decode_spec(plain) == spec
    assert read_spec(plain, RULES) == spec


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
fields = st.sampled_from(
    [
        "queue",
        "command",
        "resources",
        "env",
        "name",
        "team",
        "node_labels",
        "datasets",
        "priority",
        "cpu_class",
        "x",
    ]
)


@given(st.dictionaries(fields, json_values) | json_values)
def test_whatever_comes_is_read_or_refused_with_a_field(raw):
    try:
        spec = read_spec(raw, RULES)
    except SpecFaults as error:
        assert error.errors
        assert all(str(fault(e).message) for e in error.errors)
    else:
        assert json.loads(json.dumps(encode_spec(spec))) == encode_spec(spec)


def test_queues_presume_what_the_policy_says_and_else_what_the_defaults_say():
    text = """
scheduler:
  queue-policy:
    queues:
      - {name: inference, priority: 3}
      - {name: offline, priority: 2, splittable: true, shareable: false}
      - {name: night, priority: 1}
"""
    found = spec_rules(read_document(text)).queues
    assert {name: (rules.splittable, rules.shareable) for name, rules in found.items()} == {
        "inference": (True, True),
        "offline": (True, False),
        "night": (False, False),
    }


def test_a_container_is_asked_for_with_an_image_whose_tag_is_written_out():
    spec = read(
        image="example.com:5000/team/a", mounts=["/b:/c:ro", "/a:/b"], shared_memory="1Gi", network="none"
    )
    assert (spec.image, spec.shared_memory_mib) == ("example.com:5000/team/a:latest", 1024)
    assert (spec.mounts, spec.network) == (["/a:/b", "/b:/c:ro"], "none")
    assert read_spec(encode_spec(spec), RULES) == spec
    digest = "a@sha256:" + "0" * 64
    assert read(image=digest).image == digest


@pytest.mark.parametrize("name", ["train_numpy", "count_words"])
def test_the_specifications_of_the_examples_are_accepted(name):
    text = (Path(__file__).parents[2] / f"examples/checkpoints/{name}.json").read_text()
    assert read_spec(json.loads(text), RULES).checkpoint is not None
