"""Link values and the choice of devices within a node."""

from dataclasses import replace
from time import process_time

import pytest

from scheduling.engine.links import best_subset, is_direct, layout_of, link_ppm, subset_ppm
from scheduling.engine.types import PPM, DeviceHealth, LinkInfo, Plan, Request
from tests.engine.build import GIB, all_linked, cpus, decide, device, node, shared

PAIRS = (LinkInfo(1, 2, "NV", 12), LinkInfo(3, 4, "NV", 12))


@pytest.mark.parametrize(
    ("kind", "lanes", "bandwidth", "value"),
    [
        ("NVSWITCH", None, None, PPM),
        ("NV", 12, None, PPM),
        ("NV18", None, None, PPM),
        ("NV", 4, None, 733_333),
        ("NV2", None, None, 666_666),
        ("HCCS", None, None, 900_000),
        ("HCCS_SW", None, None, 900_000),
        ("SIO", None, None, 900_000),
        ("XGMI", None, 150_000, 800_000),
        ("PIX", None, None, 500_000),
        ("sys", None, None, 100_000),
        ("PIB", None, None, 400_000),
        ("PCIE", None, 64_000, 100_000),
        ("new-thing", None, None, 100_000),
    ],
)
def test_value_of_a_link(kind: str, lanes: int | None, bandwidth: int | None, value: int) -> None:
    assert link_ppm(LinkInfo(1, 2, kind, lanes, bandwidth)) == value


@pytest.mark.parametrize(
    ("kind", "direct"),
    [
        ("NV", True),
        ("nv12", True),
        ("NVSWITCH", True),
        ("HCCS", True),
        ("XGMI", True),
        ("MX", True),
        ("MT", True),
    ]
    + [(kind, False) for kind in ("PIX", "PIB", "pcie", "SYS", "NV12x", "new-thing", "")],
)
def test_direct_is_what_the_vendor_links_by_itself(kind: str, direct: bool) -> None:
    assert is_direct(kind) is direct


def test_two_devices_are_the_linked_pair() -> None:
    devices = [device(n) for n in (1, 2, 3, 4)]
    busy = device(1, compute_booked_milli=1000)
    assert _given(decide([node(1, devices, links=PAIRS)], [Request(devices=2)])) == [[1, 2]]
    assert _given(decide([node(1, [busy, *devices[1:]], links=PAIRS)], [Request(devices=2)])) == [[3, 4]]


def test_a_single_device_is_taken_from_the_pair_that_is_broken_already() -> None:
    devices = [device(1), device(2), device(3, compute_booked_milli=1000), device(4)]
    assert _given(decide([node(1, devices, links=PAIRS)], [Request(devices=1)])) == [[4]]


def test_devices_of_one_numa_node_are_preferred_where_links_say_nothing() -> None:
    devices = [device(1, numa=0), device(2, numa=1), device(3, numa=1), device(4, numa=0)]
    assert _given(decide([node(1, devices, cpus=cpus(16, numas=2))], [Request(devices=2)])) == [[1, 4]]


def test_healthy_devices_come_before_suspect_ones_which_still_serve() -> None:
    devices = [device(1, health=DeviceHealth.SUSPECT), device(2)]
    assert _given(decide([node(1, devices)], [Request(devices=1), Request(devices=1)])) == [[2], [1]]


def test_a_healthy_node_comes_before_a_suspect_one() -> None:
    nodes = [node(1, [device(1, health=DeviceHealth.SUSPECT)]), node(2, [device(2)])]
    assert decide(nodes, [Request(devices=1)]).placed[0].node == 2


def test_a_share_goes_to_the_fullest_device_that_takes_it() -> None:
    devices = [
        device(1, 80 * GIB),
        device(2, 80 * GIB, memory_booked_mib=20 * GIB, compute_booked_milli=250),
        device(3, 80 * GIB, memory_booked_mib=60 * GIB, compute_booked_milli=750),
    ]
    assert _given(decide([node(1, devices)], [shared(30 * GIB)])) == [[2]]


def test_a_device_beside_free_cores_is_preferred() -> None:
    half_booked = tuple(replace(c, booked=c.numa == 0) for c in cpus(16, numas=2))
    devices = [device(1, numa=0), device(2, numa=1)]
    assert _given(decide([node(1, devices, cpus=half_booked)], [Request(devices=1, cores=8)])) == [[2]]


def test_pools_larger_than_a_machine_word() -> None:
    devices = [device(n, numa=0) for n in range(1, 71)]
    busy = [device(n, compute_booked_milli=1000) for n in range(1, 66)]
    assert _given(decide([node(1, [*busy, *devices[65:]])], [Request(devices=3)])) == [[66, 67, 68]]
    large = layout_of(devices, all_linked(devices[20:24]))
    assert best_subset(large, (1 << 70) - 1, 4) == (20, 21, 22, 23)
    assert subset_ppm(large, 0b1111 << 20) == PPM


@pytest.mark.parametrize("size", [24, 256])
def test_half_of_a_large_pool_is_found_soon_and_is_well_linked(size: int) -> None:
    """Two halves that are linked within, not with one another: each device of the right half beside its others."""
    devices = [device(n) for n in range(size)]
    halves = [devices[0::2], devices[1::2]]
    layout = layout_of(devices, [link for half in halves for link in all_linked(half)])
    started = process_time()
    even = sum(1 << n for n in range(0, size, 2))
    assert best_subset(layout, (1 << size) - 1, size // 2) == tuple(range(0, size, 2))
    assert best_subset(layout, (1 << size) - 1 - 1, size // 2) == tuple(range(1, size, 2))
    assert subset_ppm(layout, even) == PPM
    # Three orders of magnitude below what one start after the other took.
    assert process_time() - started < 5


def _given(plan: Plan) -> list[list[int]]:
    return [[s.device for s in placed.slices] for placed in plan.placed]
