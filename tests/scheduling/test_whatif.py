"""What-ifs: on the cluster now and on recordings, before and after side by side, faults that name edit and field."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Role, Team
from controlplane.base import clock
from inventory.models import DeviceHealth, NodeState
from queues.models import Job, JobStatus, Queue, TeamQuota
from scheduling import recordings
from scheduling.api import whatif as what_if_api
from scheduling.models import Decision, Placement, Recording
from scheduling.selectors import whatif
from scheduling.whatif import AddNodes, Situation, edited
from tests.engine import build
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(make.make_user("olga", role=Role.OPERATOR))
    return client


def ask(api, *edits, recording=None, status=200):
    body = {"recording": recording, "edits": list(edits)}
    answer = api.post("/api/v1/what-if", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def faults(api, *edits, **body) -> dict[str, str]:
    return {e["field"]: e["code"] for e in ask(api, *edits, status=400, **body)["errors"]}


def one_device(name: str = "alpha"):
    node = make.make_node(name, cores=8)
    make.make_device(node)
    return node


def test_nothing_different_changes_nothing(user, api):
    one_device()
    make.make_job(user, resources={"devices": 1})
    waits = make.make_job(user, resources={"devices": 1})
    found = ask(api)
    plain = {key: value for key, value in found["before"].items() if key != "wall_ms"}
    assert plain == {key: value for key, value in found["after"].items() if key != "wall_ms"}
    assert plain == {
        "considered": 2,
        "placed": 1,
        "refused": 1,
        "held": 0,
        "exhausted": True,
        "queues": [
            {"name": "inference", "placed": 0, "refused": 0, "held": 0},
            {"name": "training", "placed": 1, "refused": 1, "held": 0},
            {"name": "offline", "placed": 0, "refused": 0, "held": 0},
        ],
        "reasons": [
            {"code": "device-busy", "text": "The devices that would do are taken by other jobs.", "count": 1}
        ],
        "booked_percent": {"devices": 100.0, "cores": 12.5},
    }
    assert (found["changes"], found["changes_total"]) == ([], 0)
    assert Job.objects.get(pk=waits.pk).status == JobStatus.PENDING
    assert not Placement.objects.exists() and not Decision.objects.exists()


def test_another_node_lets_the_waiting_start(user, api):
    node = one_device()
    for _ in range(2):
        job = make.make_job(user, name="second", resources={"devices": 1})
    found = ask(api, {"kind": "add-nodes", "like": node.pk, "count": 2})
    assert (found["before"]["placed"], found["after"]["placed"]) == (1, 2)
    (change,) = found["changes"]
    assert (change["job"], change["name"], change["queue"]) == (job.pk, "second", "training")
    assert change["before"] is None and change["reason_before"]["code"] == "device-busy"
    assert change["after"]["node_name"] == "alpha+1" and change["reason_after"] is None


def test_a_drained_node_sends_its_jobs_elsewhere(user, api):
    nodes = [one_device("alpha"), one_device("beta")]
    job = make.make_job(user, resources={"devices": 1})
    (change,) = ask(api, {"kind": "drain-node", "node": nodes[0].pk})["changes"]
    assert (change["job"], change["before"]["node"], change["after"]["node"]) == (
        job.pk,
        nodes[0].pk,
        nodes[1].pk,
    )
    assert ask(api, {"kind": "drain-node", "node": nodes[1].pk})["changes"] == []
    both = ask(api, *({"kind": "drain-node", "node": node.pk} for node in nodes))
    assert both["changes"][0]["reason_after"]["code"] == "node-not-ready"
    assert both["after"]["booked_percent"] == {"devices": None, "cores": None}


def test_added_jobs_have_a_name_and_no_number(user, api):
    one_device()
    spec = make.body(name="new", queue="inference", resources={"devices": 1, "device_memory": "10Gi"})
    found = ask(api, {"kind": "add-job", "count": 5, "spec": spec})
    assert found["after"]["considered"] == 5 and found["changes_total"] == 5
    assert {(c["job"], c["name"], c["queue"]) for c in found["changes"]} == {(None, "new", "inference")}
    assert found["after"]["placed"] == 3, "40 GiB take three of 1.2 x 10 GiB"


def running(user, **changes) -> Placement:
    job = make.make_job(user, resources={"devices": 1}, **changes)
    make.run_cycle()
    placement = Placement.objects.select_related("node").get(job=job)
    make.report(placement.node, make.started(placement))
    placement.refresh_from_db()
    return placement


def test_a_job_that_would_wait_is_told_when_it_could_start(user, api, monkeypatch):
    node = one_device()
    ends = running(user, name="first", time_limit_s=600)
    add = {"kind": "add-job", "count": 2, "spec": make.body(resources={"devices": 1}, time_limit_s=60)}
    first, second = ask(api, add)["changes"]
    assert first["start_unknown"] is None and not first["start"]["is_earliest"]
    assert first["start"]["after_jobs"] == [{"job": ends.job_id, "name": "first"}]
    at = datetime.fromisoformat(first["start"]["at"])
    assert clock.to_ms(at) == clock.to_ms(ends.running_at) + 600_000
    assert second["start"]["is_earliest"], "how long the one before it runs is not known"
    (longer,) = ask(api, {"kind": "add-job", "spec": make.body(resources={"devices": 2})})["changes"]
    assert (longer["start"], longer["start_unknown"]["code"]) == (None, "start-never")
    (goes,) = ask(api, {"kind": "add-job", "spec": make.body()})["changes"]
    assert goes["after"]["node"] == node.pk and (goes["start"], goes["start_unknown"]) == (None, None)
    (then,) = ask(api, {"kind": "drain-node", "node": node.pk}, recording=Recording.objects.get().pk)[
        "changes"
    ]
    assert (then["start"], then["start_unknown"]["code"]) == (None, "start-recorded")
    monkeypatch.setattr("scheduling.selectors.starts.MOST_ESTIMATED", 1)
    assert ask(api, add)["changes"][1]["start_unknown"]["code"] == "start-not-tried"


def test_an_added_job_of_a_team_is_held_to_its_quota(user, api):
    one_device()
    queue, team = Queue.objects.get(name="training"), Team.objects.get(slug="vision")
    TeamQuota.objects.create(queue=queue, team=team, quota_milli=0)
    add = {"kind": "add-job", "spec": make.body(resources={"devices": 1}, team="vision")}
    (held,) = ask(api, add)["changes"]
    assert held["reason_after"]["code"] == "team-quota"
    add["spec"] = make.body(resources={"devices": 1})
    assert ask(api, add)["after"]["placed"] == 1, "of no team: no quota of a team holds it"


def test_a_weight_changes_where_jobs_go(user, api):
    """Balance sends the second job to the other node; without it, what is left whole decides, and it stays."""
    for name in ("alpha", "beta"):
        node = make.make_node(name, cores=8)
        for index in range(2):
            make.make_device(node, index=index)
    jobs = [make.make_job(user, resources={"devices": 1, "cores": 4}) for _ in range(2)]
    found = ask(api, {"kind": "change-weight", "term": "balance", "weight": 0})
    assert found["before"]["placed"] == found["after"]["placed"] == 2
    (change,) = found["changes"]
    assert change["job"] == jobs[1].pk
    assert (change["before"]["node_name"], change["after"]["node_name"]) == ("beta", "alpha")


def test_a_recording_is_a_start_as_good_as_the_present(user, api):
    node = one_device()
    jobs = [make.make_job(user, resources={"devices": 1}) for _ in range(2)]
    make.run_cycle()
    recording = Recording.objects.get()
    now = ask(api)
    then = ask(api, {"kind": "drain-node", "node": node.pk}, recording=recording.pk)
    assert (now["before"]["placed"], then["before"]["placed"]) == (0, 1)
    assert then["recording"] == recording.pk and then["at"] < now["at"]
    assert {change["job"] for change in then["changes"]} == {job.pk for job in jobs}
    assert faults(api, recording=recording.pk + 1) == {"recording": "no-such-recording"}


def test_a_long_line_is_served_in_part(user, api, monkeypatch):
    monkeypatch.setattr(whatif, "MOST_JOBS", 3)
    one_device()
    for _ in range(5):
        make.make_job(user, resources={"devices": 1})
    before, after = (ask(api, {"kind": "add-job", "spec": make.body()})[side] for side in ("before", "after"))
    assert (before["considered"], before["exhausted"]) == (2, False)
    assert (after["considered"], after["exhausted"]) == (3, False)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (1, {"edits[0]": "type"}),
        ({}, {"edits[0].kind": "required"}),
        ({"kind": "burn"}, {"edits[0].kind": "choice"}),
        ({"kind": "drain-node"}, {"edits[0].node": "required"}),
        ({"kind": "drain-node", "node": 10**6}, {"edits[0].node": "no-such-node"}),
        ({"kind": "drain-node", "node": "a"}, {"edits[0].node": "type"}),
        ({"kind": "drain-node", "node": 99999, "x": 1},
         {"edits[0].node": "no-such-node", "edits[0].x": "unknown-field"}),
        ({"kind": "add-nodes", "like": 10**6, "count": 0}, {"edits[0].like": "no-such-node", "edits[0].count": "min"}),
        ({"kind": "add-nodes", "like": -1, "count": 101}, {"edits[0].like": "min", "edits[0].count": "max"}),
        ({"kind": "change-weight"}, {"edits[0].term": "required", "edits[0].weight": "required"}),
        ({"kind": "change-weight", "term": "", "weight": -1}, {"edits[0].term": "choice", "edits[0].weight": "min"}),
        ({"kind": "change-weight", "term": "balance", "weight": True}, {"edits[0].weight": "type"}),
        ({"kind": "change-weight", "term": "fragmentation-penalty", "weight": 0}, {"edits[0].weight": "min"}),
        ({"kind": "change-quota"}, {"edits[0].queue": "required", "edits[0].percent": "required"}),
        ({"kind": "change-quota", "queue": 1, "percent": 101},
         {"edits[0].queue": "choice", "edits[0].percent": "max"}),
        ({"kind": "add-job"}, {"edits[0].spec": "type"}),
        ({"kind": "add-job", "spec": {"queue": "training", "command": ["true"], "team": "nobody"}},
         {"edits[0].spec.team": "not-found"}),
        ({"kind": "add-job", "count": 1001, "spec": {"queue": "x"}},
         {"edits[0].count": "max", "edits[0].spec.queue": "choice", "edits[0].spec.command": "required"}),
    ],
)  # fmt: skip
def test_faults_name_the_edit_and_the_field(user, api, edit, expected):
    assert faults(api, edit) == expected


@pytest.mark.parametrize(("percent", "placed"), [(None, 2), (100, 2), (50, 1), (0, 1)])
def test_another_quota_lets_more_or_fewer_start(user, api, percent, placed):
    """An empty queue may start one job whatever its quota is."""
    one_device()
    one_device()
    for _ in range(2):
        make.make_job(user, resources={"devices": 1})
    found = ask(api, {"kind": "change-quota", "queue": "training", "percent": percent})
    assert (found["before"]["placed"], found["after"]["placed"], found["notes"]) == (2, placed, [])
    assert [change["reason_after"]["code"] for change in found["changes"]] == ["queue-cap"] * (2 - placed)


def test_a_recording_from_before_caps_says_that_quotas_decide_nothing(user, api):
    one_device()
    make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    row = Recording.objects.get()
    call = recordings.unpack(bytes(row.document))
    old = replace(call, policy=replace(call.policy, capped=False))
    Recording.objects.update(document=recordings.pack(old))
    edit = {"kind": "change-quota", "queue": "training", "percent": 0}
    found = ask(api, edit, recording=row.pk)
    assert [note["code"] for note in found["notes"]] == ["caps-not-enforced"]


def test_what_ifs_are_bounded(user, api):
    node = one_device()
    assert faults(api, *[{"kind": "drain-node", "node": node.pk}] * 21) == {"edits": "max-length"}
    many = {"kind": "add-job", "count": 600, "spec": make.body()}
    assert faults(api, many, many) == {"edits": "too-many-jobs"}
    assert faults(api, *[{"kind": "add-nodes", "like": node.pk, "count": 60}] * 2) == {
        "edits": "too-many-nodes"
    }


def test_only_operators_and_admins_ask(user, api):
    one_device()
    make.make_job(user)
    make.run_cycle()
    recording = Recording.objects.get()
    member = APIClient()
    member.force_login(user)
    assert member.post("/api/v1/what-if", {"edits": []}, format="json").status_code == 403
    assert member.get("/api/v1/recordings").status_code == 403
    assert member.get(f"/api/v1/recordings/{recording.pk}/document").status_code == 403
    (row,) = api.get("/api/v1/recordings").json()["results"]
    assert (row["id"], row["placed"], row["jobs"], row["nodes"]) == (recording.pk, 1, 1, 1)
    document = api.get(f"/api/v1/recordings/{recording.pk}/document")
    assert document.json()["plan"]["considered"] == 1 and "attachment" in document["Content-Disposition"]
    assert api.get("/api/v1/recordings/99999/document").status_code == 404


def test_changes_come_in_order_of_service(user, api):
    """Queues by priority first, added jobs where they belong."""
    node = one_device()
    for queue in ("offline", "training"):
        make.make_job(user, name=queue, queue=queue)
    added = {"kind": "add-job", "spec": make.body(queue="inference", name="new")}
    changes = ask(api, added, {"kind": "drain-node", "node": node.pk})["changes"]
    assert [change["name"] for change in changes] == ["new", "training", "offline"]


def test_added_nodes_come_as_new(user, api):
    """What was decided about the model, or is broken on it, is not copied."""
    node = make.make_node("alpha", cores=8, state=NodeState.CORDONED, observe_only=True)
    make.make_device(node, cordoned=True)
    make.make_device(node, index=1, health=DeviceHealth.QUARANTINED)
    make.make_job(user, resources={"devices": 2})
    (change,) = ask(api, {"kind": "add-nodes", "like": node.pk})["changes"]
    assert change["after"]["node_name"] == "alpha+1"


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_a_number_without_end_is_told_at_its_field(user, api, number):
    text = f'{{"edits": [{{"kind": "change-weight", "term": "balance", "weight": {number}}}]}}'
    answer = api.post("/api/v1/what-if", text, content_type="application/json")
    (error,) = answer.json()["errors"]
    assert answer.status_code == 400 and error["field"] == "edits[0].weight"
    assert error["code"] == ("min" if number.startswith("-") else "max")


def test_who_must_wait_is_told_how_long(user, api, monkeypatch):
    lock = threading.Lock()
    lock.acquire()
    monkeypatch.setattr(what_if_api, "_one_at_a_time", lock)
    answer = api.post("/api/v1/what-if", {"edits": []}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (429, "busy") and int(answer["Retry-After"]) > 0


def test_twins_of_two_edits_have_different_names():
    situation = Situation((build.node(1, name="alpha"),), (), build.POLICY, 0, 0)
    after = edited(situation, [AddNodes(1, 2), AddNodes(1)])
    assert [info.name for info in after.nodes] == ["alpha", "alpha+1", "alpha+2", "alpha+3"]


def test_an_added_array_is_as_many_jobs_as_may_be_under_way(user, api):
    one_device()
    spec = make.body(resources={"devices": 1}, array={"tasks": 100})
    found = ask(api, {"kind": "add-job", "count": 2, "spec": spec})
    assert (found["after"]["considered"], found["after"]["placed"], found["notes"]) == (200, 1, [])
    spec["array"]["at_once"] = 3
    found = ask(api, {"kind": "add-job", "count": 2, "spec": spec})
    assert found["after"]["considered"] == 6
    assert [note["code"] for note in found["notes"]] == ["planned-slots"]
    spec["array"] = {"tasks": 501}
    assert faults(api, {"kind": "add-job", "count": 2, "spec": spec}) == {
        "edits[0].spec.array.tasks": "too-many-jobs"
    }


def test_what_would_hold_an_added_job_is_noted(user, api):
    one_device()
    other = make.make_job(user, on_hold=True)
    spec = make.body(deferrable=True, after=[{"job": other.pk}])
    found = ask(api, {"kind": "add-job", "spec": spec}, {"kind": "add-job", "spec": make.body()})
    assert found["after"]["placed"] == 2
    (note,) = found["notes"]
    assert (note["code"], note["params"]) == ("planned-ungated", {"fields": "after, deferrable"})
    assert note["text"].endswith("not looked at: after, deferrable.")
