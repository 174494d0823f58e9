"""Who may submit for whom, and what the policy does to queues."""

from __future__ import annotations

import pytest

from controlplane.accounts.models import Membership, Role
from controlplane.base.problems import Problem
from controlplane.policy.active import ActivePolicy
from controlplane.policy.reading import read_document
from queues.models import Job, Queue
from queues.operations import sync_queues
from queues.submission import Submission, submit
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


def refused(user, **changes) -> list[tuple[str, str]]:
    with pytest.raises(Problem) as caught:
        submit(Submission(user, make.body(**changes)))
    return [(e.field, e.code) for e in caught.value.errors]


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def test_the_only_team_is_presumed(user):
    assert make.make_job(user).team.slug == "vision"


def test_who_is_in_several_teams_says_which(user):
    Membership.objects.create(user=user, team=make.make_team("speech"))
    assert refused(user) == [("team", "team-needed")]
    assert make.make_job(user, team="speech").team.slug == "speech"


def test_foreign_and_unknown_teams_look_the_same(user):
    make.make_team("others")
    assert refused(user, team="others") == refused(user, team="nobody") == [("team", "not-found")]


def test_without_a_team_nothing_is_submitted(user):
    loner = make.make_user("loner")
    assert refused(loner) == [("team", "no-team")]


def test_an_admin_submits_for_any_team(user):
    admin = make.make_user("root", role=Role.ADMIN)
    assert make.make_job(admin, team="vision").owner == admin


def test_a_closed_queue_takes_nothing(user):
    Queue.objects.filter(name="training").update(closed=True)
    assert refused(user) == [("queue", "queue-closed")]


@pytest.mark.parametrize("key", ["", "x" * 201, "ä", "a\nb"])
def test_odd_keys_are_refused(user, key):
    with pytest.raises(Problem):
        submit(Submission(user, make.body(), key))
    assert not Job.objects.exists()


def test_a_repeat_is_answered_not_judged_again(user):
    """What the first one met may have changed since: the queue, the team, the policy."""
    first = submit(Submission(user, make.body(), "once"))
    Queue.objects.filter(name="training").update(closed=True)
    Membership.objects.create(user=user, team=make.make_team("speech"))
    again = submit(Submission(user, make.body(), "once"))
    assert (first.created, again.created, again.job) == (True, False, first.job)


@pytest.mark.parametrize("change", [{"name": "other"}, {"name": "\ud800"}, {"priority": 2**70}])
def test_a_key_with_another_body_is_refused_before_the_body_is_judged(user, change):
    submit(Submission(user, make.body(), "once"))
    with pytest.raises(Problem) as caught:
        submit(Submission(user, make.body(**change), "once"))
    assert (caught.value.status, caught.value.code) == (422, "idempotency-key-reused")


def test_who_left_the_team_gets_no_job_for_an_old_key(user):
    submit(Submission(user, make.body(team="vision"), "once"))
    Membership.objects.all().delete()
    with pytest.raises(Problem):
        submit(Submission(user, make.body(team="vision"), "once"))


def test_who_changed_the_team_gets_no_foreign_job_for_an_old_key(user):
    submit(Submission(user, make.body(), "once"))
    Membership.objects.all().delete()
    Membership.objects.create(user=user, team=make.make_team("speech"))
    with pytest.raises(Problem) as caught:
        submit(Submission(type(user).objects.get(pk=user.pk), make.body(), "once"))
    assert (caught.value.status, caught.value.code) == (422, "idempotency-key-reused")
    assert Job.objects.count() == 1


def test_queues_follow_the_policy(user):
    text = """
scheduler:
  queue-policy:
    queues:
      - {name: training, priority: 5, quota: 25%, preemptable: true}
      - {name: night, priority: 1}
"""
    sync_queues(ActivePolicy(2, read_document(text)))
    rows = {
        q.name: (q.priority, q.quota_ppm, q.preemptable, q.closed, q.policy_number)
        for q in Queue.objects.all()
    }
    assert rows["training"] == (5, 250_000, True, False, 2)
    assert rows["night"] == (1, None, False, False, 2)
    assert rows["offline"][3] and rows["inference"][3]
    make.make_queues()
    assert not Queue.objects.get(name="offline").closed and Queue.objects.get(name="night").closed
