"""Each filter removes the node it should, for its own reason."""

from dataclasses import replace

import pytest

from scheduling.engine import filters
from scheduling.engine.types import (
    AGENTLESS,
    PAUSED,
    SIMULATED,
    DeviceHealth,
    FilterCount,
    NodeInfo,
    ReasonCode,
    Refusal,
    Request,
)
from tests.engine.build import GIB, POLICY, cpus, decide, device, node, shared

ONE = Request(devices=1)
TWO_FREE = [device(1, 24 * GIB), device(2, 24 * GIB)]
BUSY = {"compute_booked_milli": 1000, "memory_booked_mib": 24 * GIB}

REFUSED = [
    (ReasonCode.NODE_NOT_READY, node(1, not_ready="silent"), Request()),
    (ReasonCode.NODE_PAUSED, node(1, not_ready=PAUSED), Request()),
    (ReasonCode.NODE_EXCLUDED, node(1), Request(excluded_nodes=(1,))),
    (ReasonCode.NO_AGENT, node(1, not_ready=AGENTLESS), Request()),
    (ReasonCode.OBSERVE_ONLY, node(1, observe_only=True), Request()),
    (ReasonCode.SIMULATED, node(1, labels=(SIMULATED,)), Request()),
    (ReasonCode.LABELS, node(1), Request(node_labels=(SIMULATED,))),
    (ReasonCode.NODE_SET, node(1, node_set="b"), Request(node_sets=("a",))),
    (ReasonCode.NODE_SET, node(1), Request(node_sets=("a",))),
    (ReasonCode.LABELS, node(1, labels=(("disk", "hdd"),)), Request(node_labels=(("disk", "nvme"),))),
    (ReasonCode.NO_CONTAINER_ENGINE, node(1, runs_containers=False), Request(image="train:1")),
    (ReasonCode.NO_DEVICES, node(1), ONE),
    (
        ReasonCode.DEVICE_MODEL,
        node(1, [device(1, model="Tesla T4")]),
        Request(devices=1, models=("nvidia-a100",)),
    ),
    (ReasonCode.DEVICE_MODEL, node(1, [device(1, model=None)]), Request(models=("nvidia-a100",))),
    (ReasonCode.DEVICE_HEALTH, node(1, [device(1, health=DeviceHealth.QUARANTINED)]), ONE),
    (ReasonCode.DEVICE_HEALTH, node(1, [device(1, health=DeviceHealth.UNKNOWN)]), ONE),
    (ReasonCode.DEVICE_HEALTH, node(1, [device(1, health=DeviceHealth.RECOVERED)]), ONE),
    (ReasonCode.DEVICE_HEALTH, node(1, [device(1, cordoned=True)]), ONE),
    (ReasonCode.DEVICE_HEALTH, node(1, [device(1)]), Request(devices=1, excluded_devices=(1,))),
    (ReasonCode.DEVICE_TOO_SMALL, node(1, TWO_FREE), Request(devices=1, device_memory_mib=40 * GIB)),
    (ReasonCode.DEVICE_TOO_SMALL, node(1, [device(1, None)]), Request(devices=1, device_memory_mib=1)),
    (ReasonCode.DEVICE_COUNT, node(1, TWO_FREE), Request(devices=3)),
    (ReasonCode.DEVICE_COUNT, node(1, [device(1), device(2, model="Tesla T4")]), Request(devices=2)),
    (ReasonCode.DEVICE_BUSY, node(1, [device(1, compute_booked_milli=1)]), ONE),
    (
        ReasonCode.DEVICE_BUSY,
        node(1, [device(1, compute_booked_milli=1000)]),
        shared(None, device_compute_milli=500),
    ),
    (
        ReasonCode.DEVICE_COMPUTE,
        node(1, [device(1, compute_booked_milli=600), device(2, compute_booked_milli=700)]),
        shared(None, device_compute_milli=500),
    ),
    (
        ReasonCode.DEVICE_COMPUTE,
        node(1, [device(1, memory_booked_mib=GIB, compute_booked_milli=900)]),
        shared(20 * GIB),
    ),
    (
        ReasonCode.DEVICE_MEMORY_TOTAL,
        node(1, [device(1, 24 * GIB, memory_booked_mib=12 * GIB, compute_booked_milli=500)]),
        shared(12 * GIB),
    ),
    (
        ReasonCode.DEVICE_MEMORY_PIECE,
        node(
            1,
            [device(n, 80 * GIB, memory_booked_mib=60 * GIB, compute_booked_milli=100) for n in (1, 2, 3, 4)],
        ),
        shared(40 * GIB),
    ),
    (ReasonCode.FOREIGN_USE, node(1, [device(1, foreign_mib=700)]), ONE),
    (ReasonCode.FOREIGN_USE, node(1, [device(1, 24 * GIB, foreign_mib=20 * GIB)]), shared(10 * GIB)),
    (ReasonCode.FOREIGN_USE, node(1, [device(1, 40 * GIB, foreign_mib=1)]), shared(35 * GIB)),
    (ReasonCode.CORES_TOTAL, node(1), Request(cores=17)),
    (
        ReasonCode.CORES_FREE,
        node(1, cpus=tuple(replace(c, booked=c.cpu > 2) for c in cpus(16))),
        Request(cores=4),
    ),
    (
        ReasonCode.CORES_TOTAL,
        node(1, cpus=tuple(replace(c, online=c.cpu > 12) for c in cpus(16))),
        Request(cores=4),
    ),
    (
        ReasonCode.CORES_TOTAL,
        node(1, cpus=tuple(replace(c, reserved=c.cpu > 2) for c in cpus(16))),
        Request(cores=4),
    ),
    (ReasonCode.HOST_MEMORY_TOTAL, node(1), Request(host_memory_mib=257 * GIB)),
    (ReasonCode.HOST_MEMORY_FREE, node(1, memory_booked_mib=200 * GIB), Request(host_memory_mib=57 * GIB)),
    (
        ReasonCode.READ_BANDWIDTH,
        node(1, read_bandwidth_total_mib_s=1000, read_bandwidth_booked_mib_s=800),
        Request(read_bandwidth_mib_s=300),
    ),
    (
        ReasonCode.NODE_POWER,
        node(1, [device(1, power_limit_mw=400_000)], core_mw=5_000, idle_mw=200_000, power_cap_mw=600_000),
        Request(devices=1, cores=8),
    ),
    (ReasonCode.NODE_POWER, node(1, measured_mw=300_000, core_mw=5_000, power_cap_mw=300_000), Request()),
]


def refusal(info: NodeInfo, request: Request) -> Refusal:
    plan = decide([info], [request])
    assert not plan.placed
    return plan.refused[0]


@pytest.mark.parametrize(("code", "info", "request_"), REFUSED)
def test_one_node_is_refused_for_its_reason(code: ReasonCode, info: NodeInfo, request_: Request) -> None:
    found = refusal(info, request_)
    assert found.code is code
    assert found.counts == (FilterCount(code, 1),)


def test_every_reason_of_a_node_has_a_case() -> None:
    """Those of the whole cluster stand in test_gangs and test_power."""
    assert {code for code, _, _ in REFUSED} == set(ReasonCode) - set(filters.OF_THE_CLUSTER)


def test_shortfalls_name_what_was_needed_and_what_there_is() -> None:
    by_code: dict[ReasonCode, object] = {}
    for code, info, request in REFUSED:
        for miss in refusal(info, request).near:
            by_code.setdefault(code, (miss.needed, miss.available, miss.pieces))
    assert by_code == {
        ReasonCode.DEVICE_TOO_SMALL: (40 * GIB, 24 * GIB, (24 * GIB, 24 * GIB)),
        ReasonCode.DEVICE_COUNT: (3, 2, ()),
        ReasonCode.DEVICE_BUSY: (1, 0, ()),
        ReasonCode.DEVICE_COMPUTE: (500, 400, ()),
        ReasonCode.DEVICE_MEMORY_TOTAL: (14_746, 12 * GIB, (12 * GIB,)),
        ReasonCode.DEVICE_MEMORY_PIECE: (48 * GIB, 20 * GIB, (20 * GIB,) * 4),
        ReasonCode.FOREIGN_USE: (80 * GIB, 80 * GIB - 700, (80 * GIB - 700,)),
        ReasonCode.CORES_TOTAL: (17, 16, ()),
        ReasonCode.CORES_FREE: (4, 3, ()),
        ReasonCode.HOST_MEMORY_TOTAL: (257 * GIB, 256 * GIB, ()),
        ReasonCode.HOST_MEMORY_FREE: (57 * GIB, 56 * GIB, ()),
        ReasonCode.READ_BANDWIDTH: (300, 200, ()),
        ReasonCode.NODE_POWER: (400_000 + 8 * 5_000, 400_000, ()),
    }


def test_paused_nodes_are_told_from_others_that_are_not_ready() -> None:
    nodes = [node(1, not_ready="silent"), node(2, not_ready=PAUSED), node(3, not_ready=PAUSED)]
    found = decide(nodes, [Request()]).refused[0]
    assert found.code is ReasonCode.NODE_PAUSED
    assert found.counts == (
        FilterCount(ReasonCode.NODE_NOT_READY, 1),
        FilterCount(ReasonCode.NODE_PAUSED, 2),
    )


def test_no_nodes_at_all() -> None:
    found = decide([], [Request()]).refused[0]
    assert (found.code, found.nodes, found.counts) == (ReasonCode.NODE_NOT_READY, 0, ())


def test_counts_follow_the_order_of_filters_and_sum_up_with_the_rest() -> None:
    nodes = [
        node(1, not_ready="cordoned"),
        node(2),
        node(3, [device(3, model="Tesla T4")]),
        node(4, [device(4, compute_booked_milli=1000)]),
        node(5, [device(5)]),
        node(6, [device(6)], cpus=cpus(1)),
    ]
    placed = decide(nodes, [Request(devices=1, models=("nvidia-a100",), cores=2)]).placed[0]
    assert placed.node == 5
    assert placed.candidates == 1
    assert [c.code for c in placed.counts] == [
        ReasonCode.NODE_NOT_READY,
        ReasonCode.NO_DEVICES,
        ReasonCode.DEVICE_MODEL,
        ReasonCode.DEVICE_BUSY,
        ReasonCode.CORES_TOTAL,
    ]


def test_a_whole_device_job_is_not_prechecked_and_counts_nominal_memory() -> None:
    t4 = device(1, 15_360, memory_reserved_mib=388)
    placed = decide([node(1, [t4])], [Request(devices=1, device_memory_mib=15_360)]).placed[0]
    assert (placed.slices[0].memory_mib, placed.slices[0].compute_milli) == (14_972, 1000)


@pytest.mark.parametrize(
    ("asked", "booked", "milli"), [(33, 33, 825), (34, 40, 1000), (35, 40, 1000), (40, 40, 1000)]
)
def test_a_request_whose_precheck_exceeds_the_device_gets_it_alone(
    asked: int, booked: int, milli: int
) -> None:
    placed = decide([node(1, [device(1, 40 * GIB)])], [shared(asked * GIB)]).placed[0]
    assert (placed.slices[0].memory_mib, placed.slices[0].compute_milli) == (booked * GIB, milli)


def test_thirty_five_do_not_fit_on_two_times_twenty_free() -> None:
    halves = [device(n, 40 * GIB, memory_booked_mib=20 * GIB, compute_booked_milli=500) for n in (1, 2)]
    assert decide([node(1, halves)], [shared(35 * GIB)]).refused[0].code is ReasonCode.DEVICE_BUSY


def test_splittable_spreads_over_the_least_number_that_works() -> None:
    devices = [
        device(n, 80 * GIB, memory_booked_mib=60 * GIB, compute_booked_milli=100) for n in (1, 2, 3, 4)
    ]
    placed = decide([node(1, devices)], [shared(40 * GIB, devices=0, splittable=True)]).placed[0]
    assert [s.memory_mib for s in placed.slices] == [13_654] * 3


def test_splittable_over_an_asked_number() -> None:
    devices = [device(n, 80 * GIB) for n in (1, 2, 3, 4)]
    placed = decide([node(1, devices)], [shared(40 * GIB, devices=4, splittable=True)]).placed[0]
    assert [s.memory_mib for s in placed.slices] == [10 * GIB] * 4


def test_pieces_lie_on_devices_of_one_model() -> None:
    devices = [device(1, 20 * GIB), device(2, 20 * GIB, model="Tesla T4")]
    assert decide([node(1, devices)], [shared(30 * GIB, devices=0, splittable=True)]).refused


def test_a_compute_share_books_its_part_of_the_memory() -> None:
    placed = decide([node(1, [device(1, 24 * GIB)])], [shared(None, device_compute_milli=250)]).placed[0]
    assert placed.slices[0].memory_mib == 6 * GIB


def test_the_policy_sets_the_factor() -> None:
    card = node(1, [device(1, 24 * GIB, memory_booked_mib=12 * GIB, compute_booked_milli=500)])
    assert decide([card], [shared(12 * GIB)]).refused
    assert decide([card], [shared(12 * GIB)], replace(POLICY, precheck_num=1, precheck_den=1)).placed
