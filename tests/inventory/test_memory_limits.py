"""What keeps a job within its memory is said as it is, and unknown where nobody told."""

from __future__ import annotations

import pytest

from inventory.memory_limits import MemoryLimit, of_device, of_host

TOLD = {"code": "memory-not-enforced", "params": {}}


@pytest.mark.parametrize(("milli", "limit"), [(1000, MemoryLimit.HARDWARE), (999, MemoryLimit.WATCHED)])
def test_only_who_has_a_device_for_itself_is_kept_within_it(milli, limit):
    assert of_device(milli) is limit


@pytest.mark.parametrize(
    ("facts", "limit"),
    [
        ({}, None),
        ({"warnings": []}, MemoryLimit.CONTROL_GROUP),
        ({"warnings": ["prose of an older agent", TOLD]}, MemoryLimit.WATCHED),
    ],
)
def test_host_memory_is_enforced_where_the_node_can(facts, limit):
    assert of_host(facts, memory_mib=1024, in_container=False) is limit
    assert of_host(facts, memory_mib=1024, in_container=True) is MemoryLimit.CONTROL_GROUP
    assert of_host(facts, memory_mib=None, in_container=True) is MemoryLimit.NONE
