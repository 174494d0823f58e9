"""What a hostile job, a full disk or a damaged file must not do to the agent."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.host.machine import boot_id
from agent.journal import Journal, write_atomic
from agent.protocol import ExitReason, TaskPhase
from agent.runners.process import ProcessRunner
from agent.runners.task_files import read_facts, write_private
from agent.runners.watcher import Watcher
from agent.task import Record, TaskKey
from tests.agent.conftest import AgentProcess
from tests.agent.server import ControlPlane, assignment, eventually

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
