"""The first job of a newcomer: through the real command line, server, agent and process, to its exit code."""

import json
import os
import pwd
import uuid
from pathlib import Path

import pytest

from controlplane.embedded.processes import facts_of
from tests.acceptance.conftest import Hands, waiting_for
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance

WHERE_AM_I = (
    "import os, sys, time\n"
    "print(sorted(os.sched_getaffinity(0)), os.getuid(), flush=True)\n"
    "while not os.path.exists(sys.argv[1]): time.sleep(0.05)\n"
)


def alive(pid: int) -> bool:
    facts = facts_of(pid)
    return facts is not None and facts.alive


def number_in(text: str) -> int:
    return int(text.split("Job ", 1)[1].split()[0])


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core cannot be shared out to two jobs")
def test_two_jobs_at_once_get_cores_of_their_own_and_no_rights_of_ours(hands: Hands) -> None:
    gate = hands.gate()
    command = ("submit", "--wait", "--cores", "1", "--", "python3", "-c", WHERE_AM_I, str(gate))
    started = [hands.headrace_started(*command) for _ in range(2)]
    eventually(
        lambda: len(hands.client.jobs(status="running", search="python3")) == 2, what="two jobs that run"
    )
    gate.touch()
    said = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    seen_cores = []
    for output, progress in said:
        job = hands.job(number_in(progress))
        cores, uid = json.loads(output.partition("]")[0] + "]"), int(output.rpartition("]")[2])
        assert cores == job["cpus"] == hands.client.explain(job["id"])["decision"]["cpus"]
        # Without accounts of their own there is none to tell.
        assert job["uid"] == (uid if os.geteuid() == 0 else None)
        assert_powerless(uid)
        seen_cores.append(set(cores))
    assert not seen_cores[0] & seen_cores[1]


def assert_powerless(uid: int) -> None:
    """As root, jobs get accounts of their own; an ordinary user's jobs can only be that user's."""
    if os.geteuid() == 0:
        assert uid not in (0, pwd.getpwnam("nobody").pw_uid)
    else:
        assert uid == os.geteuid()


def test_the_client_ends_with_the_jobs_own_exit_code_and_shows_what_it_wrote(hands: Hands) -> None:
    done = hands.headrace("submit", "--wait", "--", "sh", "-c", "echo out; echo err >&2; exit 23")
    assert done.returncode == 23
    assert sorted(done.stdout.split()) == ["err", "out"]
    assert "failed: exit code 23" in done.stderr


def test_a_command_that_does_not_exist_fails_with_a_reason(hands: Hands) -> None:
    done = hands.headrace("submit", "--wait", "--", "/no/such/program")
    assert done.returncode in (126, 127)
    job = hands.job(number_in(done.stderr))
    assert job["status"] == "failed" and "/no/such/program" in job["exit_message"] + hands.log(job["id"])


def test_explain_says_why_a_job_waits_and_why_one_was_placed(hands: Hands) -> None:
    waiting = hands.submit("true", resources={"cores": 8192})
    eventually(lambda: hands.job(waiting)["reason"]["code"] == "cores-total", what="a reason")
    said = hands.headrace("explain", str(waiting)).stdout
    assert "This job needs 8192 cores in one node" in said
    hands.client.cancel(waiting)
    placed = hands.ended(hands.submit("true"))
    said = hands.headrace("explain", str(placed["id"])).stdout
    assert f"Placed on {placed['node']['name']}" in said and "resource-fit" in said


def test_an_unknown_field_is_named(hands: Hands, tmp_path: Path) -> None:
    spec = tmp_path / "job.json"
    spec.write_text(json.dumps({"queue": "training", "command": ["true"], "resources": {"corse": 2}}))
    done = hands.headrace("submit", "--file", str(spec))
    assert done.returncode == 64
    assert "resources.corse" in done.stderr


def test_one_key_makes_one_job(hands: Hands) -> None:
    key = uuid.uuid4().hex
    first = hands.headrace("submit", "--idempotency-key", key, "--", "true")
    again = hands.headrace("submit", "--idempotency-key", key, "--", "true")
    other = hands.headrace("submit", "--idempotency-key", key, "--", "false")
    assert first.returncode == again.returncode == 0
    assert first.stdout == again.stdout
    assert other.returncode == 64 and "Idempotency-Key" in other.stderr


def test_a_job_that_ignores_term_is_ended_all_the_same(hands: Hands) -> None:
    job = hands.submit("/bin/sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.2; done")
    hands.reaches(job, "running")
    eventually(lambda: hands.client.log(job, attempt=1).data.strip(), what="its first word")
    pid = int(hands.client.log(job, attempt=1).data)
    assert alive(pid)
    hands.client.cancel(job)
    eventually(lambda: not alive(pid), what="its end")
    eventually(lambda: hands.client.placements(job)[-1]["phase"] == "released", what="its cores")
    assert hands.job(job)["status"] == "cancelled"


def test_a_killed_agent_adopts_its_jobs(hands: Hands) -> None:
    gate = hands.gate()
    job = hands.submit(*waiting_for(gate, then="exit 5"))
    before = hands.reaches(job, "running")
    agent = hands.live.pid_of("agent")
    assert agent is not None
    os.kill(agent, 9)
    eventually(lambda: hands.live.pid_of("agent") not in (None, agent), what="another agent")
    eventually(lambda: hands.client.placements(job)[-1]["adopted"], what="the adoption")
    gate.touch()
    after = hands.ended(job)
    assert (after["status"], after["exit_code"], after["attempt"]) == ("failed", 5, 1)
    assert after["started_at"] == before["started_at"]


def test_a_second_start_has_all_data_and_jobs_ran_on_meanwhile(hands: Hands) -> None:
    gate = hands.gate()
    old = hands.ended(hands.submit("echo", "remember me"))
    job = hands.submit(*waiting_for(gate, then="echo survived; exit 6"))
    hands.reaches(job, "running")
    hands.live.stop()
    hands.live.start()
    assert hands.job(old["id"]) == old
    assert hands.log(old["id"]) == "remember me\n"
    gate.touch()
    after = hands.ended(job)
    assert (after["exit_code"], after["attempt"]) == (6, 1)
    assert hands.log(job) == "survived\n"
