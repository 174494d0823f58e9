"""Templates of a team: who may, what is refused, and what becomes of the requests that name them."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import ApiToken, AuditEntry, Role, Scope
from controlplane.base import clock
from controlplane.base.problems import Problem
from queues import templates
from queues.models import Job, JobStatus, JobTemplate
from queues.templates import drop_template, edit_template
from scheduling.estimates import expected_runs
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db

SPEC = {
    "queue": "offline",
    "resources": {"cores": 2, "memory": "1Gi"},
    "env": {"A": "1"},
    "time_limit_s": 600,
}


def client_of(user) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


@pytest.fixture
def member():
    make.make_queues()
    return make.make_user("mel", team=make.make_team())


@pytest.fixture
def lead(member):
    return make.make_user("lea", team=make.make_team(), lead=True)


def made(user, *, status=201, **changes):
    body = {"team": "vision", "name": "nightly", "spec": SPEC, **changes}
    answer = client_of(user).post("/api/v1/job-templates", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def submitted(user, *, status=201, dry=False, **body):
    address = f"/api/v1/jobs/submit{'?dry_run=1' if dry else ''}"
    answer = client_of(user).post(address, body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def fields(problem) -> list[str]:
    return [error["field"] for error in problem["errors"]]


def test_a_template_is_made_changed_and_removed(member, lead):
    row = made(member, description="every night")
    assert (row["team"], row["name"], row["owner"], row["spec"]) == ("vision", "nightly", "mel", SPEC)
    address = f"/api/v1/job-templates/{row['id']}"
    etag = client_of(lead).get(address)["ETag"]
    changed = client_of(lead).patch(address, {"name": "weekly"}, format="json", HTTP_IF_MATCH=etag)
    assert changed.status_code == 200 and changed.json()["name"] == "weekly"
    late = client_of(member).patch(address, {"name": "daily"}, format="json", HTTP_IF_MATCH=etag)
    assert late.status_code == 412
    listed = client_of(member).get("/api/v1/job-templates?team=vision&name=weekly").json()["results"]
    assert [one["id"] for one in listed] == [row["id"]]
    assert client_of(member).delete(address).status_code == 204
    assert client_of(member).get(address).status_code == 404
    actions = (
        AuditEntry.objects.filter(target_type="template").order_by("pk").values_list("action", "actor_name")
    )
    assert list(actions) == [("template-make", "mel"), ("template-edit", "lea"), ("template-drop", "mel")]


def test_others_of_the_team_use_it_and_only_its_owner_and_leads_change_it(member, lead):
    row = made(member)
    address = f"/api/v1/job-templates/{row['id']}"
    mate = make.make_user("mo", team=make.make_team())
    assert client_of(mate).get(address).status_code == 200
    assert client_of(mate).delete(address).status_code == 403
    stranger = make.make_user("eve", team=make.make_team("speech"), lead=True)
    assert client_of(stranger).get(address).status_code == 404
    assert client_of(stranger).delete(address).status_code == 404
    assert client_of(stranger).get("/api/v1/job-templates").json()["results"] == []
    assert fields(made(stranger, status=400)) == ["team"]
    assert submitted(mate, template="nightly", command=["true"])["template"] == "nightly"
    assert fields(submitted(stranger, template="nightly", command=["true"], status=400)) == ["template"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"queue": "nights"}, "spec.queue"),
        ({"resources": {"cores": 0}}, "spec.resources.cores"),
        ({"team": "vision"}, "spec.team"),
        ({"template": "other"}, "spec.template"),
        ({"colour": "red"}, "spec.colour"),
        ({"colour": None}, "spec.colour"),
    ],
)
def test_a_form_that_no_request_could_have_names_its_field(member, spec, field):
    assert fields(made(member, spec=spec, status=400)) == [field]
    row = made(member)
    answer = client_of(member).patch(f"/api/v1/job-templates/{row['id']}", {"spec": spec}, format="json")
    assert fields(answer.json()) == [field]


def test_one_name_a_team_and_not_too_many(member, monkeypatch):
    made(member)
    assert made(member, status=409)["code"] == "template-exists"
    monkeypatch.setattr("queues.templates.MOST_TEMPLATES", 1)
    assert made(member, name="other", status=409)["code"] == "too-many-templates"


def test_what_somebody_removed_meanwhile_is_not_found_and_told_once(member):
    made(member)
    row, again = JobTemplate.objects.get(), JobTemplate.objects.get()
    drop_template(member, row)
    for late in (
        lambda: edit_template(member, again, {"name": "weekly"}, check=lambda seen: None),
        lambda: drop_template(member, again),
    ):
        with pytest.raises(Problem) as caught:
            late()
        assert caught.value.status == 404
    assert AuditEntry.objects.filter(action="template-drop").count() == 1


def test_a_version_is_compared_with_what_is_there_when_it_is_changed(member, monkeypatch):
    address = f"/api/v1/job-templates/{made(member)['id']}"
    etag, locked = client_of(member).get(address)["ETag"], templates._locked

    def changed_first(template):
        monkeypatch.setattr(templates, "_locked", locked)
        edit_template(member, template, {"description": "mine"}, check=lambda seen: None)
        return locked(template)

    monkeypatch.setattr(templates, "_locked", changed_first)
    late = client_of(member).patch(address, {"description": "yours"}, format="json", HTTP_IF_MATCH=etag)
    assert late.status_code == 412


def test_a_token_that_only_submits_uses_templates_and_changes_none(member, lead):
    address = f"/api/v1/job-templates/{made(member)['id']}"
    for user in (member, lead):
        _row, secret = ApiToken.objects.create(user=user, name="ci", scopes=[Scope.READ, Scope.SUBMIT])
        pipeline = APIClient()
        pipeline.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        assert pipeline.patch(address, {"description": "x"}, format="json").status_code == 403
        body = {"template": "nightly", "command": ["true"]}
        assert pipeline.post("/api/v1/jobs/submit", body, format="json").status_code == 201


@pytest.mark.parametrize("field", ["template", "team"])
@pytest.mark.parametrize("value", ["a\x00b", "\ud800", ["vision"], 7, {}])
def test_no_name_of_a_template_or_its_team_is_the_servers_fault(member, field, value):
    made(member)
    body = {"template": "nightly", "command": ["true"], field: value}
    answer = client_of(member).post("/api/v1/jobs/submit", json.dumps(body), content_type="application/json")
    assert answer.status_code == 400 and fields(answer.json()) == [field]


def test_a_template_that_is_not_there_is_called_one(member):
    (error,) = submitted(member, template="weekly", command=["true"], status=400)["errors"]
    assert (error["code"], "template" in error["message"]) == ("no-such-template", True)


def test_a_request_says_only_what_differs(member):
    made(member)
    job = submitted(member, template="nightly", command=["python3", "go.py"], resources={"cores": 4})
    spec = job["spec"]
    assert (job["queue"], job["team"], spec["time_limit_s"], spec["env"]) == (
        "offline",
        "vision",
        600,
        {"A": "1"},
    )
    assert (spec["resources"]["cores"], spec["resources"]["memory"]) == (4, 1024)
    other = submitted(member, template="nightly", command=["true"], time_limit_s=None, env={})
    assert other["spec"]["time_limit_s"] is None and other["spec"]["env"] == {}
    assert submitted(member, template=None, queue="training", command=["true"])["template"] is None
    assert (
        submitted(member, template="nightly", command=["true"], dry=True, status=200)["spec"]["queue"]
        == "offline"
    )
    assert fields(submitted(member, template="nightly", status=400)) == ["command"]
    assert fields(submitted(member, template=7, command=["true"], status=400)) == ["template"]


def test_a_template_of_two_teams_needs_the_team(member):
    made(member)
    admin = make.make_user("adm", role=Role.ADMIN)
    make.make_team("speech")
    made(admin, team="speech", spec={"queue": "training"})
    assert fields(submitted(admin, template="nightly", command=["true"], status=400)) == ["team"]
    assert submitted(admin, template="nightly", team="speech", command=["true"])["queue"] == "training"


def ended(user, *, ran_s: int, **body) -> None:
    job = Job.objects.get(pk=submitted(user, command=["true"], time_limit_s=None, **body)["id"])
    now = clock.now()
    Job.objects.filter(pk=job.pk).update(
        status=JobStatus.SUCCEEDED, started_at=now - timedelta(seconds=ran_s), finished_at=now
    )


def test_jobs_of_one_template_are_expected_to_run_as_long(member):
    """Whatever they are called; a job that has none of its template's history goes by its name."""
    made(member)
    made(member, name="fresh")
    ended(member, template="nightly", name="monday", ran_s=100)
    ended(member, queue="offline", name="tuesday", ran_s=500)
    wanted = {
        name: submitted(member, command=["true"], time_limit_s=None, queue="offline", **body)["id"]
        for name, body in {
            "by-template": {"template": "nightly", "name": "tuesday"},
            "by-name": {"template": "fresh", "name": "tuesday"},
            "plain": {"name": "tuesday"},
            "unknown": {"name": "friday"},
        }.items()
    }
    runs = expected_runs(list(wanted.values()))
    assert {name: runs[job].runs_ms for name, job in wanted.items()} == {
        "by-template": 100_000,
        "by-name": 500_000,
        "plain": 500_000,
        "unknown": None,
    }
    assert JobTemplate.objects.count() == 2
