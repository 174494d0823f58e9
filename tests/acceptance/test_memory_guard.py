"""A job that grows towards its limit is suspended before it gets there, and goes on from its checkpoint."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import Hands
from tests.acceptance.test_failing_devices import ask
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance
BOOKED_MIB, BEGINS_AT_MIB = 400, 320
GROWS = f"""
import os, signal, sys, time
folder, resume = os.environ["HEADRACE_CHECKPOINT_DIR"], os.environ.get("HEADRACE_RESUME_DIR")
if resume:
    print("goes on from", open(resume + "/mib").read(), flush=True)
    sys.exit()
def save(*_):
    with open(folder + "/mib", "w") as state:
        state.write(str(len(kept)))
    open(folder + "/new", "w").close()
    os.rename(folder + "/new", os.environ["HEADRACE_CHECKPOINT_DONE"])
    print("saved at", len(kept), flush=True)
kept = [b"x" * (1 << 20) for _ in range({BEGINS_AT_MIB})]
signal.signal(signal.SIGUSR1, save)
while True:
    kept.append(b"x" * (1 << 20))
    time.sleep(0.25)
"""


def grows(hands: Hands, **checkpoint: bool) -> int:
    """A job that is far from its limit at first and would reach it in some twenty seconds."""
    return hands.submit(
        "python3",
        "-c",
        GROWS,
        resources={"memory": f"{BOOKED_MIB}Mi"},
        checkpoint={"signal": "USR1", "timeout_s": 20, **checkpoint},
    )


def events(hands: Hands, job: int) -> list[str]:
    return [event["code"] for event in ask(hands.live, "GET", f"jobs/{job}/events")]


def test_the_guard_suspends_a_growing_job_before_its_limit_and_it_goes_on_from_its_checkpoint(
    hands: Hands,
) -> None:
    job = grows(hands, on_memory_pressure=True)
    hands.reaches(job, "suspended", within_s=90)
    saved = int(hands.client.log(job, attempt=1).data.decode().split("saved at ")[1].split()[0])
    assert BEGINS_AT_MIB < saved < BOOKED_MIB
    assert "job-memory-near" in events(hands, job)
    hands.client.resume(job)
    assert hands.ended(job)["status"] == "succeeded"
    assert hands.log(job) == f"goes on from {saved}\n"


def test_without_that_wish_it_is_only_told_and_runs_on(hands: Hands) -> None:
    job = grows(hands)
    eventually(lambda: "job-memory-near" in events(hands, job), within_s=90, what="the event")
    assert hands.job(job)["status"] == "running"
    hands.client.cancel(job)
    assert hands.ended(job)["status"] == "cancelled"
