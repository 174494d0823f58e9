"""What requests, facts and policies may not be (case C43)."""

from dataclasses import fields
from typing import Any

import pytest

from scheduling.engine.codec import CodecError, decode
from scheduling.engine.types import (
    CpuInfo,
    DeviceInfo,
    EnginePolicy,
    Hold,
    LinkInfo,
    NodeInfo,
    Request,
    Reservation,
    Running,
    SliceChoice,
    Term,
)
from tests.engine.build import node


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("devices", -1),
        ("devices", 1.5),
        ("devices", "1"),
        ("devices", True),
        ("devices", 10**12),
        ("device_memory_mib", -8),
        ("device_memory_mib", 0),
        ("device_compute_milli", 1001),
        ("device_compute_milli", -1),
        ("cores", -4),
        ("cores", None),
        ("host_memory_mib", -1),
        ("host_memory_mib", 2**63),
        ("read_bandwidth_mib_s", -1),
    ],
)
def test_c43_a_bad_amount_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{field}: "):
        Request(**{field: value})


def test_a_memory_only_slice_needs_a_memory() -> None:
    with pytest.raises(ValueError, match=r"^device_compute_milli: "):
        Request(devices=1, shareable=True, device_compute_milli=0)


def test_equal_wishes_are_equal_requests() -> None:
    one = Request(models=("b", "a", "a"), excluded_nodes=(2, 1))
    other = Request(models=("a", "b"), excluded_nodes=(1, 2))
    assert one == other
    assert hash(one) == hash(other)


IDS = ("job", "node", "queue", "team", "owner")
SLICE = SliceChoice(1, 1, 1)


def _fields(kind: type[Any]) -> dict[str, Any]:
    """An object of this class that is right, as its fields."""
    right: dict[type[Any], dict[str, Any]] = {
        DeviceInfo: {"device": 1, "index": 0, "model": None, "memory_total_mib": 8},
        CpuInfo: {"cpu": 0, "core": 0, "socket": 0},
        LinkInfo: {"a": 1, "b": 2, "kind": "NV"},
        SliceChoice: {"device": 1, "memory_mib": 1, "compute_milli": 1},
        Hold: {"job": 1},
        Reservation: {"job": 1, "node": 1, "starts_at_ms": 1},
        Running: {"job": 1, "attempt": 1, "node": 1, "queue": 1, "team": 1, "owner": 1},
        EnginePolicy: {"weights_ppm": {}, "queues": ()},
        Request: {},
    }
    return right[kind] if kind in right else {f.name: getattr(node(1), f.name) for f in fields(NodeInfo)}


@pytest.mark.parametrize("value", [-1, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 70, "8", 1.5, True])
@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (DeviceInfo, "memory_total_mib memory_reserved_mib memory_booked_mib memory_used_mib foreign_mib"),
        (DeviceInfo, "compute_booked_milli power_limit_mw"),
        (NodeInfo, "memory_mib memory_booked_mib read_bandwidth_booked_mib_s read_bandwidth_total_mib_s"),
        (NodeInfo, "idle_mw core_mw measured_mw power_cap_mw"),
        (LinkInfo, "lanes bandwidth_mb_s"),
        (SliceChoice, "memory_mib compute_milli"),
        (Hold, "host_memory_mib read_bandwidth_mib_s"),
        (Reservation, "host_memory_mib read_bandwidth_mib_s"),
        (Running, "host_memory_mib read_bandwidth_mib_s lost_work_ms"),
        (EnginePolicy, "precheck_num power_cap_mw"),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(kind: type[Any], names: str, value: Any) -> None:
    for name in names.split():
        with pytest.raises(ValueError, match=rf"^{name}: "):
            kind(**{**_fields(kind), name: value})


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (Request, "excluded_devices", (1 << 70,)),
        (Request, "previous_nodes", (1 << 63,)),
        (EnginePolicy, "precheck_den", 0),
        (EnginePolicy, "weights_ppm", {Term.BALANCE: 1 << 62}),
        (CpuInfo, "max_mhz", 1 << 40),
        (DeviceInfo, "device", 1 << 63),
        (Hold, "cpus", (1 << 70,)),
        *((Reservation, name, 1 << 70) for name in (*IDS, "starts_at_ms", "replica")),
        *((Running, name, 1 << 70) for name in (*IDS, "attempt", "ends_at_ms", "priority")),
        *((kind, "cpus", (1, 2, 1)) for kind in (Hold, Reservation, Running)),
        *((kind, "slices", (SLICE, SLICE)) for kind in (Hold, Reservation, Running)),
    ],
)
def test_an_id_or_a_part_out_of_range_is_refused_by_name(kind: type[Any], name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name}"):
        kind(**{**_fields(kind), name: value})


def test_a_recording_names_the_place_of_a_number_out_of_range() -> None:
    text = '{"device":1,"index":0,"model":null,"memory_total_mib":9223372036854775808}'
    with pytest.raises(CodecError, match=r"^DeviceInfo\.memory_total_mib: "):
        decode(DeviceInfo, text)
    with pytest.raises(CodecError, match=r"^document: "):
        decode(DeviceInfo, "9" * 5000)
