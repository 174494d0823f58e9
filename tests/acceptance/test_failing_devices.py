"""Devices of a simulated node fail, flap, vanish and return, and nodes fall silent: what follows for them and jobs."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest

from agent.protocol import CheckResult
from agent.simulation_spec import T4, XEON, SimFault, SimNode, SimSlice, SimSpec
from bench.instance import Instance, clean_environment
from tests.acceptance.simulated import SimulatedNode, enrolment_token
from tests.policies import QUEUES, UNCAPPED
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance

EVER = 3600.0
SOON_S = 20.0
# Reports every second, and a node that is silent for long enough to be slow only.
POLICY = (
    "scheduler: {health: {report-interval-s: 1, flaps: 3, silent-after-s: 12, lost-after-s: 25, "
    f"mass-silence-percent: 90}}, {QUEUES}}}"
)


def ask(live: Instance, method: str, path: str, **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {live.client.token}"}
    options: dict[str, Any] = {"json": body} if method == "POST" else {}
    address = f"{live.url}/api/v1/{path}"
    answer = httpx.request(method, address, headers=headers, timeout=SOON_S, trust_env=False, **options)
    return answer.raise_for_status().json()


@pytest.fixture(scope="module")
def hasty(live: Instance) -> Iterator[Instance]:
    """The instance under a policy that waits for nothing long."""
    ask(live, "POST", "policies", document=POLICY, reason="tests of failing devices")
    yield live
    ask(live, "POST", "policies", document=UNCAPPED, reason="the tests are over")


@dataclass
class Frail:
    """A simulated node of two devices whose agent may be started again with other faults."""

    node: SimulatedNode
    slices: list[SimSlice] = field(default_factory=list)
    agent: subprocess.Popen[bytes] | None = field(default=None)

    def start(self, *faults: SimFault) -> None:
        folder = self.node.state_dir
        folder.mkdir(exist_ok=True)
        shape = {"name": self.node.name, "memory_mib": 64_000, "numa_per_socket": 1, **XEON}
        plain = msgspec.convert(shape | {"labels": self.node.labels}, SimNode)
        devices = msgspec.structs.replace(T4, count=2, slices=self.slices)
        sick = msgspec.structs.replace(plain, devices=devices, faults=list(faults))
        (folder / "spec.json").write_bytes(msgspec.json.encode(SimSpec(nodes=[sick])))
        if self.node.number is None:
            (folder / "token").write_text(enrolment_token(self.node.live) + "\n")
            (folder / "token").chmod(0o600)
        with (folder / "agent.log").open("ab") as log:
            self.agent = subprocess.Popen(self.node.command(), stderr=log, env=clean_environment())

    def stop(self) -> None:
        if self.agent is not None:
            self.agent.send_signal(signal.SIGTERM)
            self.agent.wait(30)
            self.agent = None

    def restart(self, *faults: SimFault) -> None:
        self.stop()
        self.start(*faults)

    @property
    def devices(self) -> list[dict[str, Any]]:
        found = ask(self.node.live, "GET", f"devices?node={self.node.number}")["results"]
        return sorted(found, key=lambda device: int(device["index"]))

    def healths(self) -> list[str]:
        return [device["health"] for device in self.devices]

    def becomes(self, *healths: str) -> None:
        eventually(lambda: self.healths() == list(healths), what=f"{healths}, now {self.healths()}")

    def submit(self, **more: Any) -> int:
        resources = {"devices": 1, **more}
        spec = {"queue": "training", "command": ["sleep", "3600"], "resources": resources}
        return int(self.node.live.client.submit({**spec, "node_labels": self.node.labels})["id"])

    def runs(self, job: int, *, attempt: int = 1) -> int:
        """The index of the device on which this attempt of the job runs."""

        def running() -> bool:
            found = self.node.live.client.job(job)
            return (found["status"], found["attempt"]) == ("running", attempt)

        eventually(running, what=f"attempt {attempt} of job {job} to run")
        held = [d["index"] for d in self.devices if job in [p["job"] for p in d["placements"]]]
        assert len(held) == 1
        return int(held[0])

    def events(self, job: int) -> list[str]:
        found = ask(self.node.live, "GET", f"jobs/{job}/events")
        return [event["code"] for event in found]

    def alerts(self) -> set[str]:
        ids = {str(device["id"]) for device in self.devices} | {str(self.node.number)}
        rows = ask(self.node.live, "GET", "alerts?limit=200")["results"]
        return {row["code"] for row in rows if str(row["subject_id"]) in ids and row["cleared_at"] is None}


@pytest.fixture
def frail(hasty: Instance, request: pytest.FixtureRequest) -> Iterator[Frail]:
    name = request.node.name.removeprefix("test_")[:20].replace("_", "-")
    made = Frail(SimulatedNode(hasty, name, hasty.state / f"sim-{name}"))
    made.start()
    try:
        eventually(lambda: made.node.number is not None and made.node.state == "ready", what="the node")
        made.becomes("healthy", "healthy")
        yield made
    finally:
        made.stop()
        for row in hasty.client.jobs(limit=200):
            if row["status"] in ("pending", "starting", "running"):
                hasty.client.cancel(row["id"])


def fault(device: int, result: CheckResult = CheckResult.FAILED, **more: Any) -> SimFault:
    return SimFault(
        device=device, at_s=more.pop("at_s", 0.0), for_s=more.pop("for_s", EVER), result=result, **more
    )


def test_fatal_moves_its_job_and_only_a_person_brings_the_device_back(frail: Frail) -> None:
    job = frail.submit()
    first = frail.runs(job)
    frail.restart(fault(first, CheckResult.FATAL, code="xid-79"))
    second = frail.runs(job, attempt=2)
    assert second == 1 - first
    sick = frail.devices[first]
    assert (sick["health"], sick["health_reason"], sick["health_evidence"]) == (
        "quarantined",
        "xid-79",
        "simulated",
    )
    assert {"device-failing", "device-failed"} <= set(
        frail.events(job)
    ) and "device-quarantined" in frail.alerts()
    # Its agent starts again while it is still sick: nothing of that is forgotten.
    frail.restart(fault(first, CheckResult.FATAL, code="xid-79"))
    assert frail.devices[first]["health"] == "quarantined"
    frail.restart()
    eventually(lambda: frail.devices[first]["health"] == "recovered", what="five good checks")
    waiting = frail.submit()
    eventually(lambda: frail.node.live.client.job(waiting)["reason"], what="a reason to wait")
    assert frail.node.live.client.job(waiting)["status"] == "pending"
    ask(frail.node.live, "POST", f"devices/{sick['id']}/release", reason="new cable")
    assert frail.runs(waiting) == first
    history = ask(frail.node.live, "GET", f"devices/{sick['id']}/events")["results"]
    assert [event["to_health"] for event in history][:3] == ["healthy", "recovered", "quarantined"]


def test_counted_failures_let_the_job_finish(frail: Frail) -> None:
    job = frail.submit()
    held = frail.runs(job)
    frail.restart(fault(held))
    eventually(lambda: frail.devices[held]["health"] == "quarantined", what="three failures")
    assert frail.runs(job, attempt=1) == held
    assert frail.runs(frail.submit()) == 1 - held


def test_unreadable_drains_and_touches_no_job(frail: Frail) -> None:
    job = frail.submit()
    held = frail.runs(job)
    frail.restart(fault(held, CheckResult.UNKNOWN, code="unreadable"))
    eventually(lambda: frail.devices[held]["health"] == "unknown", what="three unreadable checks")
    assert frail.runs(job, attempt=1) == held and "device-unreadable" in frail.alerts()
    frail.restart()
    eventually(lambda: frail.devices[held]["health"] == "healthy", what="five good checks")


def test_vanished_frees_nothing_and_returns_untrusted(frail: Frail) -> None:
    job = frail.submit()
    held = frail.runs(job)
    frail.restart(fault(held, vanish=True))
    eventually(lambda: frail.devices[held]["health"] == "missing", what="the device to be missed")
    eventually(lambda: "device-missing" in frail.events(job), what="its owner to be told")
    assert frail.runs(job, attempt=1) == held and "device-missing" in frail.alerts()
    frail.restart()
    eventually(lambda: frail.devices[held]["health"] != "missing", what="its return")
    eventually(lambda: frail.devices[held]["health"] == "healthy", what="five good checks")
    assert "device-missing" not in frail.alerts()


def test_flapping_is_told(frail: Frail) -> None:
    spells = [fault(0, at_s=float(start), for_s=1.5) for start in range(2, 60, 4)]
    frail.restart(*spells)
    eventually(lambda: frail.devices[0]["flapping"], what="it to be told")
    assert "device-flapping" in frail.alerts() and not frail.devices[1]["flapping"]


def test_silence_loses_the_node_and_its_return_stops_the_old_attempt(frail: Frail) -> None:
    job = frail.submit()
    frail.runs(job)
    frail.stop()
    eventually(lambda: frail.node.state == "silent", what="its silence to be noticed")
    assert frail.node.live.client.job(job)["attempt"] == 1
    eventually(lambda: frail.node.state == "lost", within_s=120, what="it to be lost")
    eventually(lambda: frail.node.live.client.job(job)["status"] == "pending", what="the job to wait again")
    frail.start()
    frail.runs(job, attempt=2)
    attempts = frail.node.live.client.placements(job)
    assert [one["phase"] for one in attempts] == ["lost", "running"]


def test_a_drained_node_is_emptied_by_its_deadline(frail: Frail) -> None:
    job = frail.submit()
    frail.runs(job)
    soon = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
    ask(frail.node.live, "POST", f"nodes/{frail.node.number}/drain", reason="fans", deadline=soon)
    assert frail.node.state == "draining"
    eventually(lambda: frail.node.state == "maintenance", what="it to be empty")
    assert {"draining", "drained"} <= set(frail.events(job))
    assert frail.node.live.client.job(job)["status"] == "pending"


def test_slices_run_jobs_and_are_missed_when_cut_anew(frail: Frail) -> None:
    frail.slices = [SimSlice("1g.7gb", 7168, 500), SimSlice("1g.7gb", 7168, 500)]
    frail.restart()
    eventually(lambda: frail.healths() == ["healthy"] * 6, what="two devices and their four slices")
    job = frail.submit(device_models=["t4-mig"])
    eventually(lambda: frail.node.live.client.job(job)["status"] == "running", what="the job to run")

    def held() -> list[dict[str, Any]]:
        return [d for d in frail.devices if job in [one["job"] for one in d["placements"]]]

    (part,) = held()
    assert part["parent"] is not None and part["uuid"].startswith("MIG-")
    eventually(lambda: (held()[0]["reading"] or {}).get("memory_used_mib"), what="a reading of the slice")
    frail.slices = [SimSlice("2g.14gb", 14336, 1000)]
    frail.restart()
    eventually(lambda: held()[0]["health"] == "missing", what="the slice to be missed")
    eventually(lambda: "device-missing" in frail.events(job), what="its owner to be told")
    assert held()[0]["id"] == part["id"] and frail.node.live.client.job(job)["status"] == "running"
    waiting = frail.submit(device_models=["nvidia-t4"])
    eventually(lambda: frail.node.live.client.job(waiting)["reason"], what="a reason to wait")
    assert frail.node.live.client.job(waiting)["status"] == "pending"
