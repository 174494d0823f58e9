"""A real process gives its cores to a more urgent job, with its work kept, and goes on where it stopped."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import Hands
from tests.acceptance.test_failing_devices import ask
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance
COUNTS = """
import os, signal, sys, time
folder, resume = os.environ["HEADRACE_CHECKPOINT_DIR"], os.environ.get("HEADRACE_RESUME_DIR")
if resume:
    print("goes on from", open(resume + "/count").read(), flush=True)
    sys.exit()
count = 0
def save(*_):
    with open(folder + "/count", "w") as state:
        state.write(str(count))
    open(folder + "/new", "w").close()
    os.rename(folder + "/new", os.environ["HEADRACE_CHECKPOINT_DONE"])
    print("saved at", count, flush=True)
signal.signal(signal.SIGUSR1, save)
print("counting", flush=True)
while True:
    count += 1
    time.sleep(0.05)
"""
SEES = "import os; print(sorted(os.sched_getaffinity(0)), flush=True)"


def test_a_running_process_is_checkpointed_by_signal_and_its_cores_go_to_the_job_above_it(
    hands: Hands,
) -> None:
    cores = max(node["cpu_count"] for node in hands.client.nodes() if not node["simulated"])
    victim = hands.submit(
        "python3",
        "-c",
        COUNTS,
        queue="offline",
        resources={"cores": cores},
        checkpoint={"signal": "USR1", "timeout_s": 20},
    )
    hands.reaches(victim, "running", within_s=60)
    eventually(lambda: b"counting" in hands.client.log(victim, attempt=1).data, what="the victim to count")
    held = hands.job(victim)["cpus"]
    urgent = hands.submit("python3", "-c", SEES, resources={"cores": cores})
    assert hands.ended(urgent, within_s=90)["status"] == "succeeded"
    assert hands.log(urgent) == f"{sorted(held)}\n", "exactly the cores that the victim left"

    assert hands.ended(victim, within_s=90)["status"] == "succeeded"
    saved = hands.client.log(victim, attempt=1).data.decode().split("saved at ")[1].split()[0]
    assert hands.log(victim) == f"goes on from {saved}\n"
    told = [event["code"] for event in ask(hands.live, "GET", f"jobs/{victim}/events")]
    wanted = ["preempt-asked", "checkpoint", "requeued", "placed"]
    assert [code for code in told if code in wanted][-4:] == wanted
    assert hands.job(victim)["attempt"] == 2
