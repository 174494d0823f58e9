"""Recordings: same bytes for same values, kept golden files, clear refusals."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scheduling.engine.codec import (
    CodecError,
    Recording,
    decode,
    encode,
    encode_pretty,
)
from scheduling.engine.types import EnginePolicy, NodeInfo, PendingJob, Request
from tests.engine.build import POLICY, device, node
from tests.engine.golden_recordings import FOLDER, decide_again, recordings

NAMES = [
    "crooked.json",
    "expected.json",
    "gang-hold-power.json",
    "mixed.json",
    "s16-why.json",
    "s7-fragments.json",
    "s8-precheck.json",
    "s9-splittable.json",
]
OLD = Path(__file__).parent / "golden_old"


def golden(name: str) -> str:
    return (FOLDER / name).read_text(encoding="ascii")


def test_every_golden_file_is_named_here() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(recorded()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_plan_is_decided_again_byte_for_byte(name: str) -> None:
    recording = decode(Recording, golden(name))
    assert recording.plan is not None
    assert encode_pretty(decide_again(recording)) == golden(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_recorded_input_is_what_the_source_says(name: str) -> None:
    assert encode_pretty(recorded()[name]) == golden(name)


@pytest.mark.parametrize("path", sorted(OLD.iterdir()), ids=lambda path: path.name)
def test_a_recording_of_an_older_form_is_still_read(path: Path) -> None:
    recording = decode(Recording, path.read_text(encoding="ascii"))
    assert recording.plan is not None
    jobs = {p.job for p in recording.plan.placed} | {r.job for r in recording.plan.refused}
    assert jobs == {j.job for j in recording.jobs}
    assert decode(Recording, encode(decide_again(recording))).nodes == recording.nodes


def test_worked_examples() -> None:
    """What the kept files of the requirements' examples say, for readers."""
    plans = {name: recorded()[name].plan for name in NAMES}
    s7, s8, s9, s16 = (
        plans[n] for n in ("s7-fragments.json", "s8-precheck.json", "s9-splittable.json", "s16-why.json")
    )
    assert s7 and s8 and s9 and s16
    assert [(p.job, p.node, p.slices[0].memory_mib) for p in s7.placed] == [(1, 2, 40 * 1024)]
    assert [(p.job, p.slices[0].memory_mib) for p in s8.placed] == [(2, 5 * 1024)]
    assert [(r.job, r.near[0].needed, r.near[0].available) for r in s8.refused] == [
        (1, 6146, 1024),
        (3, 1025, 1024),
    ]
    assert [(p.job, [s.memory_mib for s in p.slices]) for p in s9.placed] == [(1, [13_654] * 3)]
    assert [r.job for r in s9.refused] == [2, 3]
    near = s16.refused[0].near[0]
    assert (near.node, near.needed, near.pieces) == (7, 48 * 1024, (20 * 1024,) * 4)


def test_hash_seeds_change_nothing() -> None:
    """Another process with another seed writes what this one writes."""
    code = (
        "from tests.engine.golden_recordings import recordings\n"
        "from scheduling.engine.codec import encode\n"
        "print(''.join(encode(r) for r in recordings().values()))"
    )
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "4711" else "4711"
    other = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert other.stdout == (encode_all() + "\n").encode()


@functools.cache
def recorded() -> dict[str, Recording]:
    return recordings()


def encode_all() -> str:
    return "".join(encode(recording) for recording in recorded().values())


def test_a_node_survives() -> None:
    info = node(2, [device(1, None)])
    assert decode(NodeInfo, encode(info)) == info


def test_a_policy_survives() -> None:
    assert decode(EnginePolicy, encode(POLICY)) == POLICY


def test_fields_with_a_default_may_be_missing() -> None:
    assert decode(Request, '{"devices": 2}') == Request(devices=2)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (Request, "{", "document: not JSON"),
        (Request, "[]", "Request: must be an object"),
        (Request, '{"gpus": 1}', "Request.gpus: unknown field"),
        (Request, '{"devices": "1"}', "Request.devices: must be int"),
        (Request, '{"devices": true}', "Request.devices: must be int"),
        (Request, '{"devices": 1.0}', "Request.devices: must be int"),
        (Request, '{"devices": -1}', "Request.devices: must lie between 0 and 1024"),
        (Request, '{"models": "a"}', "Request.models: must be a list"),
        (Request, '{"node_labels": [["a"]]}', r"Request.node_labels\[0\]: must have 2 items"),
        (Request, '{"cpu_class": "fast"}', "Request.cpu_class: 'fast' is no CpuClass"),
        (Request, '{"devices": 1, "devices": 1}', "Request.devices: stands there twice"),
        (
            EnginePolicy,
            '{"weights_ppm": {"balance": 1, "balance": 2}, "queues": []}',
            "EnginePolicy.weights_ppm.balance: stands there twice",
        ),
        (Recording, '{"format": 2, "new": 1}', "Recording.format: is format 2, this version reads 1"),
        (Recording, '{"format": 1.0, "new": 1}', "Recording.new: unknown field"),
        (PendingJob, '{"job": 1}', "PendingJob.attempt: is missing"),
        (EnginePolicy, '{"weights_ppm": [], "queues": []}', "EnginePolicy.weights_ppm: must be an object"),
        (EnginePolicy, '{"weights_ppm": {"x": 1}, "queues": []}', "EnginePolicy.weights_ppm: 'x' is no Term"),
    ],
)
def test_a_wrong_document_is_refused_with_its_path(kind: type, text: str, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        decode(kind, text)


def test_what_has_no_form_is_not_written() -> None:
    with pytest.raises(CodecError):
        encode({"a": 1.5})


def test_health_is_written_by_name() -> None:
    assert '"health":"healthy"' in encode(node(1, [device(1)]))
    assert decode(NodeInfo, encode(node(1, [device(1)]))) == node(1, [device(1)])
