"""A real server whose PostgreSQL or Valkey dies for a while: clear answers soon, recovery without help."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from controlplane.base import clock
from controlplane.embedded.postgres import Postgres
from controlplane.embedded.processes import ChildSpec
from controlplane.embedded.state import CLONE, StateFolder
from controlplane.embedded.valkey import Valkey, free_port
from tests.services import FAST, running
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance
PATIENCE_S = 30.0
# A request that needs a dead server says so within this time.
SOON_S = 5.0
FIRST_ROWS = """
from controlplane.accounts.models import Team, User
from controlplane.accounts.models import ApiToken
user = User(username="root", role="admin")
user.set_password("correct-horse-battery")
user.save()
Team.objects.create(slug="vision", name="Vision")
print(ApiToken.objects.create(user=user, name="t", scopes=["read", "submit", "write"])[1])
"""


class Site:
    """PostgreSQL, Valkey and one web process of our own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.state, self.stack, self.port = StateFolder(folder), stack, free_port()
        self.state.ensure()
        self.postgres = Postgres(self.state, settings=FAST)
        self.valkey = Valkey(self.state, port=free_port())
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")},
            "DATABASE_URL": self.postgres.url(),
            "REDIS_URL": self.valkey.url(),
            "HEADRACE_STATE": str(folder),
            "HEADRACE_SECRET_KEY_FILE": str(self._secret_key()),
            "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        }

    def _secret_key(self) -> Path:
        path = self.state.root / "key"
        path.write_text("k" * 50)
        return path

    def start(self, server: Postgres | Valkey) -> Any:
        process = self.stack.enter_context(running(server.spec()))
        server.wait_ready(process)
        return process

    def manage(self, *arguments: str, text: str | None = None) -> str:
        argv, env = [sys.executable, "manage.py", *arguments], self.env
        done = subprocess.run(argv, cwd=CLONE, env=env, input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start_web(self) -> httpx.Client:
        granian = str(Path(sys.prefix) / "bin" / "granian")
        argv = (granian, "--interface", "asginl", "--port", str(self.port), "controlplane.asgi:application")
        spec = ChildSpec(name="web", argv=argv, env=self.env, cwd=CLONE, log=self.state.logs / "web.log")
        self.stack.enter_context(running(spec))
        client = self.stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=20))
        eventually(lambda: answers(client), within_s=PATIENCE_S, what=(self.state.logs / "web.log").read_text)
        return client


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Site, httpx.Client, dict[str, Any]]]:
    folder = Path(tempfile.mkdtemp(prefix="hr-outage-"))
    folder.chmod(0o711)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        found = Site(folder, stack)
        processes = {"postgres": found.start(found.postgres), "valkey": found.start(found.valkey)}
        found.manage("migrate", "-v0")
        token = found.manage("shell", "--no-imports", "-v0", text=FIRST_ROWS).strip().splitlines()[-1]
        client = found.start_web()
        client.headers["Authorization"] = f"Bearer {token}"
        yield found, client, processes


def timed(call: Callable[[], httpx.Response]) -> tuple[httpx.Response, float]:
    started_s = clock.monotonic_s()
    answer = call()
    return answer, clock.monotonic_s() - started_s


def rename(client: httpx.Client) -> httpx.Response:
    return client.patch("/api/v1/teams/vision", json={"name": "Vision"})


def sign_in(site: Site) -> httpx.Response:
    with httpx.Client(base_url=f"http://127.0.0.1:{site.port}", timeout=20) as browser:
        browser.get("/api/v1/me")
        headers = {"X-CSRFToken": browser.cookies["headrace_csrf"]}
        body = {"username": "root", "password": "correct-horse-battery"}
        return browser.post("/_allauth/browser/v1/auth/login", json=body, headers=headers)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_without_valkey_work_goes_on_and_sign_in_is_closed(site: Any, how: signal.Signals) -> None:
    found, client, processes = site
    # The test before may have left the way to the broker closed for a moment.
    eventually(lambda: sign_in(found).status_code == 200, within_s=PATIENCE_S)
    processes["valkey"].send_signal(how)
    try:
        for call in (rename, rename, lambda c: c.get("/api/v1/me"), lambda c: c.get("/api/v1/audit")):
            answer, took_s = timed(functools.partial(call, client))
            assert answer.status_code == 200 and took_s < SOON_S, answer.text
        refused, took_s = timed(lambda: sign_in(found))
        assert (refused.status_code, refused.json()["code"]) == (503, "broker-unavailable")
        assert took_s < SOON_S and refused.headers["Retry-After"]
        assert client.get("/readyz").json() == {"status": "degraded", "database": True, "broker": False}
    finally:
        if how == signal.SIGSTOP:
            processes["valkey"].send_signal(signal.SIGCONT)
        else:
            processes["valkey"].wait()
            processes["valkey"] = found.start(found.valkey)
    eventually(lambda: sign_in(found).status_code == 200, within_s=PATIENCE_S)


def stop_all(postmaster_pid: int, how: signal.Signals) -> None:
    """The server with all of its processes."""
    children = [
        int(stat.parent.name)
        for stat in Path("/proc").glob("[0-9]*/stat")
        if parent_of(stat) == postmaster_pid
    ]
    for pid in [postmaster_pid, *children]:
        with suppress(ProcessLookupError):
            os.kill(pid, how)


def parent_of(stat: Path) -> int | None:
    with suppress(OSError):
        return int(stat.read_text().rpartition(")")[2].split()[1])
    return None


def test_a_database_that_hangs_is_no_reason_to_hang(site: Any) -> None:
    _found, client, processes = site
    with ThreadPoolExecutor(5) as threads:
        list(threads.map(lambda _n: client.get("/api/v1/me"), range(5)))
    stop_all(processes["postgres"].pid, signal.SIGSTOP)
    try:
        for call in (lambda: client.get("/readyz"), lambda: rename(client), lambda: client.get("/readyz")):
            answer, took_s = timed(call)
            assert answer.status_code == 503, answer.text
            assert took_s < SOON_S
        assert client.get("/readyz").json()["database"] is False
        assert client.get("/healthz").status_code == 200
    finally:
        stop_all(processes["postgres"].pid, signal.SIGCONT)
    eventually(lambda: client.get("/api/v1/me").status_code == 200, within_s=PATIENCE_S)
    assert [rename(client).status_code for _ in range(10)] == [200] * 10


def test_more_requests_than_connections_are_told_to_come_back(site: Any) -> None:
    """Slow statements are waited for, since the server answers others; who gets no connection is sent away."""
    found, client, _processes = site
    with ThreadPoolExecutor(30) as threads, psycopg.connect(found.postgres.url()) as holder:
        holder.execute("LOCK TABLE accounts_team")
        waiting = [threads.submit(rename, client) for _ in range(30)]
        refused = [next(as_completed(waiting)).result() for _ in range(1)]
        holder.rollback()
        answers_ = [future.result() for future in waiting]
    assert refused[0].status_code == 503 and refused[0].headers["Retry-After"]
    assert refused[0].json()["code"] == "database-unavailable"
    assert {answer.status_code for answer in answers_} == {200, 503}


def test_without_the_database_requests_say_so_and_recover(site: Any) -> None:
    found, client, processes = site
    # Several connections of the pool are open when the server dies.
    for _ in range(5):
        assert client.get("/api/v1/me").status_code == 200
    processes["postgres"].send_signal(signal.SIGKILL)
    processes["postgres"].wait()
    for call in (rename, lambda c: c.get("/api/v1/me"), lambda _c: sign_in(found)):
        answer, took_s = timed(functools.partial(call, client))
        assert answer.status_code == 503, answer.text
        assert answer.json()["code"] == "database-unavailable"
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert took_s < 2 * SOON_S
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503
    processes["postgres"] = found.start(found.postgres)
    eventually(lambda: client.get("/api/v1/me").status_code == 200, within_s=PATIENCE_S)
    assert [rename(client).status_code for _ in range(10)] == [200] * 10
