"""Checkpoints: asked for by signal or by command, confirmed by the job, taken up by a later attempt."""

import signal
from pathlib import Path
from typing import Any

import pytest

from agent.protocol import Assignment, CheckpointWay, TaskPhase, TaskState, Want
from agent.reconcile import Ask, Stage, Start, Task, reconcile
from agent.runners.checkpoints import Checkpoints
from agent.task import Record, key_of
from tests.agent.conftest import AgentProcess
from tests.agent.server import ControlPlane, assignment
from tests.waiting import eventually

acceptance = pytest.mark.acceptance
BY_SIGNAL = CheckpointWay(signal="USR1", timeout_s=20)
COUNTS = """
n=0
[ -n "$HEADRACE_RESUME_DIR" ] && n=$(cat $HEADRACE_RESUME_DIR/n) && echo resumed at $n
trap 'echo asked; echo $n > $HEADRACE_CHECKPOINT_DIR/n; echo > $HEADRACE_CHECKPOINT_DIR/new;
      mv $HEADRACE_CHECKPOINT_DIR/new $HEADRACE_CHECKPOINT_DONE' USR1
echo ready
while [ $n -lt 100000 ]; do n=$((n+1)); sleep 0.02; done
"""


def counting(placement: int = 1, **changes: Any) -> Assignment:
    return assignment(placement, "sh", "-c", COUNTS, **({"checkpoint": BY_SIGNAL} | changes))


def answered(server: ControlPlane) -> TaskState:
    """The running task once it told what became of the asking."""

    def state() -> TaskState | None:
        found = server.task(1, TaskPhase.RUNNING)
        return found if found and found.checkpoint and found.checkpoint.asked is not None else None

    return eventually(state)


def test_every_new_number_asks_once_and_only_what_runs() -> None:
    wanted = counting(checkpoint_asked=2)
    key = key_of(wanted)
    tell = {"past": (), "observe_only": False}
    for asked, expected in ((None, [Ask(wanted)]), (1, [Ask(wanted)]), (2, [])):
        assert reconcile({key: Task(key, Stage.LIVE, asked=asked)}, [wanted], **tell) == expected  # type: ignore[arg-type]
    assert reconcile({key: Task(key, Stage.UNSTARTED)}, [wanted], **tell) == [Start(wanted)]  # type: ignore[arg-type]
    for stage in (Stage.STOPPING, Stage.ENDED):
        assert reconcile({key: Task(key, stage)}, [wanted], **tell) == []  # type: ignore[arg-type]


@acceptance
def test_a_job_is_asked_by_signal_and_a_later_attempt_with_another_user_goes_on_from_there(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    server.want(counting())
    eventually(lambda: server.log(1) == b"ready\n")
    server.want(counting(checkpoint_asked=7))
    made = answered(server)
    assert made.checkpoint is not None and (made.checkpoint.asked, made.checkpoint.problem) == (7, "")
    count = int((Path(made.checkpoint.path) / "n").read_text())
    server.want(counting(checkpoint_asked=7), counting(2))
    eventually(lambda: server.log(2) == b"ready\n")
    assert server.log(1) == b"ready\nasked\n"
    server.want(counting(want=Want.STOP))
    assert server.wait_task(1, TaskPhase.ENDED).checkpoint == made.checkpoint
    server.want(counting(attempt=2, fence=2, job=1001, resume_from=made.checkpoint.path))
    eventually(lambda: server.log(1).endswith(f"resumed at {count}\nready\n".encode()), what=str(server.logs))
    later = server.wait_task(1, TaskPhase.RUNNING)
    assert later.checkpoint is None and (made.uid is None or later.uid != made.uid)


@acceptance
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ('id -u > "$HEADRACE_CHECKPOINT_DIR/uid"; test -f here', ""),
        ("exit 3", "the checkpoint command failed"),
    ],
)
def test_a_command_makes_the_checkpoint_as_the_jobs_user(
    server: ControlPlane, agent: AgentProcess, script: str, problem: str
) -> None:
    agent.start()
    way = CheckpointWay(command=["sh", "-c", script], timeout_s=20)
    wanted = ("sh", "-c", "echo > here; echo ready; exec sleep 1000")
    server.want(assignment(1, *wanted, checkpoint=way))
    eventually(lambda: server.log(1) == b"ready\n")
    server.want(assignment(1, *wanted, checkpoint=way, checkpoint_asked=1))
    state = answered(server)
    assert state.checkpoint is not None and state.checkpoint.problem == problem
    assert bool(state.checkpoint.path) == (not problem)
    if not problem and state.uid is not None:
        assert (Path(state.checkpoint.path) / "uid").read_text() == f"{state.uid}\n"


@acceptance
def test_a_job_that_does_not_answer_is_told_so_and_runs_on(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    deaf = ("sh", "-c", "trap '' USR1; echo ready; exec sleep 1000")
    way = CheckpointWay(signal="USR1", timeout_s=1)
    server.want(assignment(1, *deaf, checkpoint=way))
    eventually(lambda: server.log(1) == b"ready\n")
    server.want(assignment(1, *deaf, checkpoint=way, checkpoint_asked=1))
    state = answered(server)
    assert (
        state.checkpoint is not None
        and "within 1 s" in state.checkpoint.problem
        and not state.checkpoint.path
    )


@acceptance
def test_an_agent_killed_while_it_asks_asks_again(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    gate = agent.folder / "gate"
    late = COUNTS.replace("echo asked;", f"echo asked; while [ ! -e {gate} ]; do sleep 0.05; done;")
    server.want(assignment(1, "sh", "-c", late, checkpoint=BY_SIGNAL))
    eventually(lambda: server.log(1) == b"ready\n")
    server.want(assignment(1, "sh", "-c", late, checkpoint=BY_SIGNAL, checkpoint_asked=1))
    eventually(lambda: server.log(1) == b"ready\nasked\n")
    agent.end(signal.SIGKILL)
    agent.start()
    eventually(lambda: (s := server.task(1)) and s.adopted)
    gate.touch()
    eventually(lambda: (s := server.task(1)) and s.checkpoint and s.checkpoint.asked == 1)


def test_replicas_of_one_attempt_share_no_folder(tmp_path: Path) -> None:
    """Also where the checkpoints of all nodes lie in one place; nothing but such a folder is gone on from."""
    checkpoints = Checkpoints(tmp_path, journal_folder=lambda key: tmp_path / str(key.placement))

    def record(**changes: Any) -> Record:
        return Record(counting(**changes), boot_id="b", created_at_ms=0)

    names = [checkpoints.folder(record(replica=replica)).name for replica in (None, 0, 1)]
    assert names == ["1", "1-0", "1-1"]
    for name in names:
        (tmp_path / str(counting().job) / name).mkdir(parents=True)
    for wanted, found in (
        ("/x/1-1", "1-1"),
        ("/x/1", "1"),
        ("/x/..", None),
        ("/x/1-", None),
        ("/x/2-1", None),
    ):
        folder = checkpoints.resume_folder(record(attempt=2, replica=1, resume_from=wanted))
        assert (folder and folder.name) == found
