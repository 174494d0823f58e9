"""Images ahead of demand: which are wanted where, who fetches them when, and what is given up again."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from agent.protocol import ImageAction, ImageReport, ImageResult, Pull, TaskPhase
from controlplane.base import clock
from controlplane.policy.active import active_policy
from inventory.images import pushes
from inventory.images.sizes import note_sizes
from inventory.images.starts import history_of, note_start
from inventory.models import ImagePush, ImageStart, Node, NodeState, PushState, PushWhy, RemoteHost
from scheduling.models import Placement
from scheduling.selectors import live
from scheduling.selectors.images import summary
from scheduling.selectors.shares import NO_WAITS
from scheduling.warming import refresh_wanted
from tests.agentapi.speaking import enrolled
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
A, B = "example.com/a:1", "example.com/b:1"


@pytest.fixture
def user():
    make.make_queues()
    live.forget()
    return make.make_user(team=make.make_team())


def wanted() -> set[tuple[int, str]]:
    return set(ImagePush.objects.filter(stage=PushState.WANTED).values_list("node_id", "image"))


def warming(**changes):
    return msgspec.structs.replace(active_policy().images, **changes)


def answer(node, image, *, ok=True, action=ImageAction.PULL, **more) -> None:
    pushes.take_results(node.pk, [ImageResult(image, action, ok=ok, **more)])


def test_the_image_of_a_waiting_job_is_wanted_where_it_could_run_and_is_not_yet(user):
    with_image = make.make_node(facts=make.facts(cores=8) | {"images": [A]})
    small = make.make_node(cores=1)
    busy = make.make_node(cores=8)
    make.make_node(facts=make.facts(cores=8) | {"runs_containers": False})
    for _ in range(3):
        make.make_job(user, resources={"cores": 8})
    make.run_cycle()
    make.make_job(user, image=A, resources={"cores": 8})
    make.run_cycle()
    assert refresh_wanted() == 1
    assert wanted() == {(busy.pk, A)} and with_image.pk != small.pk
    assert ImagePush.objects.get().why == PushWhy.WAITING
    assert refresh_wanted() == 0


def test_common_images_are_wanted_on_nodes_like_those_they_ran_on_and_rare_ones_are_not(user):
    left, other, _right = (
        make.make_node(node_set="l"),
        make.make_node(node_set="l"),
        make.make_node(node_set="r"),
    )
    for _ in range(3):
        note_start(left.pk, A, pull_ms=900)
    note_start(left.pk, B, pull_ms=900)
    refresh_wanted()
    assert wanted() == {(left.pk, A), (other.pk, A)}


def test_nodes_without_an_agent_fetch_common_images_where_a_person_said_so(user):
    ran, asked, left = (make.make_node(node_set="l") for _ in range(3))
    for number, node in enumerate((asked, left)):
        RemoteHost.objects.create(
            address=f"10.0.0.{number}",
            user="u",
            key="k",
            host_key="x",
            node=node,
            fetches_images=node == asked,
        )
    for _ in range(3):
        note_start(ran.pk, A, pull_ms=900)
    refresh_wanted()
    assert wanted() == {(ran.pk, A), (asked.pk, A)}


def test_simulated_nodes_and_those_without_an_engine_fetch_nothing(user):
    node = make.make_node(simulated=True)
    bare = make.make_node(facts=make.facts(cores=8) | {"runs_containers": False})
    for _ in range(3):
        note_start(node.pk, A, pull_ms=None)
        note_start(bare.pk, A, pull_ms=None)
    refresh_wanted()
    assert not wanted() and ImageStart.objects.filter(node=node).count() == 0


def test_a_node_fetches_one_image_at_a_time_and_no_more_nodes_than_may_fetch_at_once():
    nodes = [make.make_node() for _ in range(3)]
    pushes.want([(node.pk, image) for node in nodes for image in (A, B)], here={})
    two = warming(at_once=2)
    assert [pushes.next_orders(node.pk, two)[0] for node in nodes] == [[A], [A], []]
    assert pushes.next_orders(nodes[0].pk, two)[0] == [A], "who lost the answer is told again"
    answer(nodes[0], A, ms=1200)
    assert [pushes.next_orders(node.pk, two)[0] for node in (nodes[2], nodes[0])] == [[A], []]
    done = ImagePush.objects.get(node=nodes[0], image=A)
    assert (done.stage, done.ms) == (PushState.DONE, 1200)


def test_no_more_is_fetched_in_an_hour_than_the_lines_may_carry(time_machine):
    time_machine.move_to("2026-03-01T00:00:00Z", tick=False)
    nodes = [make.make_node() for _ in range(4)]
    note_sizes([{"name": A, "size_mib": 6000}])
    pushes.want([(node.pk, A) for node in nodes], here={})
    pushes.want([(nodes[3].pk, B)], here={})
    slow = warming(at_once=9, mib_per_hour=10_000)
    assert [pushes.next_orders(node.pk, slow)[0] for node in nodes[:2]] == [[A], []]
    assert pushes.next_orders(nodes[0].pk, slow)[0] == [A], "who is told again fetches nothing more"
    answer(nodes[0], A, ok=False)
    assert pushes.next_orders(nodes[1].pk, slow)[0] == [], "what failed was on the line, too"
    time_machine.shift(timedelta(hours=1, seconds=1))
    assert pushes.next_orders(nodes[1].pk, warming(at_once=9, mib_per_hour=1))[0] == [A], "the first always"
    assert pushes.next_orders(nodes[3].pk, slow)[0] == []
    time_machine.shift(timedelta(hours=1, seconds=1))
    ImagePush.objects.filter(image=A).delete()
    pushes.want([(nodes[2].pk, B)], here={})
    assert pushes.next_orders(nodes[3].pk, slow)[0] == pushes.next_orders(nodes[2].pk, slow)[0] == [B]
    pushes.want([(nodes[1].pk, B)], here={})
    assert pushes.next_orders(nodes[1].pk, slow)[0] == [], "what is of unknown size counts as 4 GiB"


def test_a_node_that_never_answers_keeps_nobody_waiting_for_long(time_machine):
    time_machine.move_to("2026-03-01T00:00:00Z", tick=False)
    silent, other = make.make_node(), make.make_node()
    pushes.want([(silent.pk, A), (other.pk, A)], here={})
    one = warming(at_once=1)
    pushes.next_orders(silent.pk, one)
    assert pushes.next_orders(other.pk, one)[0] == []
    time_machine.shift(pushes.LEASE + timedelta(seconds=1))
    assert pushes.next_orders(other.pk, one)[0] == [A]


def test_what_fails_is_tried_again_later_and_at_last_given_up(time_machine):
    time_machine.move_to("2026-03-01T00:00:00Z", tick=False)
    node = make.make_node()
    pushes.want([(node.pk, A)], here={})
    for attempt in range(pushes.MOST_FAILURES):
        assert pushes.next_orders(node.pk, warming())[0] == [A], attempt
        answer(node, A, ok=False, problem="no such\x1b image")
        assert pushes.next_orders(node.pk, warming())[0] == []
        time_machine.shift(timedelta(hours=2))
    push = ImagePush.objects.get()
    assert (push.stage, push.failures, push.problem) == (PushState.FAILED, 5, "no such image")


def test_only_what_was_fetched_by_us_is_removed_once_nobody_wanted_it_for_long(time_machine):
    time_machine.move_to("2026-03-01T00:00:00Z", tick=False)
    node = make.make_node()
    pushes.want([(node.pk, A)], here={})
    pushes.next_orders(node.pk, warming())
    answer(node, A)
    time_machine.shift(timedelta(days=13))
    pushes.want([(node.pk, A), (node.pk, B)], here={node.pk: {A, B}})
    assert not ImagePush.objects.filter(image=B).exists(), "it is there by somebody else's wish"
    time_machine.shift(timedelta(days=13))
    assert pushes.give_up_unwanted(warming()) == 0, "it is kept as long as it is wanted"
    time_machine.shift(timedelta(days=2))
    assert pushes.give_up_unwanted(warming()) == 1
    assert pushes.next_orders(node.pk, warming()) == ([], [A])
    answer(node, A, ok=False, action=ImageAction.PRUNE, problem="in use")
    assert ImagePush.objects.get().stage == PushState.DONE
    pushes.give_up_unwanted(warming())
    answer(node, A, action=ImageAction.PRUNE)
    assert ImagePush.objects.get().stage == PushState.PRUNED
    pushes.want([(node.pk, A)], here={})
    assert wanted() == {(node.pk, A)}


def test_what_is_still_wanted_is_fetched_anew_when_it_is_old_unless_its_digest_says_what_it_is(time_machine):
    time_machine.move_to("2026-03-01T00:00:00Z", tick=False)
    node, fixed = make.make_node(), "example.com/a@sha256:" + "0" * 64
    for image in (A, fixed):
        pushes.want([(node.pk, image)], here={})
        pushes.next_orders(node.pk, warming())
        answer(node, image)
    time_machine.shift(timedelta(hours=25))
    pushes.want([(node.pk, A), (node.pk, fixed)], here={})
    assert pushes.refresh_old(warming()) == 1 and wanted() == {(node.pk, A)}


def test_what_could_not_be_fetched_anew_is_removed_all_the_same_once_nobody_wants_it(time_machine):
    time_machine.move_to("2026-03-01T00:00:00Z", tick=False)
    node, new = make.make_node(), make.make_node()
    pushes.want([(node.pk, A)], here={})
    pushes.next_orders(node.pk, warming())
    answer(node, A, ms=5)
    time_machine.shift(timedelta(hours=25))
    pushes.want([(node.pk, A), (new.pk, A)], here={})
    assert pushes.refresh_old(warming()) == 1
    for one in (node, new):
        pushes.next_orders(one.pk, warming())
        answer(one, A, ok=False, problem="the registry does not answer")
    time_machine.shift(timedelta(days=15))
    assert pushes.give_up_unwanted(warming()) == 1
    push = ImagePush.objects.get()
    assert (push.node_id, push.stage) == (node.pk, PushState.PRUNING)
    answer(node, A, action=ImageAction.PRUNE)
    pushes.want([(node.pk, A)], here={})
    assert pushes.decline([node.pk], A) == {node.pk}
    assert ImagePush.objects.get().stage == PushState.PRUNED, "it is gone already"


def test_a_start_is_a_hit_where_nothing_was_fetched_and_else_tells_how_long_it_took(user):
    node = make.make_node()
    for pull in (None, 12_000, None, 4_000):
        job = make.make_job(user, image=A)
        make.run_cycle()
        placement = Placement.objects.get(job=job)
        told = None if pull is None else Pull(A, done=True, ms=pull)
        Placement.objects.filter(pk=placement.pk).update(assigned_at=clock.now() - timedelta(minutes=1))
        make.report(node, make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, pull=told))
        make.report(node, make.ended(placement))
    told = history_of([A], days=1)[A]
    assert (told["starts"], told["hits"]) == (4, 2)
    assert told["pull_ms"] == {"mean": 8000, "p50": 4000, "p95": 12_000, "p99": 12_000}
    whole = summary(1)
    assert (whole["starts"], whole["hits"], whole["pull_s"]["count"]) == (4, 2, 4)
    assert (whole["pull_s"]["p50"], whole["pull_s"]["p99"]) == (2.0, pytest.approx(11.76))
    assert 0 < whole["pull_percent"] < 100


def test_without_starts_nothing_is_known_of_what_fetching_costs():
    assert summary(7) == {
        "days": 7,
        "starts": 0,
        "hits": 0,
        "pull_s": NO_WAITS,
        "wait_s": NO_WAITS,
        "pull_percent": None,
    }


def test_an_agent_is_told_what_to_fetch_and_says_what_became_of_it(client):
    one = enrolled()
    Node.objects.filter(pk=one.node).update(state=NodeState.READY)
    pushes.want([(one.node, A)], here={})

    def post(*results):
        body = msgspec.json.encode(ImageReport(1, list(results)))
        headers = {"Authorization": f"Bearer {one.token}"}
        answer = client.post("/agent/v1/images", body, content_type="application/json", headers=headers)
        assert answer.status_code == 200
        return answer.json()

    assert post()["pull"] == [A]
    assert post(ImageResult(A, ImageAction.PULL, ok=True, ms=5))["pull"] == []
    assert ImagePush.objects.get().stage == PushState.DONE
