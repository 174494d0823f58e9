"""Room on the node: a low disk is told until there is room again, and checkpoints go once the server says so."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.config import ConfigError, load_config
from agent.host.disk import DiskWatch, free_mib
from agent.journal import Journal
from agent.pruning import MOST_ASKED, Pruning
from agent.runners.process import ProcessRunner
from tests.waiting import eventually

can_mount = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")


@contextmanager
def small_disk(folder: Path, size_mib: int) -> Iterator[Path]:
    """A real file system of that size."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "small", str(folder)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@can_mount
def test_a_disk_that_fills_is_low_until_there_is_room_again(folder: Path) -> None:
    with small_disk(folder / "small", 8) as disk:
        watch = DiskWatch([disk, folder / "not-there", disk], least_mib=4)
        assert watch.look() == []
        (disk / "a").write_bytes(bytes(3 << 20))
        (disk / "b").write_bytes(bytes(2 << 20))
        (said,) = watch.look()
        assert (said.code, said.params) == ("disk-low", {"folder": str(disk), "least_mib": "4"})
        (disk / "c").write_bytes(bytes(1 << 20))
        assert watch.look() == [said], "told alike, however full it is"
        (disk / "b").unlink()
        (disk / "c").unlink()
        assert watch.look() == []


def test_a_disk_at_its_bound_does_not_go_to_and_fro() -> None:
    free = iter([99, 100, 124, None, 125, 124, 100])
    watch = DiskWatch([Path("/x")], least_mib=100, free=lambda _: next(free))
    assert [len(watch.look()) for _ in range(7)] == [1, 1, 1, 1, 0, 0, 0]


def test_free_room_is_that_of_who_is_not_root(folder: Path) -> None:
    assert free_mib(folder / "not-there") is None
    assert free_mib(folder) == os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize // 2**20


def test_a_bound_that_is_no_size_is_refused() -> None:
    with pytest.raises(ConfigError, match="min_free_mib"):
        load_config(None, flags={"min_free_mib": -1}, environment={})
    assert load_config(None, flags={}, environment={"HEADRACE_AGENT_MIN_FREE_MIB": "0"}).min_free_mib == 0


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def runner(folder: Path) -> Iterator[ProcessRunner]:
    made = ProcessRunner(
        Journal(folder / "state"), jobs_dir=folder / "jobs", checkpoint_dir=folder / "checkpoints"
    )
    yield made
    made.close()


def checkpoint(folder: Path, job: int | str) -> Path:
    made = folder / "checkpoints" / str(job) / "1"
    made.mkdir(parents=True)
    (made / "state").write_text("x")
    return made.parent


def asked(pruning: Pruning, busy: set[int]) -> list[int]:
    """The question, once the folders were looked at."""
    return eventually(lambda: pruning.question(busy))


def test_only_what_was_asked_about_is_over_and_unused_is_removed(runner: ProcessRunner, folder: Path) -> None:
    clock = Clock()
    pruning = Pruning(runner, monotonic=clock)
    folders = {job: checkpoint(folder, job) for job in (1, 2, 3, 4)}
    other = checkpoint(folder, "mine")
    (folder / "checkpoints" / "9").symlink_to(folder / "state")
    assert asked(pruning, {4}) == [1, 2, 3]
    assert pruning.question({4}) == [1, 2, 3], "asked again until it is answered"
    pruning.answered([1, 3, 4, 9, 77], busy={3, 4})
    eventually(lambda: not folders[1].exists())
    assert all(folders[job].exists() for job in (2, 3, 4)) and other.exists() and (folder / "state").exists()
    assert pruning.question(set()) == []
    clock.now_s += 3600
    assert asked(pruning, set()) == [2, 3, 4]


def test_a_late_answer_removes_nothing(runner: ProcessRunner, folder: Path) -> None:
    pruning = Pruning(runner, monotonic=Clock())
    kept = checkpoint(folder, 1)
    assert asked(pruning, set()) == [1]
    pruning.answered([], set())
    pruning.answered([1], set())
    assert kept.exists()


def test_many_are_asked_about_in_turn(runner: ProcessRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(runner, "kept_jobs", lambda: list(range(1, MOST_ASKED + 3)))
    pruning = Pruning(runner, monotonic=clock)
    seen = []
    for _ in range(3):
        part = asked(pruning, set())
        seen.append((part[0], len(part)))
        pruning.answered([], set())
        clock.now_s += 3600
    assert seen == [(1, MOST_ASKED), (MOST_ASKED + 1, 2), (1, MOST_ASKED)]


def test_a_folder_that_hangs_holds_up_no_report(
    runner: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(runner, "kept_jobs", lambda: [1] if hangs.wait(60) else [])
    pruning = Pruning(runner, monotonic=Clock())
    assert [pruning.question(set()) for _ in range(3)] == [[]] * 3
    hangs.set()
    assert asked(pruning, set()) == [1]
