"""Foreign commands that hang."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.host import commands
from agent.host.commands import run_command
from agent.vendors import command, nvidia
from agent.vendors.base import ProbeError
from agent.vendors.command import ask
from agent.vendors.reading.findings import Capture

SCRIPT = """#!/bin/sh
echo $$ >> {pids}
exec sleep 600
"""


class Hanging:
    """A tool that hangs in its driver: it dies of no signal before `release`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self._pids = folder / "nvidia-smi", folder / "pids"
        self.path.write_text(SCRIPT.format(pids=self._pids))
        self.path.chmod(0o755)
        self._kill, self._monkeypatch = os.killpg, monkeypatch
        monkeypatch.setattr(os, "killpg", lambda pid, signal: None)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def started(self) -> list[int]:
        return [int(pid) for pid in self._pids.read_text().split()]

    def release(self) -> None:
        self._monkeypatch.undo()
        for process in commands._hanging.values():
            self._kill(process.pid, 9)
            process.wait(timeout=20)


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    tool = Hanging(tmp_path, monkeypatch)
    yield tool
    tool.release()
    commands._hanging.clear()


def by_nvidia(tool: Hanging) -> None:
    nvidia.read_by_command("no library")


def by_another_vendor(tool: Hanging) -> None:
    ask(str(tool.path), [["-q"]], lambda text: Capture())


@pytest.mark.parametrize("look", [by_nvidia, by_another_vendor])
def test_a_tool_that_cannot_be_killed_is_started_once(
    hanging: Hanging, monkeypatch: pytest.MonkeyPatch, look
) -> None:
    """C32: asked every ten seconds, a tool in its driver's hands would fill the machine with itself."""
    monkeypatch.setattr(nvidia, "COMMAND_TIMEOUT_S", 0.3)
    monkeypatch.setattr(command, "ROUND_TIMEOUT_S", 0.3)
    with pytest.raises(ProbeError, match="no answer within"):
        look(hanging)
    for _ in range(3):
        with pytest.raises(ProbeError, match="still hangs"):
            look(hanging)
    assert len(hanging.started()) == 1


def test_another_question_is_asked_and_the_same_again_once_it_is_gone(hanging: Hanging) -> None:
    first = [str(hanging.path)]
    assert run_command(first, timeout_s=0.3).stuck is not None
    assert "still hangs" in run_command(first, timeout_s=0.3).problem
    assert run_command(["echo", "fine"], timeout_s=20).output == "fine\n"
    hanging.release()
    hanging.path.write_text("#!/bin/sh\necho back\n")
    assert run_command(first, timeout_s=20).output == "back\n"
