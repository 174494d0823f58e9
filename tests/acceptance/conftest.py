"""One running instance for all acceptance tests that need no start of their own, and hands to use it with."""

import os
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.instance import BIN, Instance, clean_environment, own_instance
from client.follow import FINAL
from tests.policies import UNCAPPED
from tests.waiting import PATIENCE_S, eventually


@pytest.fixture(scope="session")
def live() -> Iterator[Instance]:
    """`manage.py up` with this machine's agent; what a test breaks it waits to see repaired."""
    with own_instance() as instance:
        headers = {"Authorization": f"Bearer {instance.client.token}"}
        body = {"document": UNCAPPED, "reason": "one machine"}
        answer = httpx.post(
            f"{instance.url}/api/v1/policies", json=body, headers=headers, timeout=PATIENCE_S, trust_env=False
        )
        answer.raise_for_status()
        yield instance


class Hands:
    """What a person or a pipeline does with an instance."""

    def __init__(self, live: Instance, folder: Path) -> None:
        self.live = live
        self.client = live.client
        self.folder = folder

    def headrace(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run the command-line client to its end."""
        return subprocess.run(**self._call(arguments), input=stdin, capture_output=True, check=False)

    def headrace_started(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command-line client and let it go on beside us."""
        return subprocess.Popen(**self._call(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def submit(self, *command: str, **more: Any) -> int:
        """Submit a job; its number."""
        return int(self.client.submit({"queue": "training", "command": list(command), **more})["id"])

    def job(self, number: int) -> dict[str, Any]:
        return self.client.job(number)

    def reaches(self, number: int, *statuses: str, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """The job once it has one of these statuses."""
        eventually(lambda: self.job(number)["status"] in statuses, within_s=within_s, what=f"{statuses}")
        return self.job(number)

    def ended(self, number: int, *, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """The job once it ended."""
        return self.reaches(number, *FINAL, within_s=within_s)

    def log(self, number: int) -> str:
        """All that the job wrote, once it is complete."""
        found: list[str] = []

        def complete() -> bool:
            part = self.client.log(number, attempt=self.job(number)["attempt"])
            found[:] = [part.data.decode()]
            return part.complete

        eventually(complete, what="the whole log")
        return found[0]

    def gate(self) -> Path:
        """A file that does not exist yet, where jobs of any account can see it once it does."""
        return self.folder / uuid.uuid4().hex

    def _call(self, arguments: tuple[str, ...]) -> dict[str, Any]:
        own = {
            "HEADRACE_URL": self.live.url,
            "HEADRACE_TOKEN": self.client.token or "",
            "HEADRACE_CONFIG": os.devnull,
            "LC_ALL": "C.UTF-8",
        }
        return {"args": [str(BIN / "headrace"), *arguments], "env": clean_environment() | own, "text": True}


@pytest.fixture
def hands(live: Instance) -> Iterator[Hands]:
    """Hands on the running instance, with a folder that every account may look into."""
    with passable_folder() as folder:
        yield Hands(live, folder)


@contextmanager
def passable_folder() -> Iterator[Path]:
    """pytest's own folders are closed to the accounts of jobs."""
    with tempfile.TemporaryDirectory(prefix="hr-acc-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def waiting_for(gate: Path, *, then: str) -> tuple[str, str, str]:
    """A command that runs until the gate exists."""
    return "/bin/sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.1; done; {then}"
