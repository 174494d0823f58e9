"""Quotas of teams and shares of members through the API: who may, what is audited, and what an edit would mean."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import AuditEntry, Role
from controlplane.base.problems import Problem
from queues import team_quotas
from queues.models import Job, JobStatus, MemberShare, TeamQuota
from scheduling.models import Slice
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


@pytest.fixture
def admin():
    return client_of(make.make_user("adm", role=Role.ADMIN))


def cards(count: int) -> None:
    for _ in range(count):
        make.make_device(make.make_node(cores=4))


def set_quota(client, milli: int, *, dry: bool = False, status: int | None = None, **more):
    body = {"queue": "training", "team": "vision", "quota_milli": milli, **more}
    answer = client.post(f"/api/v1/team-quotas{'?dry_run=1' if dry else ''}", body, format="json")
    assert answer.status_code == (status or (200 if dry else 201)), answer.content
    return answer.json()


def share(client, quota: int, name: str, milli: int, *, dry: bool = False):
    address = f"/api/v1/team-quotas/{quota}/shares/{name}{'?dry_run=1' if dry else ''}"
    return client.put(address, {"share_milli": milli}, format="json")


def test_an_admin_sets_a_quota_and_the_lead_divides_it(admin, lead, member):
    quota = set_quota(admin, 4000, model="a100")
    assert quota == {
        "id": quota["id"], "queue": "training", "team": "vision", "model": "a100", "quota_milli": 4000, "shares": [],
    }  # fmt: skip
    answer = share(client_of(lead), quota["id"], "mel", 3000)
    assert answer.status_code == 201
    assert answer.json()["shares"] == [{"username": "mel", "share_milli": 3000}]
    again = set_quota(admin, 5000, model="a100")
    assert again["id"] == quota["id"] and again["quota_milli"] == 5000
    listed = client_of(member).get("/api/v1/team-quotas?queue=training").json()["results"]
    assert [row["id"] for row in listed] == [quota["id"]]
    actions = AuditEntry.objects.order_by("pk").values_list("action", "actor_name")
    assert list(actions) == [
        ("team-quota-set", "adm"),
        ("member-share-set", "lea"),
        ("team-quota-set", "adm"),
    ]
    assert AuditEntry.objects.last().details["before_milli"] == 4000


def test_shares_are_together_no_more_than_the_quota(admin, lead, member):
    quota = set_quota(admin, 4000)["id"]
    assert share(client_of(lead), quota, "mel", 3000).status_code == 201
    refused = share(client_of(lead), quota, "lea", 1001)
    assert (refused.status_code, refused.json()["code"]) == (409, "shares-exceed-quota")
    assert refused.json()["params"] == {"left_milli": 1000}
    assert share(client_of(lead), quota, "lea", 1000).status_code == 201
    assert set_quota(admin, 3999, status=409)["params"] == {"given_milli": 4000}
    stranger = make.make_user("eve", team=make.make_team("speech"))
    assert share(client_of(lead), quota, stranger.username, 0).json()["code"] == "not-a-member"


def test_a_lead_touches_no_other_teams_quota_and_no_quota_itself(admin, lead, member, team):
    """U4: of a foreign team's quota a lead does not even learn that it is there."""
    foreign = make.make_user("eve", team=make.make_team("speech"), lead=True)
    quota = set_quota(admin, 4000)["id"]
    assert share(client_of(foreign), quota, "mel", 1).status_code == 404
    assert client_of(foreign).get(f"/api/v1/team-quotas/{quota}").status_code == 404
    assert client_of(foreign).get("/api/v1/team-quotas").json()["results"] == []
    assert share(client_of(member), quota, "mel", 1).status_code == 403
    assert client_of(lead).delete(f"/api/v1/team-quotas/{quota}").status_code == 403
    set_quota(client_of(lead), 9000, status=403)
    assert TeamQuota.objects.get().quota_milli == 4000 and not MemberShare.objects.exists()


def test_shares_and_quotas_can_be_taken_back(admin, lead, member):
    quota = set_quota(admin, 4000)["id"]
    share(client_of(lead), quota, "mel", 1000)
    address = f"/api/v1/team-quotas/{quota}/shares/mel"
    assert client_of(lead).delete(address).status_code == 204
    assert client_of(lead).delete(address).status_code == 404
    assert admin.delete(f"/api/v1/team-quotas/{quota}").status_code == 204
    assert not TeamQuota.objects.exists()


def test_an_edit_tells_first_who_would_be_over_and_who_would_wait(admin, member):
    """Three run, two wait for room; a quota of two devices leaves what runs, and nobody of the team starts."""
    cards(3)
    for _ in range(3):
        make.make_job(member, resources={"devices": 1})
    make.run_cycle()
    cards(2)
    waiting = [make.make_job(member, name=f"w{n}", resources={"devices": 1}) for n in range(2)]
    found = set_quota(admin, 2000, dry=True)
    assert not TeamQuota.objects.exists()
    (over,) = found["over"]
    assert (over["kind"], over["queue"], over["team"]) == ("team", "training", "vision")
    assert (over["cap_milli"], over["held_milli"], over["unit"]) == (2000, 3000, "device-milli")
    assert found["starts_total"] == 0 and found["waits_total"] == 2
    assert [job["job"] for job in found["waits"]] == [job.pk for job in waiting]
    set_quota(admin, 2000)
    make.run_cycle()
    assert Slice.objects.count() == 3
    more = set_quota(admin, 5000, dry=True)
    assert (more["over"], more["starts_total"], more["waits_total"]) == ([], 2, 0)
    set_quota(admin, 5000)
    make.run_cycle()
    assert Job.objects.filter(status=JobStatus.STARTING).count() == 5


def test_a_share_tells_its_consequence_to_the_lead(admin, lead, member):
    cards(2)
    for _ in range(2):
        make.make_job(member, resources={"devices": 1})
    quota = set_quota(admin, 2000)["id"]
    found = share(client_of(lead), quota, "mel", 1000, dry=True).json()
    assert (found["over"], found["waits_total"]) == ([], 1) and not MemberShare.objects.exists()


def test_a_lead_is_told_nothing_of_other_teams_that_are_over(admin, lead, member):
    cards(2)
    for _ in range(2):
        make.make_job(member, resources={"devices": 1})
    make.run_cycle()
    quota = set_quota(admin, 1000)["id"]
    share(client_of(lead), quota, "mel", 1000)
    spy = make.make_user("spy", team=make.make_team("speech"), lead=True)
    theirs = set_quota(admin, 1000, team="speech")["id"]
    assert share(client_of(spy), theirs, "spy", 500, dry=True).json()["over"] == []
    seen = share(client_of(lead), quota, "mel", 1000, dry=True).json()["over"]
    assert [(over["kind"], over["team"]) for over in seen] == [("team", "vision"), ("member", "vision")]


def test_what_was_taken_away_meanwhile_is_not_found_and_told_once(admin, member):
    set_quota(admin, 2000)
    row, again = TeamQuota.objects.get(), TeamQuota.objects.get()
    team_quotas.drop_team_quota(member, row)
    for late in (
        lambda: team_quotas.set_member_share(member, again, member, share_milli=1),
        lambda: team_quotas.drop_team_quota(member, again),
    ):
        with pytest.raises(Problem) as caught:
            late()
        assert caught.value.status == 404
    assert AuditEntry.objects.filter(action="team-quota-drop").count() == 1


def test_the_queues_of_a_document_tell_their_consequences(admin, member):
    cards(4)
    for _ in range(4):
        make.make_job(member, resources={"devices": 1})
    make.run_cycle()
    make.make_job(member, resources={"devices": 1})
    text = "scheduler: {queue-policy: {queues: [{name: training, priority: 70, quota: 50%}]}}"
    answer = admin.post("/api/v1/queues/preview", {"document": text}, format="json")
    assert answer.status_code == 200, answer.content
    (over,) = answer.json()["over"]
    assert (over["kind"], over["queue"], over["cap_milli"], over["held_milli"]) == (
        "queue",
        "training",
        2000,
        4000,
    )
    bad = admin.post("/api/v1/queues/preview", {"document": "scheduler: ["}, format="json")
    assert bad.status_code == 400 and bad.json()["errors"][0]["field"] == "document"
    assert (
        client_of(member).post("/api/v1/queues/preview", {"document": text}, format="json").status_code == 403
    )
