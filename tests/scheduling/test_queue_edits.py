"""Caps of queues through the API: who may, what would follow, and the version of the policy that each edit is."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import AuditEntry, Role
from controlplane.policy import service
from controlplane.policy.active import active_text
from controlplane.policy.models import PolicyVersion
from controlplane.policy.service import activate
from queues.models import Job, JobStatus, Queue
from queues.operations import sync_queues
from scheduling.models import Slice
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db

TEXT = """\
queue-policy:
  queues:
    - {name: inference, priority: 100, quota: 30%}
    - {name: training, priority: 70}  # no cap yet
    - {name: offline, priority: 30, quota: 20%, preemptable: true}
"""


def client_of(user) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


@pytest.fixture
def admin():
    return client_of(make.make_user("adm", role=Role.ADMIN))


@pytest.fixture(autouse=True)
def policy(monkeypatch):
    monkeypatch.setattr(service, "_followers", [sync_queues])
    activate(TEXT, author=None, reason="first")


@pytest.fixture
def member():
    return make.make_user("mel", team=make.make_team())


def edit(client, queue="training", *, dry=False, status=None, etag=None, **body):
    body = body if dry else {"reason": "a test", **body}
    headers = {"HTTP_IF_MATCH": etag} if etag else {}
    address = f"/api/v1/queues/{queue}{'?dry_run=1' if dry else ''}"
    answer = client.patch(address, body, format="json", **headers)
    assert answer.status_code == (status or (200 if dry else 201)), answer.content
    return answer.json()


def test_an_edit_is_a_new_version_in_which_nothing_else_changes(admin):
    found = edit(admin, quota_percent=45.5)
    assert (found["name"], found["quota_percent"]) == ("training", 45.5)
    version = PolicyVersion.objects.get(active=True)
    assert (version.number, version.author_name, version.reason) == (2, "adm", "a test")
    assert version.document == TEXT.replace("name: training, ", "name: training, quota: 45.5%, ")
    assert Queue.objects.get(name="training").quota_ppm == 455_000
    entry = AuditEntry.objects.get(action="queue-edit")
    assert entry.details == {
        "queue": "training", "policy": 2, "reason": "a test", "quota": "45.5%", "before": {"quota": None},
    }  # fmt: skip
    assert edit(admin, quota_percent=None)["quota_percent"] is None


def test_a_model_whose_name_no_policy_can_hold_is_named(admin):
    make.make_device(make.make_node(cores=4))
    (error,) = edit(admin, model_caps={"NVIDIA A100-PCIE-40GB": 50}, status=400)["errors"]
    assert error["field"] == "model_caps" and "letters, digits" in error["message"]


def test_an_edit_tells_first_who_would_be_over_and_who_could_start(admin, member):
    """Three of four devices run: at a half they are over and stay; without the cap the fourth starts."""
    for _ in range(4):
        make.make_device(make.make_node(cores=4))
    for _ in range(3):
        make.make_job(member, resources={"devices": 1})
    make.run_cycle()
    found = edit(admin, dry=True, quota_percent=50)
    (over,) = found["over"]
    assert (over["kind"], over["queue"], over["cap_milli"], over["held_milli"]) == (
        "queue",
        "training",
        2000,
        3000,
    )
    assert active_text()[0] == 1
    edit(admin, quota_percent=50)
    job = make.make_job(member, resources={"devices": 1})
    make.run_cycle()
    assert Slice.objects.count() == 3
    assert [one["job"] for one in edit(admin, dry=True, quota_percent=100)["starts"]] == [job.pk]
    edit(admin, quota_percent=100)
    make.run_cycle()
    assert Job.objects.filter(status=JobStatus.STARTING).count() == 4


def test_caps_of_models_and_borrowing_are_set_and_shown(admin):
    make.make_device(make.make_node())
    found = edit(admin, "offline", model_caps={"nvidia-a100": 12.5}, borrow=True)
    assert (found["model_caps"], found["borrow"]) == ({"nvidia-a100": 12.5}, True)
    listed = {row["name"]: row for row in admin.get("/api/v1/queues").json()}
    assert listed["offline"]["model_caps"] == {"nvidia-a100": 12.5}
    assert listed["offline"]["borrowed_device_milli"] == 0


@pytest.mark.parametrize(
    ("queue", "body", "field"),
    [
        ("training", {"quota_percent": 101}, "quota_percent"),
        ("training", {}, "quota_percent"),
        ("training", {"borrow": True}, "borrow"),
        ("training", {"model_caps": {"nvidia-a100": 120}}, "model_caps.nvidia-a100"),
        ("training", {"model_caps": {"no such": 10}}, "model_caps.no such"),
        ("training", {"priority": 3}, "priority"),
    ],
)
def test_what_is_wrong_names_its_field(admin, queue, body, field):
    for dry in (True, False):
        found = edit(admin, queue, dry=dry, status=400, **body)
        assert [error["field"] for error in found["errors"]] == [field], found
        assert all(error["message"] for error in found["errors"])
    assert active_text()[0] == 1


def test_a_reason_is_needed_and_nobody_edits_what_is_not_there(admin):
    answer = admin.patch("/api/v1/queues/training", {"quota_percent": 1}, format="json")
    assert [error["field"] for error in answer.json()["errors"]] == ["reason"]
    edit(admin, "nights", quota_percent=1, status=404)
    activate("queue-policy: {queues: [{name: training, priority: 1}]}", author=None, reason="fewer")
    assert edit(admin, "offline", quota_percent=1, status=409)["code"] == "queue-closed"


def test_only_administrators_edit_queues(member):
    lead = make.make_user("lea", team=make.make_team(), lead=True)
    for user in (member, lead, make.make_user("op", role=Role.OPERATOR)):
        edit(client_of(user), quota_percent=10, status=403)
        edit(client_of(user), quota_percent=10, dry=True, status=403)
        assert client_of(user).get("/api/v1/queues/training").status_code == 200


def test_an_old_look_changes_nothing(admin):
    etag = admin.get("/api/v1/queues/training")["ETag"]
    edit(admin, quota_percent=40, etag=etag)
    edit(admin, quota_percent=50, etag=etag, status=412)
    with pytest.raises(Exception, match="policy-changed"):
        activate(TEXT, author=None, reason="late", instead_of=1)


def test_a_document_that_only_its_author_should_change_is_left_alone(admin):
    queues = "{name: training, priority: 1, quota: &half 50%}, {name: b, priority: 2, quota: *half}"
    text = f"queue-policy: {{queues: [{queues}]}}"
    activate(text, author=None, reason="clever")
    assert edit(admin, quota_percent=10, status=409)["code"] == "policy-not-editable"
    assert active_text()[1] == text
