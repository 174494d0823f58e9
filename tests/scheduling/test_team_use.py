"""What a team has of the cluster: now, day by day, and how long it waited; for its own people only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from controlplane.accounts.models import Role
from controlplane.base import clock
from controlplane.policy.service import activate
from queues.models import Job, MemberShare, Queue, TeamQuota
from scheduling.models import Phase, Placement
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


def client_of(user) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


@pytest.fixture
def team():
    make.make_queues()
    return make.make_team()


@pytest.fixture
def lead(team):
    return make.make_user("lea", team=team, lead=True)


@pytest.fixture
def member(team):
    return make.make_user("mel", team=team)


def held(user, node, *, since, until, devices=1, cores=2, queue="training") -> Placement:
    """A placement that ended."""
    job = make.make_job(user, queue=queue, resources={"cores": 1})
    return Placement.objects.create(
        job=job,
        attempt=1,
        node=node,
        phase=Phase.RELEASED,
        fence=1,
        device_milli=1000 * devices,
        cpus=list(range(cores)),
        assigned_at=since,
        ended_at=until,
    )


def use(user, query="", *, slug="vision"):
    answer = client_of(user).get(f"/api/v1/teams/{slug}/use{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_now_tells_what_is_held_by_queue_and_by_member(lead, member):
    for index in range(2):
        make.make_device(make.make_node(cores=4), index=index)
    make.make_job(member, resources={"devices": 1})
    make.make_job(lead, queue="offline", resources={"cores": 2})
    make.make_job(member, resources={"devices": 8})
    make.run_cycle()
    assert use(lead)["now"] == [
        {"queue": "training", "device_milli": 1000, "core_milli": 0, "running": 1, "waiting": 1},
        {"queue": "offline", "device_milli": 0, "core_milli": 2000, "running": 1, "waiting": 0},
    ]
    quota = TeamQuota.objects.create(
        queue=Queue.objects.get(name="training"), team=make.make_team(), quota_milli=4000
    )
    MemberShare.objects.create(quota=quota, user=member, share_milli=1500)
    rows = client_of(lead).get("/api/v1/teams/vision/use/members").json()["results"]
    assert rows == [
        {
            "username": "mel", "role": "member", "device_milli": 1000, "core_milli": 0, "running": 1, "waiting": 1,
            "shares": [{"quota": quota.pk, "queue": "training", "model": None, "share_milli": 1500}],
        },
        {
            "username": "lea", "role": "lead", "device_milli": 0, "core_milli": 2000, "running": 1, "waiting": 0,
            "shares": [],
        },
    ]  # fmt: skip


def test_days_are_counted_by_the_clocks_of_the_policys_zone(lead, monkeypatch):
    """Berlin, the night of 29 March 2026: that day has 23 hours, and what is held over midnight is divided."""
    activate("valley-window: {time-zone: Europe/Berlin}", author=None, reason="zone")
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 3, 30, 12, tzinfo=UTC))
    node = make.make_node()
    # All of the 29th and two hours around it, on two devices.
    held(
        lead,
        node,
        since=datetime(2026, 3, 28, 22, tzinfo=UTC),
        until=datetime(2026, 3, 29, 23, tzinfo=UTC),
        devices=2,
    )
    held(
        lead,
        node,
        queue="offline",
        devices=0,
        cores=4,
        since=datetime(2026, 3, 30, 0, tzinfo=UTC),
        until=datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
    )
    found = use(lead, "?days=3")
    assert found["time_zone"] == "Europe/Berlin"
    assert [(day["day"], day["device_hours"], day["core_hours"]) for day in found["days"]] == [
        ("2026-03-28", 2.0, 0.0),
        ("2026-03-29", 46.0, 0.0),
        ("2026-03-30", 2.0, 2.0),
    ]
    assert found["days"][2]["queues"] == [
        {"queue": "training", "device_hours": 2.0, "core_hours": 0.0},
        {"queue": "offline", "device_hours": 0.0, "core_hours": 2.0},
    ]
    earlier = use(lead, "?days=2&until=2026-03-28")
    assert [day["device_hours"] for day in earlier["days"]] == [None, 2.0]


def test_what_runs_counts_up_to_now(lead, monkeypatch):
    now = datetime(2026, 5, 4, 12, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: now)
    make.make_device(make.make_node())
    make.make_job(lead, resources={"devices": 1})
    make.run_cycle()
    Placement.objects.update(assigned_at=now - timedelta(hours=3))
    assert use(lead, "?days=1")["days"][0]["device_hours"] == 3.0


def test_nothing_is_known_before_anything_was_placed(lead):
    found = use(lead, "?days=2")
    assert found["known_since"] is None and found["now"] == [] and found["waits"] == []
    assert [day["device_hours"] for day in found["days"]] == [None, None]


def test_waits_are_those_of_the_teams_own_jobs(lead):
    stranger = make.make_user("eve", team=make.make_team("speech"))
    for user, waited_s in ((lead, 10), (lead, 30), (stranger, 500)):
        job = make.make_job(user)
        Job.objects.filter(pk=job.pk).update(started_at=clock.now(), pending_ms=1000 * waited_s)
    assert use(lead)["waits"] == [
        {"queue": "training", "count": 2, "mean": 20.0, "p50": 20.0, "p95": 29.0, "p99": 29.8}
    ]


def test_a_foreign_team_is_not_found(lead, member):
    stranger = make.make_user("eve", team=make.make_team("speech"), lead=True)
    for path in ("use", "use/members"):
        assert client_of(stranger).get(f"/api/v1/teams/vision/{path}").status_code == 404
        assert client_of(member).get(f"/api/v1/teams/vision/{path}").status_code == 200
        admin = make.make_user(f"adm-{path[-3:]}", role=Role.ADMIN)
        assert client_of(admin).get(f"/api/v1/teams/vision/{path}").status_code == 200


@pytest.mark.parametrize(
    ("query", "field"), [("?days=0", "days"), ("?days=93", "days"), ("?until=soon", "until")]
)
def test_what_is_wrong_names_its_field(lead, query, field):
    answer = client_of(lead).get(f"/api/v1/teams/vision/use{query}")
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_more_members_cost_no_more_queries(lead, member):
    def counted() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client_of(lead).get("/api/v1/teams/vision/use/members").status_code == 200
        return len(queries)

    quota = TeamQuota.objects.create(
        queue=Queue.objects.get(name="training"), team=make.make_team(), quota_milli=9000
    )
    MemberShare.objects.create(quota=quota, user=member, share_milli=1)
    few = counted()
    for number in range(5):
        user = make.make_user(f"m{number}", team=make.make_team())
        MemberShare.objects.create(quota=quota, user=user, share_milli=1)
        make.make_job(user)
    assert counted() == few
