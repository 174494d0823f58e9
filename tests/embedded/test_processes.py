"""Children are recognised by more than a pid, and end with all that they started."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.embedded.processes import (
    ChildSpec,
    ProcessMark,
    end_session,
    facts_of,
    mark_of,
    read_mark,
    rotate,
    session_members,
    start_child,
    tail,
)
from controlplane.embedded.supervisor import Supervisor
from tests.waiting import eventually

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""
DIES_TWICE = """
import os, signal, sys, time
with open({count!r}, "a") as file:
    file.write("x")
if os.path.getsize({count!r}) < 3:
    sys.exit(3)
os.kill(os.getppid(), signal.SIGTERM)
time.sleep(600)
"""
LEASHED = """
import os, sys, time
sys.path.insert(0, {clone!r})
from pathlib import Path
from typing import Any
from controlplane.embedded.processes import ChildSpec, start_child
child = start_child(ChildSpec(name='x', argv=(sys.executable, '-c', 'import time; time.sleep(600)'), log=Path({log!r})))
print(child.pid, flush=True)
# Only once it runs what was asked for it is on its leash; a name in /proc/PID/comm comes too late to tell.
while not Path(f"/proc/{{child.pid}}/cmdline").read_bytes().startswith(sys.executable.encode()):
    time.sleep(0.01)
os.kill(os.getpid(), 9)
"""


def spec(tmp_path: Path, *argv: str) -> ChildSpec:
    return ChildSpec(name="child", argv=argv or SLEEP, log=tmp_path / "child.log", grace_s=5.0)


def started(tmp_path: Path, *argv: str) -> tuple[subprocess.Popen[bytes], ProcessMark]:
    process = start_child(spec(tmp_path, *argv))
    mark = mark_of(process.pid, stop_signal=signal.SIGTERM)
    assert mark is not None
    return process, mark


def test_a_session_ends_whole(tmp_path: Path) -> None:
    process, mark = started(tmp_path, sys.executable, "-c", PARENT)
    eventually(lambda: len(session_members(mark)) == 2, within_s=10)
    assert end_session(mark, grace_s=0.2)
    process.wait()
    assert session_members(mark) == []


def test_grandchildren_of_a_killed_leader_are_found(tmp_path: Path) -> None:
    process, mark = started(tmp_path, sys.executable, "-c", PARENT)
    eventually(lambda: len(session_members(mark)) == 2, within_s=10)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(session_members(mark)) == 1
    assert end_session(mark, grace_s=2)
    assert session_members(mark) == []


@pytest.mark.parametrize("change", [{"start_ticks": 1}, {"boot_id": "another"}])
def test_a_reused_pid_is_left_alone(tmp_path: Path, change: dict[str, Any]) -> None:
    process, mark = started(tmp_path)
    assert not end_session(replace(mark, **change), grace_s=0.1)
    assert process.poll() is None
    assert end_session(mark, grace_s=2)
    process.wait()


def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    clone = str(Path(__file__).resolve().parents[2])
    script = LEASHED.format(clone=clone, log=str(tmp_path / "log"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pid = int(done.stdout)

    def gone() -> bool:
        facts = facts_of(pid)
        return facts is None or not facts.alive

    eventually(gone, within_s=10)


def test_leftovers_of_a_killed_supervisor_are_ended(tmp_path: Path) -> None:
    process, mark = started(tmp_path)
    mark.write(tmp_path / "web.json")
    said: list[str] = []
    Supervisor(marks=tmp_path, say=said.append).end_leftovers()
    process.wait()
    assert "ended web" in said[0]
    assert not list(tmp_path.glob("*.json"))


def test_a_dead_child_is_started_again_and_named(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(marks=tmp_path, say=said.append)
    count = tmp_path / "count"
    program = DIES_TWICE.format(count=str(count))
    with supervisor.stopping_on_signals():
        supervisor.start(spec(tmp_path, sys.executable, "-c", program))
        supervisor.watch()
        supervisor.stop_all()
    assert count.read_text() == "xxx"
    assert [line.split(";")[0] for line in said][:2] == ["child ended with exit status 3"] * 2


def test_unreadable_marks_are_no_marks(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text(json.dumps({"pid": 1}))
    assert read_mark(tmp_path / "a.json") is None
    assert read_mark(tmp_path / "b.json") is None


def test_logs_are_rotated_and_their_end_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_bytes(b"line\n" * 4_000_000)
    rotate(log)
    assert log.stat().st_size == 0
    assert log.with_suffix(".log.1").stat().st_size == 20_000_000
    log.write_text("one\ntwo\nthree\n")
    assert tail(log, lines=2) == "two\nthree"
    assert tail(tmp_path / "none.log") == ""
