"""The demo: its rows are safe to repeat, its jobs name the simulated nodes, and it keeps them as busy as meant."""

import random
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import transaction

from agent.simulation_facts import node_facts
from agent.simulation_spec import mixed_cluster
from controlplane.accounts.models import Membership, Team, User
from controlplane.alerts.models import Alert
from controlplane.base import clock
from controlplane.embedded.demo.feeder import live_by_pool, top_up
from controlplane.embedded.demo.rows import NODES, PEOPLE, write_demo_rows
from controlplane.embedded.demo.shapes import (
    AIMS,
    BY_NAME,
    KINDS,
    SHORT_JOBS,
    WHOLE,
    Live,
    Pool,
    next_kind,
    request_for,
)
from controlplane.policy.active import active_policy
from inventory.models import EnrolmentToken, Node, NodeContact
from inventory.node_states import heard_from
from inventory.operations import rest_simulated_nodes
from inventory.probing import probe
from inventory.selectors import node_rows, node_summary
from queues.models import Job
from queues.submission import Submission, accept
from scheduling.engine.types import SIMULATED
from scheduling.models import Placement
from tests.scheduling.factories import make_job, make_node, make_queues, make_team, make_user, run_cycle


def test_there_is_a_token_for_every_simulated_node() -> None:
    assert len(mixed_cluster().nodes) == NODES


def test_simulated_nodes_carry_the_label_that_keeps_other_jobs_off() -> None:
    for node in mixed_cluster().nodes:
        facts = node_facts(node, "0" * 32)
        assert facts.simulated and SIMULATED in facts.labels.items()


def test_kinds_are_told_apart_by_name_and_owned_by_people_of_their_team() -> None:
    assert len(BY_NAME) == len(KINDS)
    assert {kind.pool for kind in KINDS} == set(Pool)
    assert all(kind.owner in PEOPLE[kind.team] for kind in KINDS)


def test_the_same_history_gives_the_same_job() -> None:
    def draw() -> dict:
        dice = random.Random("7")
        kind = next_kind(Pool.V100, Live(), dice=dice)
        assert kind is not None
        return request_for(kind, number=3, dice=dice)

    assert draw() == draw()


def test_a_pool_with_enough_to_do_gets_nothing() -> None:
    aim = AIMS[Pool.T4]
    dice = random.Random(1)
    assert next_kind(Pool.T4, Live(waiting=aim.waiting), dice=dice) is None
    assert next_kind(Pool.T4, Live(load_milli=aim.load_milli), dice=dice) is None


def test_jobs_grow_longer_with_their_number() -> None:
    kind = BY_NAME["vit-train"]
    early, late = (
        request_for(kind, number=number, dice=random.Random(5))["command"][2]
        for number in (1, 10 * SHORT_JOBS)
    )
    first, last = (int(text.split("sleep ")[1].split(";")[0]) for text in (early, late))
    assert last == 10 * first and kind.seconds[0] <= first <= kind.seconds[1]


@pytest.fixture
def rows(db: None, tmp_path: Path) -> Path:
    call_command("load_policy", verbosity=0)
    write_demo_rows(tmp_path / "demo" / "tokens")
    return tmp_path / "demo" / "tokens"


def test_rows_are_safe_to_repeat(rows: Path) -> None:
    first = rows.read_text().split()
    write_demo_rows(rows)
    second = rows.read_text().split()
    assert len(second) == NODES and not set(first) & set(second)
    assert EnrolmentToken.objects.count() == NODES
    assert rows.stat().st_mode & 0o777 == 0o600
    assert Team.objects.count() == 3 and User.objects.count() == Membership.objects.count() == 5
    assert not any(user.has_usable_password() for user in User.objects.all())


def test_one_job_for_every_pool_at_a_time_and_all_ask_for_simulated_nodes(rows: Path) -> None:
    made = top_up()
    assert Counter(BY_NAME[job.name].pool for job in made) == Counter(Pool)
    assert all(job.spec["node_labels"] == dict([SIMULATED]) for job in made)
    assert live_by_pool()[Pool.NOWHERE] == Live(load_milli=1, waiting=1)


def test_it_stops_when_enough_wait(rows: Path) -> None:
    for _ in range(20):
        top_up()
    assert not top_up()
    waiting = Counter(BY_NAME[name].pool for name in Job.objects.values_list("name", flat=True))
    assert all(waiting[pool] <= aim.waiting for pool, aim in AIMS.items())


def test_every_kind_is_a_request_that_the_server_takes(rows: Path) -> None:
    for kind in KINDS:
        owner = User.objects.get(username=kind.owner)
        accepted = accept(Submission(user=owner, raw=request_for(kind, number=0, dice=random.Random(0))))
        assert accepted.spec.resources.wants_devices == (kind.pool is not Pool.CPU)
        whole = kind.load_milli % WHOLE == 0
        assert (
            kind.pool in (Pool.CPU, Pool.NOWHERE)
            or not whole
            or accepted.spec.resources.devices
            in (
                0,
                kind.load_milli // WHOLE,
            )
        )


def test_without_a_demo_its_nodes_are_at_rest_until_they_are_simulated_again(rows: Path) -> None:
    make_queues()
    kept, node = make_node(), make_node(simulated=True)
    for one in (kept, node):
        NodeContact.objects.create(node=one, received_at=clock.now())
    job = make_job(make_user(team=make_team()), node_labels=dict([SIMULATED]))
    run_cycle()
    assert Placement.objects.get().node_id == node.pk
    NodeContact.objects.filter(node=node).update(received_at=clock.now() - timedelta(days=1))
    assert rest_simulated_nodes() == 1 and rest_simulated_nodes() == 0
    job.refresh_from_db()
    assert (job.status, Placement.objects.get().phase) == ("pending", "lost")
    probe(active_policy().health)
    found = node_summary(node_rows().get(pk=node.pk))
    assert found["state"] == "maintenance" and found["state_reason"].startswith("Simulated, and nothing")
    assert (
        Node.objects.get(pk=kept.pk).state == "ready" and not Alert.objects.filter(cleared_at=None).exists()
    )
    with transaction.atomic():
        heard_from(Node.objects.get(pk=node.pk))
    assert Node.objects.values_list("state", "state_reason").get(pk=node.pk) == ("ready", "")
