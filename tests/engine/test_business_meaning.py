"""Every score term changes a decision, with the weights of the sample policy, in the way its business meaning says.

In each test both nodes are alike but for what the term is about, and the less suitable one has the lower id, so that
it would win without the term.
"""

from dataclasses import replace

import pytest

from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import EnginePolicy, ExpectedShape, NodeInfo, PendingJob, Request, Term
from tests.engine.build import GIB, POLICY, all_linked, cpus, device, job, node, shared

WITH_POWER = replace(POLICY, weights_ppm={**POLICY.weights_ppm, Term.POWER: 100_000})


def winners(
    nodes: list[NodeInfo],
    jobs: list[PendingJob],
    term: Term,
    policy: EnginePolicy = POLICY,
    expected: tuple[ExpectedShape, ...] = (),
) -> tuple[list[int], list[int]]:
    """Nodes of the jobs with the term and with its weight at 0."""
    state = ClusterState.build(nodes)
    without = replace(policy, weights_ppm={**policy.weights_ppm, term: 0})
    plans = [plan(state, jobs, p, now_ms=0, seed=0, expected=expected) for p in (policy, without)]
    return [p.node for p in plans[0].placed], [p.node for p in plans[1].placed]


def one(request: Request) -> list[PendingJob]:
    return [job(1, request)]


EVEN = (ExpectedShape(Request(cores=1), 1),)


def test_scarce_large_cards_are_kept_for_jobs_that_need_them() -> None:
    nodes = [
        node(1, [device(1, 80 * GIB)]),
        *(node(n, [device(n, 16 * GIB, model="Tesla T4")]) for n in (2, 3, 4)),
    ]
    small = Request(devices=1, device_memory_mib=12 * GIB)
    assert winners(nodes, one(small), Term.RESOURCE_FIT, expected=EVEN) == ([2], [1])


def test_what_a_slice_leaves_over_stays_usable() -> None:
    """Of equal devices the first is fuller: a slice fits it more closely, but one of 12 GiB leaves a sliver there."""
    cards = (
        device(n, 80 * GIB, memory_booked_mib=mib * GIB, compute_booked_milli=700)
        for n, mib in ((1, 64), (2, 58))
    )
    nodes = [node(n, [card]) for n, card in enumerate(cards, start=1)]
    large, small = (
        winners(nodes, one(shared(mib * GIB)), Term.RESOURCE_FIT, expected=EVEN) for mib in (12, 5)
    )
    assert (large, small) == (([2], [1]), ([1], [1]))


def test_a_job_starts_where_its_large_image_is() -> None:
    nodes = [node(1), node(2, images=("train:7",))]
    assert winners(nodes, one(Request(image="train:7", image_mib=20 * GIB)), Term.AFFINITY) == ([2], [1])


def test_a_small_image_is_fetched_rather_than_a_busy_node_taken() -> None:
    busy = tuple(replace(c, booked=c.cpu < 12) for c in cpus(16))
    nodes = [node(1, cpus=busy, images=("tool:1",)), node(2)]
    large, small = (Request(cores=2, image="tool:1", image_mib=mib) for mib in (20 * GIB, 60))
    assert winners(nodes, one(large), Term.AFFINITY)[0] == [1]
    assert winners(nodes, one(small), Term.AFFINITY)[0] == [2]


def test_a_job_returns_to_where_it_ran_and_to_its_data() -> None:
    nodes = [node(1), node(2)]
    assert winners(nodes, one(Request(previous_nodes=(2,))), Term.AFFINITY) == ([2], [1])
    cached = [node(1), node(2, datasets=("faces",))]
    # Balance, too, keeps a reader beside its data.
    no_balance = replace(POLICY, weights_ppm={**POLICY.weights_ppm, Term.BALANCE: 0})
    assert winners(cached, one(Request(datasets=("faces",))), Term.AFFINITY, no_balance) == ([2], [1])


def test_devices_that_talk_to_one_another_are_well_linked() -> None:
    slow, fast = [device(n) for n in (11, 12)], [device(n) for n in (21, 22)]
    nodes = [node(1, slow, links=all_linked(slow, "SYS")), node(2, fast, links=all_linked(fast))]
    assert winners(nodes, one(Request(devices=2)), Term.TOPOLOGY) == ([2], [1])


def test_a_link_island_counts_though_no_link_is_reported() -> None:
    apart, island = [device(n) for n in (11, 12)], [device(n, link_island=0) for n in (21, 22)]
    assert winners([node(1, apart), node(2, island)], one(Request(devices=2)), Term.TOPOLOGY) == ([2], [1])


def test_cores_lie_in_the_numa_node_of_the_device() -> None:
    far, near = (tuple(replace(c, booked=c.numa == n) for c in cpus(16, numas=2)) for n in (0, 1))
    nodes = [node(1, [device(1, numa=0)], cpus=far), node(2, [device(2, numa=0)], cpus=near)]
    assert winners(nodes, one(Request(devices=1, cores=4)), Term.TOPOLOGY) == ([2], [1])


def test_a_gang_shares_one_machine_before_it_takes_several() -> None:
    nodes = [node(n, [device(10 * n + i) for i in range(2 if n < 3 else 4)]) for n in (1, 2, 3)]
    jobs = [job(1, Request(devices=1), replicas=4)]
    assert winners(nodes, jobs, Term.TOPOLOGY)[0] == [3, 3, 3, 3]


def test_heavy_readers_are_spread_over_machines() -> None:
    nodes = [node(1, read_bandwidth_total_mib_s=4000), node(2, read_bandwidth_total_mib_s=4000)]
    readers = [job(n, Request(read_bandwidth_mib_s=1000)) for n in range(1, 5)]
    found, without = winners(nodes, readers, Term.BALANCE)
    assert (found, without) == ([1, 2, 1, 2], [1, 1, 1, 1])


def test_heavy_readers_prefer_fast_node_sets() -> None:
    policy = replace(POLICY, high_bandwidth_node_sets=("fast",))
    nodes = [node(1), node(2, node_set="fast")]
    assert winners(nodes, one(Request(read_bandwidth_mib_s=900)), Term.BALANCE, policy) == ([2], [1])


def test_no_node_is_overloaded_while_others_idle() -> None:
    busy = tuple(replace(c, booked=c.cpu < 8) for c in cpus(16))
    assert winners([node(1, cpus=busy), node(2)], one(Request(cores=2)), Term.BALANCE) == ([2], [1])


@pytest.mark.parametrize("beside", [{}, {"image": "x", "previous_nodes": (1, 2)}])
def test_balance_never_moves_data(beside: dict[str, object]) -> None:
    crowded = tuple(replace(c, booked=c.cpu < 15) for c in cpus(16))
    full = node(
        2,
        datasets=("faces",),
        cpus=crowded,
        read_bandwidth_booked_mib_s=9000,
        read_bandwidth_total_mib_s=10_000,
    )
    nodes = [node(1), full]
    reader = Request(cores=1, read_bandwidth_mib_s=900, datasets=("faces",), **beside)  # type: ignore[arg-type]
    assert winners(nodes, one(reader), Term.BALANCE)[0] == [2]


def test_whole_devices_are_kept_for_the_jobs_that_history_expects() -> None:
    half = device(2, 80 * GIB, memory_booked_mib=40 * GIB, compute_booked_milli=500)
    nodes = [node(1, [device(1)]), node(2, [half])]
    slice_ = shared(20 * GIB)
    expected = (ExpectedShape(Request(devices=1), 1),)
    only = EnginePolicy({Term.FRAGMENTATION: 80_000, Term.RESOURCE_FIT: 0}, POLICY.queues)
    assert winners(nodes, one(slice_), Term.FRAGMENTATION, only, expected) == ([2], [1])


def test_a_machine_for_eight_is_not_broken_up_for_one() -> None:
    nodes = [node(n, [device(10 * n + i) for i in range(8 - n + 1)], cpus=cpus(64)) for n in (1, 2)]
    expected = (ExpectedShape(Request(devices=8, cores=8), 1),)
    found, without = winners(nodes, one(Request(devices=1)), Term.FRAGMENTATION, expected=expected)
    assert (found, without) == ([2], [1])


def test_cores_that_feed_devices_are_not_given_to_plain_cpu_jobs() -> None:
    """Both nodes have two free devices; on the first just enough cores are left for the expected jobs."""
    nodes = [node(n, [device(10 * n), device(10 * n + 1)], cpus=cpus(c)) for n, c in ((1, 16), (2, 64))]
    expected = (ExpectedShape(Request(devices=1, cores=8), 1),)
    only = EnginePolicy({Term.FRAGMENTATION: 80_000}, POLICY.queues)
    assert winners(nodes, one(Request(cores=2)), Term.FRAGMENTATION, only, expected) == ([2], [1])


def test_work_goes_where_it_adds_fewest_watts() -> None:
    nodes = [node(n, [device(n, power_limit_mw=w)]) for n, w in ((1, 700_000), (2, 350_000))]
    assert winners(nodes, one(Request(devices=1)), Term.POWER, WITH_POWER) == ([2], [1])


def test_idle_machines_sleep_on() -> None:
    awake = [device(21, compute_booked_milli=1000), device(22)]
    nodes = [node(1, [device(11), device(12)], idle_mw=400_000), node(2, awake, idle_mw=400_000)]
    alike = [replace(n, devices=tuple(replace(d, power_limit_mw=300_000) for d in n.devices)) for n in nodes]
    assert winners(alike, one(Request(devices=1, cores=0)), Term.POWER, WITH_POWER)[0] == [2]
