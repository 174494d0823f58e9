"""Replicas of one job: each agent runs its own, and all hold their places or none does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from bench.instance import Instance
from tests.acceptance.conftest import Hands
from tests.acceptance.simulated import SimulatedNode, simulated_node
from tests.acceptance.test_failing_devices import ask
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance
PAIR = {"simulated": "true", "pair": "yes"}
# The second replica fails once the first one runs for good.
FAILS = """
import os, sys, time
for name in ("RANK", "WORLD_SIZE", "PEERS", "RENDEZVOUS"):
    print(name, os.environ["HEADRACE_" + name], flush=True)
if os.environ["HEADRACE_RANK"] == "1":
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    sys.exit(7)
time.sleep(3600)
"""


@pytest.fixture
def pair(live: Instance) -> Iterator[list[SimulatedNode]]:
    """Two nodes, each an agent process of its own, with one device each."""
    with simulated_node(live, "pair-a", **PAIR) as first, simulated_node(live, "pair-b", **PAIR) as second:
        yield [first, second]


def sleeps(hands: Hands, labels: dict[str, str], *, replicas: int = 1) -> int:
    """A job that holds one device for each replica until it is cancelled."""
    return hands.submit("sleep", "3600", resources={"devices": 1}, node_labels=labels, replicas=replicas)


def holders(pair: list[SimulatedNode]) -> list[int]:
    """The jobs that hold the devices of both nodes."""
    numbers = {node.number for node in pair}
    devices = ask(pair[0].live, "GET", "devices?limit=200")["results"]
    return [held["job"] for one in devices if one["node"] in numbers for held in one["placements"]]


def parts(hands: Hands, job: int) -> list[dict[str, Any]]:
    return sorted(hands.client.placements(job), key=lambda row: row["replica"])


def told(node: SimulatedNode, job: int) -> dict[str, str]:
    """The environment of the job's replica as the agent has it on disk."""
    files = (node.state_dir / node.name / "tasks").glob("*/record.json")
    records = [json.loads(file.read_text())["assignment"] for file in files]
    (found,) = [one["env"] for one in records if one["job"] == job]
    return {name.removeprefix("HEADRACE_"): text for name, text in found.items()}


def wait_whole(hands: Hands, pair: list[SimulatedNode], gang: int) -> None:
    """Until it runs; what it holds meanwhile is all or nothing."""

    def runs() -> bool:
        running = hands.job(gang)["status"] == "running"
        assert holders(pair).count(gang) in (0, 2)
        return running

    eventually(runs, what=lambda: f"both replicas to run: {hands.job(gang)} {parts(hands, gang)}")
    assert [row["phase"] for row in parts(hands, gang)] == ["running", "running"]


def test_a_gang_takes_both_nodes_at_once_or_waits_and_leaves_both_at_once(
    hands: Hands, pair: list[SimulatedNode]
) -> None:
    before = sleeps(hands, pair[0].labels)
    hands.reaches(before, "running")
    gang = sleeps(hands, PAIR, replicas=2)
    reason = eventually(lambda: hands.job(gang)["reason"]["code"] != "not-looked-at", what="a reason")
    assert reason and parts(hands, gang) == [] and holders(pair) == [before]
    hands.client.cancel(before)
    wait_whole(hands, pair, gang)

    names = [row["node"]["name"] for row in parts(hands, gang)]
    assert sorted(names) == ["pair-a", "pair-b"]
    envs = [told(next(node for node in pair if node.name == name), gang) for name in names]
    assert [(env["RANK"], env["WORLD_SIZE"]) for env in envs] == [("0", "2"), ("1", "2")]
    assert {env["PEERS"] for env in envs} == {",".join(names)}
    assert {env["RENDEZVOUS"].split(":")[0] for env in envs} == {names[0]}

    after = sleeps(hands, PAIR)
    eventually(lambda: hands.job(after)["reason"]["code"] == "device-busy", what="the next job to wait")
    assert holders(pair) == [gang, gang]
    hands.client.cancel(gang)
    assert hands.ended(gang)["status"] == "cancelled"
    eventually(lambda: all(row["ended_at"] for row in parts(hands, gang)), what="both replicas to be stopped")
    hands.reaches(after, "running")
    assert holders(pair) == [after]
    hands.client.cancel(after)
    hands.ended(after)


def test_when_one_process_fails_the_other_is_stopped_and_the_first_is_the_cause(hands: Hands) -> None:
    gate = hands.gate()
    gang = hands.submit("python3", "-c", FAILS, str(gate), replicas=2, resources={"cores": 1})
    hands.reaches(gang, "running")
    gate.touch()
    job = hands.ended(gang)
    assert (job["status"], job["exit_code"]) == ("failed", 7)
    first, second = parts(hands, gang)
    assert (first["exit_signal"], second["exit_code"]) == (15, 7)
    events = {event["code"]: event["text"] for event in ask(hands.live, "GET", f"jobs/{gang}/events")}
    assert events["replica-failed"].startswith("Replica 1 on ")
    for row in (first, second):
        log = hands.client.log(gang, attempt=1, replica=row["replica"]).data.decode()
        here = row["node"]["name"]
        assert f"RANK {row['replica']}\nWORLD_SIZE 2\nPEERS {here},{here}\nRENDEZVOUS {here}:" in log
