"""What must hold on every cluster: nothing over-booked, refusals true, no dependence on order, caches or history."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import codec
from scheduling.engine.ordering import expected_shapes, in_service_order
from scheduling.engine.plan import Planner, plan
from scheduling.engine.state import ClusterState
from tests.engine.build import NO_PRECHECK, POLICY
from tests.engine.random_clusters import random_jobs, random_nodes
from tests.engine.slow_checker import check

SEEDS = st.integers(0, 2**32)
modest = settings(max_examples=25, deadline=None)


@modest
@given(SEEDS)
def test_every_placement_keeps_every_constraint_and_every_refusal_is_true(seed: int) -> None:
    nodes, jobs = random_nodes(seed), random_jobs(seed)
    policy = NO_PRECHECK if seed % 4 == 0 else POLICY
    check(nodes, jobs, policy, plan(ClusterState.build(nodes), jobs, policy, now_ms=0, seed=0))


@modest
@given(SEEDS)
def test_order_of_input_a_second_run_and_kept_boards_change_nothing(seed: int) -> None:
    nodes, jobs = random_nodes(seed), random_jobs(seed)
    state = ClusterState.build(nodes)
    first = plan(state, jobs, POLICY, now_ms=0, seed=0)
    # The second run computes every board anew.
    fresh = Planner(state, POLICY, expected_shapes((), jobs, POLICY), keep_boards=False)
    assert fresh.run(in_service_order(jobs, POLICY), None) == first
    rng = Random(seed)
    rng.shuffle(nodes)
    rng.shuffle(jobs)
    shuffled = [
        replace(
            n,
            devices=tuple(rng.sample(n.devices, len(n.devices))),
            links=tuple(rng.sample(n.links, len(n.links))),
        )
        for n in nodes
    ]
    assert plan(ClusterState.build(shuffled), jobs, POLICY, now_ms=0, seed=0) == first


@modest
@given(SEEDS)
def test_a_state_updated_node_by_node_equals_a_rebuilt_one(seed: int) -> None:
    target, jobs = random_nodes(seed), random_jobs(seed)
    state = ClusterState.build(random_nodes(seed + 1))
    rng = Random(seed)
    wanted = {n.node for n in target}
    steps = [("update", n) for n in target] + [("remove", n) for n in state.infos if n.node not in wanted]
    rng.shuffle(steps)
    for step, info in steps:
        if step == "update":
            state.update(info)
        else:
            state.remove(info.node)
    rebuilt = ClusterState.build(target)
    assert codec.encode_state(state) == codec.encode_state(rebuilt)
    assert plan(state, jobs, POLICY, now_ms=0, seed=0) == plan(rebuilt, jobs, POLICY, now_ms=0, seed=0)


@modest
@given(SEEDS)
def test_json_brings_back_the_same_plan(seed: int) -> None:
    nodes, jobs = random_nodes(seed), random_jobs(seed, most=5)
    state = ClusterState.build(nodes)
    decided = plan(state, jobs, POLICY, now_ms=0, seed=0)
    recording = codec.Recording(tuple(state.infos), tuple(jobs), POLICY, 0, 0, plan=decided)
    text = codec.encode(recording)
    again = codec.decode(codec.Recording, text)
    assert again == recording
    assert codec.encode(again) == text
