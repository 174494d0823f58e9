"""The REST API of jobs, as clients use it."""

from __future__ import annotations

import pytest
from django.db import connection
from rest_framework.test import APIClient

from agent.protocol import ExitReason
from controlplane.accounts.models import Role
from queues.models import Job, JobStatus
from scheduling.logs import LogPiece, append_log
from scheduling.models import Placement, Slice
from scheduling.selectors import dryrun, job_names
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db

# Session, user, page of jobs, placements, sheets, reasons, pause, names of nodes.
JOB_LIST_QUERIES = 9


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_login(user)
    return client


def submit(api, **changes):
    return api.post("/api/v1/jobs/submit", make.body(**changes), format="json")


def place(api, **changes) -> tuple[dict, Placement]:
    job = submit(api, **changes).json()
    make.run_cycle()
    return job, Placement.objects.get(job_id=job["id"])


def test_a_submitted_job_is_shown_in_normal_form(api):
    answer = submit(api, name="train", resources={"device_memory": "8Gi", "cores": 2})
    assert answer.status_code == 201
    job = answer.json()
    assert (job["status"], job["team"], job["owner"]) == ("pending", "vision", "ada")
    assert job["spec"]["resources"]["device_memory"] == 8192
    assert job["reason"]["code"] == "not-looked-at"
    assert job["node"] is None and job["devices"] == [] and job["uid"] is None
    assert api.get(f"/api/v1/jobs/{job['id']}").json()["spec"] == job["spec"]


def test_in_a_cluster_without_nodes_a_job_says_how_to_add_one(api):
    wish = {"resources": {"devices": 1, "device_memory": "8Gi"}}
    job = submit(api, **wish).json()
    make.run_cycle()
    tried = api.post("/api/v1/jobs/submit?dry_run=1", make.body(**wish), format="json").json()["refusal"]
    why = api.get(f"/api/v1/jobs/{job['id']}/explain").json()
    for sentence in (
        api.get(f"/api/v1/jobs/{job['id']}").json()["reason"],
        why["sentence"],
        tried["sentence"],
    ):
        assert sentence["code"] == "no-nodes"
        assert "Enrol a node" in sentence["text"]
    assert (why["changes"], why["funnel"], why["estimate"]) == ([], [], None)


def test_faults_name_every_field(api):
    answer = submit(api, resources={"cores": -1, "gpus": 2}, colour="red", command="ls")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert {e["field"]: e["code"] for e in answer.json()["errors"]} == {
        "command": "type",
        "resources.cores": "min",
        "resources.gpus": "unknown-field",
        "colour": "unknown-field",
    }
    assert not Job.objects.exists()


def test_a_placed_job_shows_where_it_runs(api):
    node = make.make_node("tb-001", cores=4)
    make.make_device(node)
    job, placement = place(api, resources={"devices": 1, "cores": 2})
    make.report(node, make.started(placement))
    found = api.get(f"/api/v1/jobs/{job['id']}").json()
    assert (found["status"], found["node"]["name"], found["uid"]) == ("running", "tb-001", 60001)
    assert found["cpus"] == placement.cpus and len(found["cpus"]) == 2
    assert [(d["index"], d["memory_mib"], d["compute_milli"]) for d in found["devices"]] == [(0, 40960, 1000)]
    make.report(node, make.ended(placement))
    ended = api.get(f"/api/v1/jobs/{job['id']}").json()
    assert (ended["status"], ended["exit_code"], ended["reason"]) == ("succeeded", 0, None)
    assert ended["devices"] == found["devices"] and not Slice.objects.exists()


def test_a_waiting_job_says_why_with_the_arithmetic(api):
    node = make.make_node("tb-007")
    for index in range(4):
        make.make_device(node, index=index, memory_mib=81920, foreign_mib=0)
    for _ in range(4):
        place_shared = submit(api, queue="offline", resources={"device_memory": "60Gi"})
        assert place_shared.status_code == 201
        make.run_cycle()
    job = submit(api, queue="offline", resources={"device_memory": "40Gi"}).json()
    make.run_cycle()
    found = api.get(f"/api/v1/jobs/{job['id']}").json()
    assert found["reason"]["code"] == "device-memory-piece"
    assert found["reason"]["text"] == (
        "80 GiB is free on tb-007, but in four pieces of 20 GiB. This job needs 40 GiB on one device. "
        "A shared device must have 1.2 times that free: 48 GiB."
    )
    explained = api.get(f"/api/v1/jobs/{job['id']}/explain").json()
    assert explained["sentence"]["text"] == found["reason"]["text"]
    assert explained["near"][0]["node_name"] == "tb-007" and explained["near"][0]["unit"] == "MiB"
    assert [d["free_mib"] for d in explained["picture"]["devices"]] == [20480] * 4
    assert explained["picture"]["request_mib"] == 40960 and explained["picture"]["safety_mib"] == 8192
    assert explained["changes"] and all(c["text"] and c["field"] for c in explained["changes"])


def dry(api, **resources) -> dict:
    return api.post("/api/v1/jobs/submit?dry_run=1", make.body(resources=resources), format="json").json()


@pytest.mark.parametrize(
    ("resources", "code", "changed"),
    [
        (
            {"devices": 1, "device_compute_milli": 700, "shareable": True},
            "device-compute",
            {"resources.device_compute_milli": 500},
        ),
        ({"read_bandwidth_mib_s": 2000}, "read-bandwidth", {"resources.read_bandwidth_mib_s": 1000}),
        ({"cores": 9, "memory": 2000}, "cores-total", {"cores": 7, "memory": 1000}),
    ],
)
def test_a_change_of_an_amount_is_followed_literally(api, user, resources, code, changed):
    node = make.make_node("alpha", memory_mib=1000, labels={"headrace/read-bandwidth-mib-s": "1000"})
    make.make_device(node)
    half = {"devices": 1, "device_compute_milli": 500, "device_memory": 1000, "shareable": True}
    make.make_job(user, queue="inference", resources=half)
    make.run_cycle()
    refusal = dry(api, **resources)["refusal"]
    assert refusal["near"][0]["code"] == code
    (change,) = refusal["changes"]
    if change["field"] == "resources":
        found = {name: to for name, to in change["to"].items() if change["from"][name] != to}
    else:
        found = {change["field"]: change["to"]}
    assert found == changed
    followed = {name.removeprefix("resources."): value for name, value in found.items()}
    assert dry(api, **{**resources, **followed})["placement"]


def test_the_explanation_of_a_placed_job_is_its_score_sheet(api):
    make.make_node("a", cores=4)
    make.make_node("b", cores=8)
    job, _placement = place(api, resources={"cores": 2})
    found = api.get(f"/api/v1/jobs/{job['id']}/explain").json()
    decision = found["decision"]
    assert decision["candidates"] == 2 and len(decision["runners_up"]) == 1
    assert sum(t["contribution_ppm"] for t in decision["terms"]) == decision["score_ppm"]
    assert {t["term"] for t in decision["terms"]} >= {"resource-fit", "fragmentation-penalty"}
    assert found["sentence"]["code"] == "placed" and decision["tie"] is None


def test_equal_scores_say_by_which_rule_the_first_one_won(api):
    first, second = make.make_node("z", cores=4), make.make_node("a", cores=4)
    trial = dry(api, cores=2)["placement"]
    job, placement = place(api, resources={"cores": 2})
    decision = api.get(f"/api/v1/jobs/{job['id']}/explain", headers={"Accept-Language": "zh-hans"}).json()[
        "decision"
    ]
    assert placement.node == first and decision["score_ppm"] == decision["runners_up"][0]["score_ppm"]
    assert decision["tie"]["params"] == trial["tie"]["params"]
    assert trial["tie"]["text"] == (
        f"z and a score the same; the lower node id goes first: {first.pk} before {second.pk}."
    )
    assert decision["tie"]["text"] == f"z 与 a 得分相同，节点编号小者优先：{first.pk} 先于 {second.pk}。"


def test_a_dry_run_serves_only_who_comes_first(api, user, monkeypatch):
    node = make.make_node(cores=16)
    make.make_device(node)
    for queue in ("inference", "training", "offline", "offline"):
        make.make_job(user, queue=queue)
    looked = []
    real = dryrun.made_plan
    monkeypatch.setattr(dryrun, "made_plan", lambda *a, **k: looked.append(real(*a, **k)) or looked[-1])
    found = api.post("/api/v1/jobs/submit?dry_run=1", make.body(), format="json").json()
    assert found["placement"]["node"] == node.pk and looked[0].considered == 3
    monkeypatch.setattr(dryrun, "MOST_AHEAD", 1)
    assert api.post("/api/v1/jobs/submit?dry_run=1", make.body(), format="json").json()["placement"]
    assert looked[1].considered == 2


def test_a_dry_run_stores_nothing(api):
    node = make.make_node("tb-001")
    make.make_device(node)
    body = make.body(resources={"devices": 1})
    found = api.post("/api/v1/jobs/submit?dry_run=1", body, format="json")
    assert found.status_code == 200
    assert found.json()["placement"]["node_name"] == "tb-001" and found.json()["refusal"] is None
    refused = api.post(
        "/api/v1/jobs/submit?dry_run=1", make.body(resources={"devices": 9}), format="json"
    ).json()
    assert refused["placement"] is None
    assert refused["refusal"]["sentence"]["code"] == "device-count"
    assert not Job.objects.exists()
    assert api.post("/api/v1/jobs/submit?dry_run=yes", body, format="json").status_code == 400


def test_a_stranger_sees_nothing_of_a_job(api):
    job = submit(api).json()
    make.make_user("eve", team=make.make_team("others"))
    stranger = APIClient()
    stranger.force_login(make.User.objects.get(username="eve"))
    for path in ("", "/explain", "/events", "/placements", "/logs"):
        assert stranger.get(f"/api/v1/jobs/{job['id']}{path}").status_code == 404
    assert stranger.post(f"/api/v1/jobs/{job['id']}/cancel", {}, format="json").status_code == 404
    assert stranger.get("/api/v1/jobs").json()["results"] == []
    assert submit(stranger, team="vision").json()["errors"][0]["field"] == "team"


def test_a_team_mate_sees_but_does_not_cancel(api):
    job = submit(api).json()
    mate = APIClient()
    mate.force_login(make.make_user("bob", team=make.make_team()))
    assert mate.get(f"/api/v1/jobs/{job['id']}").status_code == 200
    assert mate.post(f"/api/v1/jobs/{job['id']}/cancel", {}, format="json").status_code == 403


def test_filters_and_pages(api):
    ids = [
        submit(api, name=f"job-{'abcd'[i]}", queue=queue).json()["id"]
        for i, queue in enumerate(["training", "offline"] * 2)
    ]
    assert [j["id"] for j in api.get("/api/v1/jobs").json()["results"]] == ids[::-1]
    assert [j["id"] for j in api.get("/api/v1/jobs?queue=offline&limit=1").json()["results"]] == ids[3:]
    assert len(api.get("/api/v1/jobs?status=pending&status=running").json()["results"]) == 4
    assert [j["id"] for j in api.get("/api/v1/jobs?search=b-c").json()["results"]] == [ids[2]]
    assert [j["id"] for j in api.get(f"/api/v1/jobs?search={ids[0]}").json()["results"]] == [ids[0]]
    assert api.get("/api/v1/jobs?colour=red").status_code == 400
    assert api.get("/api/v1/jobs?status=flying").status_code == 400


def test_of_old_jobs_the_beginning_of_the_name_is_found_of_new_ones_any_part(api, monkeypatch):
    monkeypatch.setattr(job_names, "RECENT", 2)
    ids = [submit(api, name=name).json()["id"] for name in ("Train_A", "trainXA", "eval-train_a", "other")]

    def found(text):
        return [job["id"] for job in api.get("/api/v1/jobs", {"search": text}).json()["results"]]

    assert found("TRAIN_") == [ids[2], ids[0]]
    assert found("rain_a") == [ids[2]]
    assert found("rainxa") == []
    assert found("eval") == [ids[2]]
    assert found(str(ids[0])) == [ids[0]]
    monkeypatch.setattr(job_names, "MOST_WITHIN", 1)
    assert found("t") == [ids[3], ids[1], ids[0]]


def test_a_search_shows_no_job_of_others(api):
    submit(api, name="train")
    stranger = APIClient()
    stranger.force_login(make.make_user("eve", team=make.make_team("other")))
    for text in ("train", "rain", str(Job.objects.get().pk)):
        assert stranger.get("/api/v1/jobs", {"search": text}).json()["results"] == []


def test_an_index_knows_how_names_begin(api):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = on")
    assert "job_name_begins" in Job.objects.filter(name__istartswith="train-7").order_by().explain()


def test_cancel_is_final_and_harmless_twice(api):
    job = submit(api).json()
    first = api.post(f"/api/v1/jobs/{job['id']}/cancel", {}, format="json").json()
    again = api.post(f"/api/v1/jobs/{job['id']}/cancel", {}, format="json")
    assert first["status"] == "cancelled" and again.status_code == 200
    assert [e["text"] for e in api.get(f"/api/v1/jobs/{job['id']}/events").json()] == [
        "Submitted.",
        "Cancelled.",
    ]


def test_the_log_is_read_by_offset_in_both_forms(api):
    node = make.make_node()
    job, placement = place(api)
    text = "abcéllo\n\x1b[31mred\tend".encode()
    append_log(node, placement.pk, LogPiece(placement.attempt, placement.fence, 0, text))
    url = f"/api/v1/jobs/{job['id']}/logs"
    cut = api.get(f"{url}?limit=4").json()
    assert (cut["text"], cut["next_offset"], cut["complete"]) == ("abc", 3, False)
    rest = api.get(f"{url}?offset=3").json()
    assert rest["text"] == "éllo\n\\x1b[31mred\tend" and rest["next_offset"] == len(text)
    make.report(node, make.ended(placement, log_bytes=len(text)))
    raw = api.get(f"{url}?attempt=1", headers={"Accept": "text/plain"})
    assert raw.content == text and raw["X-Complete"] == "true" and raw["X-Next-Offset"] == str(len(text))
    assert api.get(f"{url}?offset=-1").status_code == 400
    assert api.get(f"{url}?attempt=9").json()["text"] == ""


def test_a_failed_attempt_is_retried_and_told(api):
    node = make.make_node()
    job, placement = place(api, max_retries=1)
    make.report(node, make.ended(placement, code=3))
    make.run_cycle()
    second = Placement.objects.get(job_id=job["id"], attempt=2)
    make.report(node, make.ended(second, code=4, reason=ExitReason.EXITED))
    found = api.get(f"/api/v1/jobs/{job['id']}").json()
    assert (found["status"], found["exit_code"], found["attempt"]) == (JobStatus.FAILED, 4, 2)
    texts = [e["text"] for e in api.get(f"/api/v1/jobs/{job['id']}/events").json()]
    assert "Ended with exit code 3. It waits again as a new attempt." in texts
    assert [p["exit_code"] for p in api.get(f"/api/v1/jobs/{job['id']}/placements").json()] == [3, 4]


def test_lists_need_a_constant_number_of_queries(api, django_assert_num_queries):
    node = make.make_node(cores=32)
    for _ in range(3):
        submit(api)
    make.run_cycle()
    submit(api, resources={"devices": 1})
    make.run_cycle()
    with django_assert_num_queries(JOB_LIST_QUERIES):
        api.get("/api/v1/jobs")
    for _ in range(20):
        submit(api)
    submit(api, resources={"devices": 2})
    make.run_cycle()
    with django_assert_num_queries(JOB_LIST_QUERIES):
        assert len(api.get("/api/v1/jobs").json()["results"]) == 25
    assert node.placements.count() == 23


def test_operators_see_all_jobs(api):
    job = submit(api).json()
    operator = APIClient()
    operator.force_login(make.make_user("op", role=Role.OPERATOR))
    assert operator.get(f"/api/v1/jobs/{job['id']}").status_code == 200
    assert operator.post(f"/api/v1/jobs/{job['id']}/cancel", {}, format="json").status_code == 200


@pytest.mark.parametrize(
    ("resources", "field", "to"),
    [({"cores": 4000}, "resources.cores", 8), ({"memory": "60Ti"}, "resources.memory", 65536)],
)
def test_a_request_beyond_every_node_is_told_what_there_is(api, resources, field, to):
    make.make_node(cores=8)
    answer = api.post("/api/v1/jobs/submit?dry_run=1", make.body(resources=resources), format="json").json()
    assert [(c["field"], c["to"]) for c in answer["refusal"]["changes"]] == [(field, to)]


def test_a_limit_of_memory_has_a_unit(api):
    body = make.body(resources={"memory": "99999999Ti"})
    (error,) = api.post("/api/v1/jobs/submit", body, format="json").json()["errors"]
    assert (error["code"], error["message"]) == ("max", "Must be at most 67108864 MiB.")


def test_waits_that_were_not_seen_are_unknown(api):
    make.make_node()
    answer = api.post("/api/v1/jobs/submit", make.body(), format="json").json()
    assert (answer["waits_ms"]["held"], answer["waits_ms"]["image_pull"]) == (None, None)


def test_whether_memory_is_enforced_or_only_watched_is_said_of_device_and_host(api):
    node = make.make_node(facts=make.facts(cores=8) | {"warnings": []})
    make.make_device(node)
    resources = {"devices": 1, "device_memory": "8Gi", "memory": "1Gi"}
    whole, placement = place(api, resources=resources)
    job = api.get(f"/api/v1/jobs/{whole['id']}").json()
    assert [device["memory_limit"] for device in job["devices"]] == ["hardware"]
    decision = api.get(f"/api/v1/jobs/{whole['id']}/explain").json()["decision"]
    assert decision["host_memory_limit"] == "control-group"
    assert [device["memory_limit"] for device in decision["devices"]] == ["hardware"]
    make.report(node, make.ended(placement))
    shared, _placement = place(api, resources={**resources, "shareable": True})
    device = api.get(f"/api/v1/jobs/{shared['id']}").json()["devices"][0]
    assert device["memory_limit"] == "watched"
    shown = api.get(f"/api/v1/devices/{device['id']}").json()["placements"]
    assert [one["memory_limit"] for one in shown] == ["watched"]
