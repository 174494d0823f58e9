"""What each term prefers, and how the terms add up."""

from dataclasses import replace

from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import PPM, EnginePolicy, ExpectedShape, NodeInfo, Placed, Request, Term
from tests.engine.build import GIB, POLICY, QUEUES, all_linked, cpus, decide, device, job, node, shared


def only(*terms: Term) -> EnginePolicy:
    return EnginePolicy(weights_ppm=dict.fromkeys(terms, PPM), queues=QUEUES)


def chosen(nodes: list[NodeInfo], request: Request, policy: EnginePolicy) -> Placed:
    return decide(nodes, [request], policy).placed[0]


def test_the_score_is_the_weighted_sum_and_its_sheet_shows_the_terms() -> None:
    placed = chosen([node(1, [device(1)]), node(2, [device(2)])], Request(devices=1, cores=4), POLICY)
    assert [t.term for t in placed.chosen.terms] == list(POLICY.weights_ppm)
    exact = sum(t.weight_ppm * t.value_ppm for t in placed.chosen.terms) // PPM
    assert placed.chosen.score_ppm == exact
    assert 0 <= exact - sum(t.contribution_ppm for t in placed.chosen.terms) < len(placed.chosen.terms)
    assert [c.node for c in placed.runners_up] == [2]


def test_equal_scores_go_to_the_lower_node_id() -> None:
    assert chosen([node(9), node(4)], Request(), POLICY).node == 4


def test_resource_fit_spares_scarce_devices() -> None:
    nodes = [node(1, [device(1, 80 * GIB)]), node(2, [device(2, 16 * GIB, model="Tesla T4")])]
    assert chosen(nodes, Request(devices=1, device_memory_mib=8 * GIB), only(Term.RESOURCE_FIT)).node == 2


def test_resource_fit_keeps_cpu_jobs_off_free_accelerators() -> None:
    nodes = [node(1, [device(1)]), node(2)]
    assert chosen(nodes, Request(cores=2), only(Term.RESOURCE_FIT)).node == 2


def test_affinity_counts_image_datasets_and_the_earlier_place() -> None:
    request = Request(image="img", datasets=("a", "b"), previous_nodes=(3,))
    nodes = [node(1, images=("img",)), node(2, datasets=("a", "b")), node(3, datasets=("a",)), node(4)]
    placed = chosen(nodes, request, only(Term.AFFINITY))
    assert [(c.node, c.score_ppm) for c in (placed.chosen, *placed.runners_up)] == [
        (3, 450_000),
        (1, 400_000),
        (2, 300_000),
    ]
    assert chosen(nodes, Request(), only(Term.AFFINITY)).chosen.score_ppm == PPM


def test_topology_prefers_links_and_cores_beside_the_devices() -> None:
    pair = [device(1), device(2)], [device(3), device(4)]
    nodes = [node(1, pair[0], links=all_linked(pair[0], "SYS")), node(2, pair[1], links=all_linked(pair[1]))]
    placed = chosen(nodes, Request(devices=2), only(Term.TOPOLOGY))
    assert (placed.node, placed.chosen.score_ppm, placed.runners_up[0].score_ppm) == (2, PPM, 460_000)
    far = tuple(replace(c, booked=c.numa == 0) for c in cpus(16, numas=2))
    nodes = [node(n, [device(n, numa=0)], cpus=c) for n, c in ((1, far), (2, cpus(16, numas=2)))]
    placed = chosen(nodes, Request(devices=1, cores=4), only(Term.TOPOLOGY))
    assert (placed.node, placed.chosen.score_ppm, placed.runners_up[0].score_ppm) == (2, PPM, 0)


def test_topology_knows_no_preference_for_devices_without_a_numa_node() -> None:
    far = tuple(replace(c, booked=c.numa == 0) for c in cpus(16, numas=2))
    placed = chosen(
        [node(1, [device(1, numa=-1)], cpus=far)], Request(devices=1, cores=4), only(Term.TOPOLOGY)
    )
    assert placed.chosen.score_ppm == PPM


def test_balance_prefers_the_idle_node_and_spreads_heavy_readers() -> None:
    busy = tuple(replace(c, booked=c.cpu < 8) for c in cpus(16))
    assert chosen([node(1, cpus=busy), node(2)], Request(cores=2), only(Term.BALANCE)).node == 2
    reader = Request(cores=1, read_bandwidth_mib_s=2000)
    nodes = [node(1, read_bandwidth_booked_mib_s=4000), node(2)]
    assert chosen(nodes, reader, only(Term.BALANCE)).node == 2
    assert [p.node for p in decide([node(1), node(2)], [reader] * 4, only(Term.BALANCE)).placed] == [
        1,
        2,
        1,
        2,
    ]


def test_heavy_readers_prefer_high_bandwidth_node_sets() -> None:
    policy = replace(only(Term.BALANCE), high_bandwidth_node_sets=("fast",))
    nodes = [node(1), node(2, node_set="fast")]
    assert chosen(nodes, Request(read_bandwidth_mib_s=500), policy).node == 2
    assert chosen(nodes, Request(), policy).node == 1


def test_power_counts_an_idle_node_as_added_and_costs_nothing_without_a_weight() -> None:
    awake = tuple(replace(c, booked=c.cpu == 0) for c in cpus(16))
    nodes = [node(n, cpus=c, idle_mw=90_000, core_mw=5_000) for n, c in ((1, cpus(16)), (2, awake))]
    assert chosen(nodes, Request(), only(Term.POWER)).node == 2
    terms = chosen(
        [node(1)], Request(), replace(POLICY, weights_ppm={**POLICY.weights_ppm, Term.POWER: 0})
    ).chosen.terms
    assert Term.POWER not in {t.term for t in terms}


def test_power_is_measured_against_the_hungriest_node_or_what_is_left_under_the_cap() -> None:
    frugal = node(1, [device(1, power_limit_mw=100_000)], core_mw=0)
    hungry = node(2, [device(2, power_limit_mw=400_000)], core_mw=0)
    found = chosen([frugal, hungry], Request(devices=1), only(Term.POWER))
    assert [c.score_ppm for c in (found.chosen, *found.runners_up)] == [750_000, 0]
    capped = replace(only(Term.POWER), power_cap_mw=200_000)
    assert [c.score_ppm for c in (chosen([frugal, hungry], Request(devices=1), capped).chosen,)] == [500_000]


def harms(nodes: list[NodeInfo], request: Request, expected: Request) -> dict[int, int]:
    """1 - value per node under one expected shape."""
    found = plan(
        ClusterState.build(nodes),
        [job(1, request)],
        only(Term.FRAGMENTATION),
        now_ms=0,
        seed=0,
        expected=[ExpectedShape(expected, 1)],
    ).placed[0]
    return {c.node: PPM - c.score_ppm for c in (found.chosen, *found.runners_up)}


def test_fragmentation_breaks_up_no_room_for_larger_jobs() -> None:
    half = device(2, compute_booked_milli=500)
    request = shared(None, device_compute_milli=500)
    assert harms([node(1, [device(1)]), node(2, [half])], request, Request(devices=1, cores=0)) == {
        2: PPM // 3,
        1: PPM * 2 // 3,
    }


def test_fragmentation_is_even_when_nothing_more_is_lost_than_the_job_takes() -> None:
    devices = [device(n) for n in range(1, 9)]
    assert harms([node(1, devices)], Request(devices=8, cores=8), Request(devices=8, cores=0)) == {
        1: PPM // 2
    }
    # Seven more devices that no job of eight can use.
    assert harms([node(1, devices)], Request(devices=1, cores=1), Request(devices=8, cores=0)) == {
        1: PPM // 2 + PPM // 2 * 7 // 8
    }


def test_fragmentation_knows_the_memory_of_expected_jobs() -> None:
    nodes = [node(1, [device(1, 40 * GIB)]), node(2, [device(2, 80 * GIB)])]
    found = harms(nodes, shared(20 * GIB), shared(35 * GIB))
    assert found[1] > PPM // 2
    assert found[2] == PPM // 2


def test_fragmentation_on_nodes_without_devices_is_about_cores() -> None:
    nodes = [node(1, cpus=cpus(16)), node(2, cpus=cpus(6))]
    assert harms(nodes, Request(cores=4), Request(cores=16)) == {
        1: PPM // 2 + PPM // 2 * 12 * 125 // (12 * 125 + 1000),
        2: PPM // 3,
    }


def test_weights_of_expected_jobs_may_be_huge() -> None:
    nodes = [node(1, [device(n) for n in range(1, 9)])]
    expected = [ExpectedShape(Request(devices=8), 10**15), ExpectedShape(Request(devices=1), 10**9)]
    found = plan(
        ClusterState.build(nodes),
        [job(1, Request(devices=1))],
        only(Term.FRAGMENTATION),
        now_ms=0,
        seed=0,
        expected=expected,
    )
    assert 0 <= found.placed[0].chosen.score_ppm <= PPM
