"""A control plane, and agents as processes of their own that leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.fact_files import number, read_facts
from agent.runners.usage import start_ticks
from tests.agent.server import ControlPlane
from tests.waiting import eventually

CLONE = Path(__file__).resolve().parents[2]


@dataclass
class AgentProcess:
    """`headrace-agent run` on a state folder; it can be killed and started again."""

    url: str
    folder: Path
    options: tuple[str, ...] = ()
    path: str | None = None
    process: subprocess.Popen[bytes] | None = None
    exit_codes: list[int] = field(default_factory=list)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def start(self) -> AgentProcess:
        token = self.folder / "token"
        token.write_text("one-time\n")
        token.chmod(0o600)
        argv = [sys.executable, "-m", "agent", "run", "--server", self.url, "--state-dir", str(self.state)]
        argv += ["--token-file", str(token), "--jobs-dir", str(self.folder / "jobs"), *self.options]
        environment = {
            "PATH": self.path or os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(
                [str(CLONE), *(path for path in sys.path if path.endswith("-packages"))]
            ),
            "HOME": str(self.folder),
        }
        with (self.folder / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(argv, env=environment, stdout=log, stderr=log, cwd=self.folder)
        return self

    def end(self, number_: int = signal.SIGTERM) -> int:
        """Signal it and wait for its end."""
        assert self.process is not None
        self.process.send_signal(number_)
        self.exit_codes.append(self.process.wait(timeout=20))
        return self.exit_codes[-1]

    def log(self) -> str:
        path = self.folder / "agent.log"
        return path.read_text() if path.exists() else "it was never started"


def end_supervisors(state: Path) -> None:
    """End what an agent's jobs left running: supervisors by pid and start time, their jobs with them."""
    for start in state.glob("*/*/start"):
        facts = read_facts(start)
        pid = number(facts.get("pid"))
        if pid and start_ticks(pid) == number(facts.get("start_ticks")):
            (start.parent / "stop").touch()
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            eventually(lambda pid=pid: start_ticks(pid) == 0, within_s=40)  # type: ignore[misc]


@pytest.fixture
def server() -> Iterator[ControlPlane]:
    plane = ControlPlane()
    yield plane
    plane.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that job users can reach, which pytest's own are not for root."""
    with tempfile.TemporaryDirectory(prefix="hr-agent-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture
def agent(server: ControlPlane, folder: Path) -> Iterator[AgentProcess]:
    """Not yet started."""
    process = AgentProcess(server.url, folder)
    yield process
    if process.process is not None and process.process.poll() is None:
        process.end(signal.SIGKILL)
    end_supervisors(process.state)
    print(process.log())  # shown when the test failed
