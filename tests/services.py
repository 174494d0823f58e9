"""A real PostgreSQL and Valkey for the tests that ask for them: loading this names their addresses in the environment,
first use starts them.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.embedded.postgres import Postgres
from controlplane.embedded.processes import ChildSpec, end_session, mark_of, start_child
from controlplane.embedded.state import StateFolder
from controlplane.embedded.valkey import Valkey, free_port
from tests.clean import scrub_environment

# Nothing of a test database has to survive a power cut.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
FOLDER_VARIABLE = "HEADRACE_TEST_FOLDER"


@dataclass
class TestServices:
    """The servers of this test process. Workers share the controller's PostgreSQL and have a Valkey each."""

    __test__ = False

    folder: Path
    owns_folder: bool
    postgres: Postgres | None
    valkey: Valkey | None
    stack: ExitStack = field(default_factory=ExitStack)
    started: set[str] = field(default_factory=set)

    def start_postgres(self) -> None:
        if self.postgres is not None and self.owns_folder and "postgres" not in self.started:
            self.started.add("postgres")
            self.postgres.wait_ready(self.stack.enter_context(running(self.postgres.spec())))

    def start_valkey(self) -> None:
        if self.valkey is not None and "valkey" not in self.started:
            self.started.add("valkey")
            self.valkey.wait_ready(self.stack.enter_context(running(self.valkey.spec())))

    def close(self) -> None:
        self.stack.close()
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def running(spec: ChildSpec) -> Iterator[subprocess.Popen[bytes]]:
    process = start_child(spec)
    mark = mark_of(process.pid, stop_signal=spec.stop_signal)
    try:
        yield process
    finally:
        if mark is not None:
            end_session(mark, grace_s=10.0)
        process.wait()


def plan_services() -> TestServices:
    """Chooses folder, port and passwords and names them in the environment; starts nothing."""
    owns_folder = FOLDER_VARIABLE not in os.environ
    folder = Path(tempfile.mkdtemp(prefix="hr-test-")) if owns_folder else Path(os.environ[FOLDER_VARIABLE])
    if owns_folder:
        folder.chmod(0o711)
        os.environ[FOLDER_VARIABLE] = str(folder)
    shared = StateFolder(folder / "shared")
    own = StateFolder(folder / os.environ.get("PYTEST_XDIST_WORKER", "main"))
    shared.ensure()
    own.ensure()
    os.environ["HEADRACE_STATE"] = str(own.root)
    postgres = valkey = None
    if "DATABASE_URL" not in os.environ or (not owns_folder and "HEADRACE_TEST_OWN_POSTGRES" in os.environ):
        postgres = Postgres(shared, settings=FAST)
        os.environ["DATABASE_URL"] = postgres.url()
        os.environ["HEADRACE_TEST_OWN_POSTGRES"] = "1"
    if "REDIS_URL" not in os.environ or (not owns_folder and "HEADRACE_TEST_OWN_VALKEY" in os.environ):
        valkey = Valkey(own, port=free_port())
        os.environ["REDIS_URL"] = valkey.url()
        os.environ["HEADRACE_TEST_OWN_VALKEY"] = "1"
    return TestServices(folder=folder, owns_folder=owns_folder, postgres=postgres, valkey=valkey)


scrub_environment()
SERVICES = plan_services()
