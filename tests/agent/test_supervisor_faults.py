"""What a hostile job must not do to its supervisor, and what its supervisor must not do to it."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from agent.protocol import ExitReason, TaskPhase, Want
from agent.runners.sysv_ipc import KINDS, owned
from tests.agent.conftest import AgentProcess
from tests.agent.server import ControlPlane, assignment
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance
TABLES = Path("/proc/sysvipc")
PYTHON = "/usr/bin/python3"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give jobs users of their own")
THREAD_OUTLIVES_LEADER = (
    "import ctypes, os, threading, time; threading.Thread(target=time.sleep, args=(600,)).start();"
    "print(os.getpid(), flush=True); ctypes.CDLL(None).syscall({'x86_64': 60}.get(os.uname().machine, 93), 0)"
)


def test_a_limit_of_a_year_does_not_end_a_job(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    wanted = {"time_limit_s": 365 * 86400, "grace_s": 365 * 86400}
    gate = agent.folder / "gate"
    script = f"trap '' TERM; echo up; while [ ! -e {gate} ]; do sleep 0.05; done; exit 6"
    server.want(assignment(1, "sh", "-c", script, **wanted))
    eventually(lambda: server.log(1) == b"up\n")
    server.want(assignment(1, "sh", "-c", script, want=Want.STOP, **wanted))
    server.wait_task(1, TaskPhase.STOPPING)
    gate.touch()
    state = server.wait_task(1, TaskPhase.ENDED)
    assert (state.exit_code, state.reason, state.message) == (6, ExitReason.STOPPED, "")


@needs_root
def test_a_process_whose_leader_is_gone_dies_with_the_job(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(assignment(1, "sh", "-c", f'setsid {PYTHON} -c "{THREAD_OUTLIVES_LEADER}" & sleep 1; exit 0'))
    state = server.wait_task(1, TaskPhase.ENDED)
    assert state.exit_code == 0 and not state.message
    pid = int(eventually(lambda: server.log(1)))
    assert not Path(f"/proc/{pid}").exists()


@needs_root
def test_a_job_that_stops_its_killer_is_killed(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    code = "import os, signal\nwhile True:\n try: os.kill(-1, signal.SIGSTOP)\n except OSError: pass"
    server.want(assignment(1, "sh", "-c", f"setsid {PYTHON} -c '{code}' & sleep 0.5; exit 3"))
    server.wait_task(1, TaskPhase.RUNNING)
    server.want(assignment(1, "true", want=Want.STOP, grace_s=0))
    state = server.wait_task(1, TaskPhase.ENDED, timeout_s=20)
    assert not state.message
    owners = [entry.stat().st_uid for entry in os.scandir("/proc") if entry.name.isdecimal()]
    assert state.uid not in owners


def test_a_job_can_open_its_own_outputs(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(
        assignment(1, "sh", "-c", "echo a > /dev/stderr; echo b > /dev/stdout; echo c > /proc/self/fd/1")
    )
    assert server.wait_task(1, TaskPhase.ENDED).exit_code == 0
    eventually(lambda: server.log(1) == b"a\nb\nc\n", what=str(server.log(1)))


@needs_root
def test_a_job_cannot_make_more_processes_than_allowed(server: ControlPlane, agent: AgentProcess) -> None:
    agent.options = ("--max-processes", "20")
    agent.start()
    server.want(
        assignment(1, PYTHON, "-c", "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))")
    )
    server.wait_task(1, TaskPhase.ENDED)
    eventually(lambda: server.log(1) == b"(20, 20)\n")


@needs_root
def test_what_a_job_left_in_the_kernel_goes_with_its_user(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    code = (
        "import ctypes; c = ctypes.CDLL(None); f = 0o1600;"
        "print(min(c.shmget(0, 4096, f), c.msgget(0, f), c.semget(0, 1, f)) >= 0)"
    )
    server.want(assignment(1, PYTHON, "-c", code))
    uid = server.wait_task(1, TaskPhase.ENDED).uid
    eventually(lambda: server.log(1) == b"True\n")
    assert uid is not None and all(owned(TABLES / kind, KINDS[kind][0], uid=uid) for kind in KINDS)
    server.want()
    eventually(lambda: not any(owned(TABLES / kind, KINDS[kind][0], uid=uid) for kind in KINDS))


def test_a_job_whose_folder_is_deleted_ends_with_its_supervisor(
    server: ControlPlane, agent: AgentProcess
) -> None:
    """Also while no agent is there to notice."""
    agent.start()
    server.want(assignment(1, "sh", "-c", "trap '' TERM; sleep 600 & wait; sleep 600", grace_s=1))
    pid = server.wait_task(1, TaskPhase.RUNNING).pid
    supervisor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    agent.end(signal.SIGKILL)
    shutil.rmtree(agent.state / "tasks/1-1-1")
    eventually(lambda: not Path(f"/proc/{pid}").exists(), within_s=20)
    eventually(lambda: not Path(f"/proc/{supervisor}").exists(), within_s=20)
    assert not list((agent.folder / "jobs").iterdir())


def test_an_exit_that_cannot_be_written_is_kept_until_it_can(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    gate = agent.folder / "gate"
    script = f"echo x > big; while [ ! -e {gate} ]; do sleep 0.05; done; exit 7"
    server.want(assignment(1, "sh", "-c", script))
    server.wait_task(1, TaskPhase.RUNNING)
    obstacle = agent.state / "tasks/1-1-1/exit.new"
    obstacle.mkdir()
    gate.touch()
    eventually(lambda: not list((agent.folder / "jobs").iterdir()))
    assert not (agent.state / "tasks/1-1-1/exit").exists()
    obstacle.rmdir()
    assert server.wait_task(1, TaskPhase.ENDED).exit_code == 7
