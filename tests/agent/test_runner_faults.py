"""What a hostile job, a full disk or a damaged file must not do to the agent."""

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.fact_files import read_facts
from agent.host.machine import boot_id
from agent.journal import Journal, write_atomic
from agent.protocol import ExitReason, TaskPhase
from agent.runners.identity import remove_tree
from agent.runners.jobs_dir import is_own_folder
from agent.runners.process import ProcessRunner
from agent.runners.task_files import write_private
from agent.runners.watcher import Watcher
from agent.task import Record, TaskKey
from tests.agent.conftest import AgentProcess
from tests.agent.server import ControlPlane, assignment
from tests.waiting import eventually

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give jobs users of their own")
DEAD = f"pid=1\nstart_ticks=3\nboot_id={boot_id(Path('/'))}\n"


def record(placement: int = 1) -> Record:
    return Record(assignment=assignment(placement), boot_id="b", created_at_ms=1)


@contextmanager
def nearly_full_disk(free_bytes: int) -> Iterator[None]:
    """Files cannot grow beyond so many bytes: the kernel takes a part, then refuses, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def runner(folder: Path) -> Iterator[ProcessRunner]:
    made = ProcessRunner(Journal(folder / "state"), jobs_dir=folder / "jobs")
    yield made
    made.close()


def test_an_end_that_cannot_be_written_down_is_known_and_written_later(
    runner: ProcessRunner, folder: Path
) -> None:
    task = folder / "state/tasks/1-1-1"
    task.mkdir()
    (task / "start").write_text(DEAD)
    with nearly_full_disk(10):
        first = runner.progress(record())
        assert first.outcome is not None and first.outcome.reason is ExitReason.LOST_PROCESS
        assert runner.progress(record()) == first and not (task / "exit").exists()
    assert runner.progress(record()).outcome == first.outcome
    assert read_facts(task / "exit")["reason"] == "lost-process"
    assert read_facts(task / "exit")["ended_at_ms"] == str(first.outcome.ended_at_ms)


def test_a_task_that_cannot_be_looked_at_keeps_its_last_state(runner: ProcessRunner, folder: Path) -> None:
    task = folder / "state/tasks/1-1-1"
    task.mkdir()
    (task / "start").write_text("")
    (task / "started").write_text("pid=1\ncpus=1,x\n")
    assert runner.progress(record()).phase is TaskPhase.PREPARING


@pytest.mark.parametrize("write", [write_atomic, write_private])
def test_a_short_write_never_replaces_a_good_file(
    tmp_path: Path, write: Callable[[Path, bytes], None]
) -> None:
    write(tmp_path / "file", b"good")
    with nearly_full_disk(10), pytest.raises(OSError, match="File too large"):
        write(tmp_path / "file", b"x" * 100)
    assert (tmp_path / "file").read_bytes() == b"good"


def test_the_watcher_outlives_news_that_cannot_be_handled() -> None:
    seen: list[int] = []

    def changed(key: TaskKey) -> None:
        seen.append(key.placement)
        raise OSError(28, "No space left on device")

    watcher = Watcher(changed)
    for placement in (1, 2):
        reader, writer = os.pipe()
        watcher.watch_start(TaskKey(placement, 1, 1), reader)
        os.close(writer)
        eventually(lambda n=placement: n in seen)  # type: ignore[misc]
    watcher.close()


def test_an_ended_jobs_folder_goes_before_it_is_let_go(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(assignment(1, "sh", "-c", "echo x > file"))
    server.wait_task(1, TaskPhase.ENDED)
    eventually(lambda: not list((agent.folder / "jobs").iterdir()))
    assert list(agent.state.glob("tasks/*/exit"))


def test_a_tree_too_deep_for_recursion_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    handle = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    remove_tree(top)
    assert not top.exists()


@needs_root
def test_work_folders_of_no_task_are_swept(runner: ProcessRunner, folder: Path) -> None:
    jobs = folder / "jobs"
    for name in ("1-1", "2-1", "other"):
        (jobs / name).mkdir()
        os.chown(jobs / name, 61184 + os.getpid() % 4000, -1)
    runner.sweep({record().key})
    assert sorted(os.listdir(jobs)) == ["1-1", "other"]


def test_a_job_whose_record_is_damaged_is_found_again(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    wanted = assignment(1, "sh", "-c", "echo up; sleep 600")
    server.want(wanted)
    before = server.wait_task(1, TaskPhase.RUNNING)
    agent.end(signal.SIGKILL)
    (agent.state / "tasks/1-1-1/record.json").write_bytes(b"\x00" * 40)
    agent.start()
    eventually(lambda: (s := server.task(1, TaskPhase.RUNNING)) and s.adopted)
    after = server.wait_task(1, TaskPhase.RUNNING)
    assert (after.pid, after.uid) == (before.pid, before.uid)
    server.want()
    state = server.wait_task(1, TaskPhase.ENDED)
    assert state.reason is ExitReason.STOPPED and not Path(f"/proc/{before.pid}").exists()


def test_a_folder_that_somebody_else_put_there_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert is_own_folder(tmp_path) and not is_own_folder(tmp_path / "link")
    if os.geteuid() == 0:
        (tmp_path / "foreign").mkdir()
        os.chown(tmp_path / "foreign", 61184, -1)
        assert not is_own_folder(tmp_path / "foreign")


def test_a_task_that_cannot_be_let_go_delays_no_other(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(assignment(1, "true"))
    server.wait_task(1, TaskPhase.ENDED)
    obstacle = agent.state / "done/1-1-1"
    obstacle.mkdir()
    server.want(assignment(2, "true"))
    server.wait_task(2, TaskPhase.ENDED)
    assert server.task(1, TaskPhase.ENDED) is not None and (agent.state / "tasks/1-1-1").exists()
    obstacle.rmdir()
    server.want(assignment(2, "true"))
    eventually(lambda: obstacle.is_file() and not (agent.state / "tasks/1-1-1").exists())
