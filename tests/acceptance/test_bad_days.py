"""Days on which machines, databases and people do their worst: nothing is lost, nothing is booked twice."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from bench.chaos import Storm, weather
from bench.instance import Instance
from client import Client
from tests.acceptance.conftest import Hands, waiting_for
from tests.acceptance.simulated import SimulatedNode, simulated_node
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance

CROWD = 50
# Long enough for a busy machine, far shorter than an outage.
SOON_S = 20.0


def ask(live: Instance, method: str, path: str, **options: Any) -> httpx.Response:
    """One request without the patience of our client."""
    headers = {"Authorization": f"Bearer {live.client.token}"}
    return httpx.request(method, live.url + path, headers=headers, timeout=SOON_S, trust_env=False, **options)


def kill_child(live: Instance, child: str) -> None:
    pid = live.pid_of(child)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def test_killed_processes_lose_no_job_and_book_nothing_twice(live: Instance) -> None:
    damage = weather(live, Storm(jobs=40, kills=5, job_s=0.5))
    assert damage.harmless(), damage.figures()
    assert {len(times) for times in damage.recoveries_s.values()} == {5}


def crowd_of_jobs(live: Instance, node: SimulatedNode) -> list[int]:
    """As many people at once as there are jobs, all for the one device of the node."""
    spec = {
        "name": "crowd",
        "queue": "training",
        "command": ["sleep", "3600"],
        "resources": {"devices": 1},
        "node_labels": node.labels,
    }

    def submit(_number: int) -> int:
        with Client(url=live.url, token=live.client.token) as client:
            return int(client.submit(spec)["id"])

    with ThreadPoolExecutor(max_workers=CROWD) as people:
        return list(people.map(submit, range(CROWD)))


def test_of_fifty_jobs_for_one_device_one_runs_and_the_others_wait(live: Instance) -> None:
    def crowd(*statuses: str) -> list[dict[str, Any]]:
        return [row for row in live.client.jobs(limit=500, search="crowd") if row["status"] in statuses]

    with simulated_node(live, "single") as node:
        jobs = crowd_of_jobs(live, node)
        assert len(set(jobs)) == CROWD
        for turn in (1, 2):
            eventually(lambda: crowd("running"), what="one that runs")
            eventually(
                lambda: {row["reason"]["code"] for row in crowd("pending")} == {"device-busy"},
                what="a reason for all that wait",
            )
            assert (len(crowd("running")), len(crowd("pending"))) == (1, CROWD - turn)
            assert sum(len(live.client.placements(job)) for job in jobs) == turn
            live.client.cancel(crowd("running")[0]["id"])
        for job in jobs:
            live.client.cancel(job)
        eventually(lambda: not crowd("pending", "starting", "running"), what="the end of the crowd")


def test_without_its_database_it_says_so_and_goes_on_by_itself_afterwards(hands: Hands) -> None:
    gate = hands.gate()
    job = hands.submit(*waiting_for(gate, then="exit 9"))
    hands.reaches(job, "running")
    with hands.live.unwatched():
        kill_child(hands.live, "postgres")
        for method, path in (("GET", f"/api/v1/jobs/{job}"), ("POST", "/api/v1/jobs/submit")):
            refused = ask(hands.live, method, path, **({"json": {}} if method == "POST" else {}))
            assert (refused.status_code, refused.json()["code"]) == (503, "database-unavailable")
            assert int(refused.headers["Retry-After"]) > 0
        assert ask(hands.live, "GET", "/readyz").status_code == 503
        # It ends while there is nobody to tell.
        gate.touch()
    eventually(hands.live.ready, what="everything to be back")
    after = hands.ended(job)
    assert (after["exit_code"], after["attempt"]) == (9, 1)
    assert hands.ended(hands.submit("true"))["status"] == "succeeded"


def test_without_valkey_jobs_are_taken_and_run_once_it_is_back(hands: Hands) -> None:
    with hands.live.unwatched():
        kill_child(hands.live, "valkey")
        assert ask(hands.live, "GET", "/readyz").json()["broker"] is False
        body = {"queue": "training", "command": ["true"]}
        taken = ask(hands.live, "POST", "/api/v1/jobs/submit", json=body)
        assert taken.status_code == 201
    eventually(hands.live.ready, what="everything to be back")
    assert hands.ended(taken.json()["id"])["status"] == "succeeded"


def test_two_live_machines_with_one_identity_are_both_put_aside(live: Instance) -> None:
    with simulated_node(live, "twin") as first:
        second = first.copied("clone")
        with second.running():
            eventually(lambda: first.state == "quarantined", what="the quarantine")
            alerts = ask(live, "GET", "/api/v1/alerts").json()["results"]
            found = [alert for alert in alerts if alert["code"] == "duplicate-machine"]
            assert [str(alert["subject_id"]) for alert in found] == [str(first.number)]
            spec = {"queue": "training", "command": ["true"], "node_labels": first.labels}
            refused = live.client.dry_run(spec)
            assert refused["placement"] is None
