"""What a request may not be (case C43)."""

from typing import Any

import pytest

from scheduling.engine.types import Request


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
