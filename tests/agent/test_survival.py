"""What jobs outlive, and what outlives no job: beside the tests of the process, its supervisor and its containers.

docs/survival.md names for each case the test that shows it.
"""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from agent.protocol import ExitReason, TaskPhase
from agent.runners.process import LOG_LIMIT_BYTES
from tests.agent.conftest import CLONE, AgentProcess
from tests.agent.server import ControlPlane, assignment
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance
MARK = b"[headrace: the log reached its limit"
# Fields that records of the first release had not.
LATER = (
    "image",
    "shared_memory_mib",
    "mounts",
    "network",
    "checkpoint",
    "checkpoint_asked",
    "resume_from",
    "replica",
)


def test_a_flood_of_output_is_capped_and_stops_nothing(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    script = f"head -c {LOG_LIMIT_BYTES + (20 << 20)} /dev/zero; exit 3"
    server.want(assignment(1, "sh", "-c", script))
    state = server.wait_task(1, TaskPhase.ENDED, timeout_s=300)
    assert (state.exit_code, state.reason) == (3, ExitReason.EXITED)
    assert LOG_LIMIT_BYTES <= state.log_bytes < LOG_LIMIT_BYTES + 200
    (log,) = agent.state.glob("*/*/log")
    with log.open("rb") as source:
        source.seek(LOG_LIMIT_BYTES)
        assert source.read().strip().startswith(MARK)


def test_an_upgraded_agent_adopts_what_an_older_one_started(
    server: ControlPlane, agent: AgentProcess
) -> None:
    """The older one's record lacks what it knew nothing of, and has what is known no more; its supervisor runs on."""
    agent.start()
    gate = agent.folder / "gate"
    script = f"echo one; while [ ! -e {gate} ]; do sleep 0.05; done; echo two; exit 6"
    server.want(assignment(1, "sh", "-c", script))
    running = server.wait_task(1, TaskPhase.RUNNING)
    agent.end(signal.SIGTERM)
    (path,) = agent.state.glob("tasks/*/record.json")
    record = json.loads(path.read_text())
    for name in LATER:
        record["assignment"].pop(name, None)
    path.write_text(json.dumps(record | {"of_another_time": [1]}))
    for program in agent.state.glob("*.pyc"):
        program.unlink()
    agent.start()
    eventually(lambda: (state := server.task(1, TaskPhase.RUNNING)) and state.adopted)
    assert server.wait_task(1, TaskPhase.RUNNING).pid == running.pid
    gate.touch()
    assert server.wait_task(1, TaskPhase.ENDED).exit_code == 6
    eventually(lambda: server.log(1) == b"one\ntwo\n")


def test_zombies_and_runaway_children_end_with_the_job(server: ControlPlane, agent: AgentProcess) -> None:
    """A tree that nobody waits for: a zombie that its parent never reaps, and a child that left group and session."""
    agent.start()
    pids = agent.folder / "jobs" / "1-1" / "pids"
    code = (
        "import os,sys,time\n"
        "zombie = os.fork() or os._exit(0)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    open('pids','a').write(str(os.getpid()) + ' '); time.sleep(600)\n"
        "time.sleep(0.2)\n"
        "while not os.path.exists('pids') or not open('pids').read(): time.sleep(0.01)\n"
        "open('pids','a').write(str(zombie)); time.sleep(600)\n"
    )
    server.want(assignment(1, "/usr/bin/python3", "-c", code))
    server.wait_task(1, TaskPhase.RUNNING)
    found = eventually(
        lambda: (
            [int(text) for text in pids.read_text().split()]
            if pids.exists() and " " in pids.read_text()
            else []
        )
    )
    eventually(lambda: len(pids.read_text().split()) == 2)
    found = [int(text) for text in pids.read_text().split()]
    server.want()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in found))
    eventually(lambda: not server.reports[-1].tasks)


def test_the_table_names_tests_that_exist() -> None:
    table = (CLONE / "docs" / "survival.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", table)
    assert len(named) > 20
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (CLONE / path).exists() or f"def {name}(" not in (CLONE / path).read_text(encoding="utf-8")
    ]
    assert not missing, os.linesep.join(missing)
