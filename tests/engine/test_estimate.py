"""When a waiting job could start: the node named there really takes it then, and no earlier moment would do."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from scheduling.engine.ends import Release
from scheduling.engine.line import estimate_in_line
from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import DeviceInfo, EnginePolicy, NodeInfo, PendingJob, Request, SliceChoice
from tests.engine.build import GIB, POLICY, cpus, device, job, node, shared
from tests.engine.profiles import property_test
from tests.engine.random_clusters import random_jobs, random_nodes
from tests.engine.slow_checker import Books, fits

Found = tuple[int, int, tuple[int, ...]]
WHOLE = {"memory_booked_mib": 80 * GIB, "compute_booked_milli": 1000}


def whole(number: int) -> tuple[SliceChoice, ...]:
    return (SliceChoice(number, 80 * GIB, 1000),)


def start(
    state: ClusterState,
    waiting: PendingJob,
    policy: EnginePolicy,
    releases: Sequence[Release],
    *,
    now_ms: int,
) -> Found | None:
    """When and where it starts with nobody before it, and the ends that it needs."""
    found = estimate_in_line(state, waiting, policy, releases, now_ms=now_ms, ahead=())
    return None if found is None else (found.at_ms, found.node, found.releases)


def estimate(nodes: Sequence[NodeInfo], request: Request, releases: Sequence[Release]) -> Found | None:
    return start(ClusterState.build(nodes), job(1, request), POLICY, releases, now_ms=100)


def test_a_job_for_two_devices_waits_for_the_second_end_of_one_node() -> None:
    nodes = [node(n, [device(10 * n, **WHOLE), device(10 * n + 1, **WHOLE)]) for n in (1, 2)]
    releases = [
        Release(500, 1, whole(10)),
        Release(300, 2, whole(20)),
        Release(400, 2, whole(21)),
        Release(900, 1, whole(11)),
    ]
    assert estimate(nodes, Request(devices=2), releases) == (400, 2, (1, 2))
    assert estimate(nodes, Request(devices=1), releases) == (300, 2, (1,))
    assert estimate(nodes, Request(devices=3), releases) is None


def test_a_gang_waits_until_all_its_replicas_find_room() -> None:
    nodes = [node(n, [device(10 * n, **WHOLE), device(10 * n + 1, **WHOLE)]) for n in (1, 2)]
    releases = [Release(100 * d, d // 10, whole(d)) for d in (10, 20, 11, 21)]
    gang = job(1, Request(devices=1), replicas=3)
    found = start(ClusterState.build(nodes), gang, POLICY, releases, now_ms=100)
    assert found == (2000, 1, (0, 1, 2))


def test_ends_that_do_not_matter_are_not_named() -> None:
    layout = tuple(replace(c, booked=c.cpu < 4) for c in cpus(16))
    nodes = [node(1, [device(10, **WHOLE)], cpus=layout)]
    releases = [Release(200, 1, cpus=(0, 1)), Release(300, 1, whole(10)), Release(400, 1, cpus=(2, 3))]
    assert estimate(nodes, Request(devices=1, cores=4), releases) == (300, 1, (1,))
    assert estimate(nodes, Request(devices=1, cores=14), releases) == (300, 1, (0, 1))


def test_what_fits_now_starts_now_and_overdue_ends_count_as_now() -> None:
    assert estimate([node(2), node(1)], Request(), ()) == (100, 1, ())
    full = [node(1, [device(10, **WHOLE)])]
    assert estimate(full, Request(devices=1), [Release(50, 1, whole(10))]) == (100, 1, (0,))


def test_memory_comes_back_beside_what_others_book_and_use() -> None:
    card = device(1, 24 * GIB, memory_booked_mib=20 * GIB, compute_booked_milli=900, foreign_mib=GIB)
    releases = [
        Release(200, 1, (SliceChoice(1, 6 * GIB, 300),)),
        Release(300, 1, (SliceChoice(1, 6 * GIB, 300),)),
    ]
    assert estimate([node(1, [card])], shared(5 * GIB), releases) == (200, 1, (0,))
    assert estimate([node(1, [card])], shared(10 * GIB), releases) == (300, 1, (0, 1))
    assert estimate([node(1, [card])], shared(14 * GIB), releases) is None


def test_releases_of_what_is_not_here_or_not_booked_help_nobody() -> None:
    nodes = [node(1, [device(10, **WHOLE)]), node(2, [device(20, **WHOLE)], not_ready="silent")]
    releases = [
        Release(1, 9, whole(10)),
        Release(2, 1, whole(77)),
        Release(3, 2, whole(20)),
        Release(4, 1, whole(20)),
        Release(5, 1, cpus=(0, 1, 99), host_memory_mib=GIB),
    ]
    assert estimate(nodes, Request(devices=1), releases) is None
    assert estimate(nodes, Request(cores=17), releases) is None
    assert estimate([], Request(), ()) is None


def test_under_a_power_cap_a_job_waits_until_it_may_draw() -> None:
    cards = [device(1, power_limit_mw=400_000, **WHOLE), device(2, power_limit_mw=400_000)]
    cluster = ClusterState.build([node(1, cards, idle_mw=50_000), node(2)])
    waiting, policy = job(1, Request(devices=1)), replace(POLICY, power_cap_mw=500_000)
    found = start(cluster, waiting, policy, [Release(9000, 1, whole(1))], now_ms=0)
    assert found == (9000, 1, (0,))
    assert start(cluster, waiting, policy, (), now_ms=0) is None


def test_a_gang_is_held_to_read_bandwidth_and_power_of_its_node() -> None:
    cards = [device(n, power_limit_mw=400_000) for n in (1, 2, 3, 4)]
    readers = job(1, Request(devices=1, read_bandwidth_mib_s=600), replicas=3)
    slow = ClusterState.build([node(1, cards, read_bandwidth_total_mib_s=1000)])
    assert start(slow, readers, POLICY, (), now_ms=0) is None
    weak = ClusterState.build([node(1, cards, power_cap_mw=1_000_000)])
    assert start(weak, job(1, Request(devices=1), replicas=4), POLICY, (), now_ms=0) is None


def test_replicas_may_share_the_device_that_comes_free() -> None:
    quarters = job(1, Request(devices=1, device_compute_milli=250, shareable=True), replicas=4)
    free, full = (ClusterState.build([node(1, [device(1, **f)])]) for f in ({}, WHOLE))
    assert start(free, quarters, POLICY, (), now_ms=0) == (0, 1, ())
    found = start(full, quarters, POLICY, [Release(500, 1, whole(1))], now_ms=0)
    assert found == (500, 1, (0,))


def test_slices_come_free_with_the_end_of_who_holds_their_whole() -> None:
    slices = [device(10 + n, 20 * GIB, parent=1) for n in range(3)]
    nodes = [node(1, [device(1, **WHOLE), *slices])]
    wish = Request(devices=1, device_memory_mib=10 * GIB)
    assert estimate(nodes, wish, [Release(700, 1, whole(1))]) == (700, 1, (0,))
    assert estimate(nodes, wish, [Release(700, 1, (SliceChoice(1, GIB, 100),))]) is None


# 2477: a hold that came too late for the compute of a device keeps memory of it only.
@property_test
@example(2477)
@example(99160)
@given(st.integers(0, 2**32))
def test_the_node_takes_the_job_then_and_no_node_does_earlier(seed: int) -> None:
    # What is drawn today says nothing about what is drawn once placements ended: only booked draw is compared.
    running = [replace(info, measured_mw=None) for info in random_nodes(seed)]
    jobs = [replace(j, replicas=1) for j in random_jobs(seed, most=12)]
    state = ClusterState.build(running)
    decided = plan(state, jobs, POLICY, now_ms=0, seed=0)
    rng = Random(seed)
    releases = [
        Release(rng.choice((1, 5, 5, 9)), p.node, p.slices, p.cpus, p.host_memory_mib, p.read_bandwidth_mib_s)
        for p in decided.placed
    ]
    full = [booked(info, [r for r in releases if r.node == info.node], 1) for info in running]
    refused = {r.job for r in decided.refused}
    for pending in ([j for j in jobs if j.job in refused] or jobs)[:3]:
        found = start(ClusterState.build(full), pending, POLICY, releases, now_ms=0)
        check_estimate(full, pending, releases, found)


def check_estimate(
    nodes: Sequence[NodeInfo], pending: PendingJob, releases: Sequence[Release], found: Found | None
) -> None:
    every_time = sorted({0, *(r.at_ms for r in releases)})
    later = [moment for moment in every_time if takes(after(nodes, releases, moment), pending)]
    if found is None:
        assert not later
        return
    at_ms, number, ends = found
    assert at_ms == later[0]
    needed = [releases[i] for i in ends]
    assert all(r.node == number and r.at_ms <= at_ms for r in needed)
    here = [info for info in nodes if info.node == number]
    assert takes([booked(info, needed, -1) for info in here], pending)
    for left_out in range(len(needed)):
        rest = needed[:left_out] + needed[left_out + 1 :]
        assert not takes([booked(info, rest, -1) for info in here], pending)


def takes(nodes: Iterable[NodeInfo], pending: PendingJob) -> bool:
    books = [Books(info) for info in nodes]
    for b in books:
        b.give_to(pending.job)
    return any(fits(b, pending.request, POLICY) for b in books)


def after(nodes: Sequence[NodeInfo], releases: Sequence[Release], moment: int) -> list[NodeInfo]:
    ended = [r for r in releases if r.at_ms <= moment]
    return [booked(info, [r for r in ended if r.node == info.node], -1) for info in nodes]


def booked(info: NodeInfo, given: Sequence[Release], sign: int) -> NodeInfo:
    """The node with these placements booked (1) or given back (-1), the obvious way."""
    memory: dict[int, int] = defaultdict(int)
    milli: dict[int, int] = defaultdict(int)
    for s in (s for release in given for s in release.slices):
        memory[s.device] += sign * s.memory_mib
        milli[s.device] += sign * s.compute_milli
    cores = {cpu for release in given for cpu in release.cpus}
    return replace(
        info,
        devices=tuple(_booked_device(d, memory[d.device], milli[d.device]) for d in info.devices),
        cpus=tuple(replace(c, booked=sign > 0 if c.cpu in cores else c.booked) for c in info.cpus),
        memory_booked_mib=info.memory_booked_mib + sign * sum(r.host_memory_mib for r in given),
        read_bandwidth_booked_mib_s=info.read_bandwidth_booked_mib_s
        + sign * sum(r.read_bandwidth_mib_s for r in given),
    )


def _booked_device(card: DeviceInfo, memory: int, milli: int) -> DeviceInfo:
    used = card.memory_used_mib
    return replace(
        card,
        memory_booked_mib=card.memory_booked_mib + memory,
        compute_booked_milli=card.compute_booked_milli + milli,
        memory_used_mib=None if used is None else max(0, used + min(0, memory)),
    )
