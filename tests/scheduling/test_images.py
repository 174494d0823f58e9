"""Jobs with an image: where they may run at all, and where they run best."""

from __future__ import annotations

import pytest

from agent.protocol import StoredImage
from inventory.images.names import LONGEST_NAME, NAME, canonical
from inventory.images.sizes import sizes_of
from inventory.ingest import apply_facts
from inventory.models import Image, Node
from scheduling.models import Decision, Outcome, Placement, ShapeReason
from scheduling.requests import RequestCache, load_pending, pending_job
from scheduling.snapshot import load_nodes
from tests.inventory.factories import THRESHOLDS, facts
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def without_engine(node):
    node.facts["runs_containers"] = False
    node.save(update_fields=["facts"])
    return node


def test_a_job_with_an_image_waits_for_a_node_with_a_container_engine(user):
    without_engine(make.make_node())
    job = make.make_job(user, image="example.com/train:1")
    make.run_cycle()
    assert ShapeReason.objects.get(shape=job.shape).code == "no-container-engine"
    with_engine = make.make_node()
    make.run_cycle()
    assert Placement.objects.get(job=job).node == with_engine


def test_a_job_without_an_image_needs_no_engine(user):
    without_engine(make.make_node())
    make.make_job(user)
    make.run_cycle()
    assert Placement.objects.count() == 1


def test_a_node_whose_agent_never_said_so_runs_no_containers(user):
    node = make.make_node()
    del node.facts["runs_containers"]
    node.save(update_fields=["facts"])
    assert not load_nodes([node.pk])[0].runs_containers


def test_a_decision_that_did_not_know_it_is_refused(user, monkeypatch):
    node = make.make_node()
    make.make_job(user, image="example.com/train:1")
    known = load_nodes()
    without_engine(node)
    monkeypatch.setattr("scheduling.snapshot.load_nodes", lambda *args, **kwargs: known)
    make.run_cycle()
    assert not Placement.objects.exists()
    assert Decision.objects.filter(outcome=Outcome.STALE).exists()


def tell_images(node: Node, **sizes_mib: int | None) -> None:
    """A report of the node's agent."""
    stored = [StoredImage(name=f"example.com/{name}:1", size_mib=size) for name, size in sizes_mib.items()]
    told = facts(
        machine_id=node.machine_id,
        runs_containers=True,
        stored_images=stored,
        images=[image.name for image in stored],
    )
    apply_facts(node, told, digest=f"d{len(sizes_mib)}", thresholds=THRESHOLDS)


def test_a_job_goes_where_its_image_is_when_all_else_is_equal(user):
    first, second = make.make_node(), make.make_node()
    tell_images(first, other=9000)
    tell_images(second, train=9000)
    job = make.make_job(user, image="example.com/train:1")
    make.run_cycle()
    assert Placement.objects.get(job=job).node == second


def test_the_size_of_an_image_is_known_to_the_engine_as_soon_as_a_node_told_it(user):
    node = make.make_node()
    job, cache = make.make_job(user, image="example.com/train:1"), RequestCache()
    assert load_pending(cache)[0][0].request.image_mib is None
    tell_images(node, train=9000)
    assert load_pending(cache)[0][0].request.image_mib == 9000
    assert pending_job(job).request.image_mib == 9000


def test_of_sizes_the_largest_is_kept_and_unknown_is_no_size():
    one, two = make.make_node(), make.make_node()
    tell_images(one, a=None, b=70)
    tell_images(two, a=50, b=60)
    assert sizes_of(["example.com/a:1", "example.com/b:1", "example.com/c:1"]) == {
        "example.com/a:1": 50,
        "example.com/b:1": 70,
    }
    assert Image.objects.count() == 2


@pytest.mark.parametrize(
    "name, full",
    [
        ("python:3", "docker.io/library/python:3"),
        ("team/a:1", "docker.io/team/a:1"),
        ("docker.io/python:3", "docker.io/library/python:3"),
        ("docker.io/team/a:1", "docker.io/team/a:1"),
        ("python", "docker.io/library/python:latest"),
        ("registry:5000/a", "registry:5000/a:latest"),
        ("localhost/a:1", "localhost/a:1"),
        ("registry:5000/a:1", "registry:5000/a:1"),
        ("example.com/a@sha256:0", "example.com/a@sha256:0"),
    ],
)
def test_an_image_has_one_full_name(name, full):
    assert canonical(name) == full


def test_no_name_is_longer_than_agents_take_once_all_that_is_meant_is_written_out():
    assert NAME.fullmatch(canonical("a" * LONGEST_NAME))
