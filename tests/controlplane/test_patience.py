"""The pool's check of a connection: left out while it would tell nothing new, never once the server has gone."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import psycopg
import pytest
from psycopg.waiting import Ready, Wait

from controlplane.settings import patience
from controlplane.settings.patience import PatientConnection


@pytest.fixture
def connection(postgres_url: str) -> Iterator[PatientConnection]:
    with PatientConnection.connect(postgres_url, autocommit=True) as opened:
        assert isinstance(opened, PatientConnection)
        yield opened


def asked(connection: PatientConnection) -> bool:
    """Whether the server was asked: only then is there an answer."""
    return connection.execute("").pgresult is not None


def test_a_check_is_not_repeated_at_once(connection: PatientConnection) -> None:
    assert asked(connection)
    assert not asked(connection)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_connection_that_the_server_closed_fails_its_check_at_once(
    connection: PatientConnection, postgres_url: str
) -> None:
    assert asked(connection)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        connection.execute("")


def silent_for_s(
    connection: PatientConnection, monkeypatch: pytest.MonkeyPatch, *, answered_s: float
) -> float:
    """How long a wait for a statement goes on once the server, which answered until then, says nothing at all."""
    now_s = 0.0

    class Server:
        def answers(self, _host: str, _port: str) -> bool:
            nonlocal now_s
            alive = now_s < answered_s
            now_s += 0.0 if alive else patience.PROBE_TIMEOUT_S
            return alive

    def statement() -> Generator[Wait, Ready, None]:
        while True:
            yield Wait.R

    monkeypatch.setattr(patience, "monotonic", lambda: now_s)
    monkeypatch.setattr(patience, "PROBE", Server())
    waiting = connection._patient(statement())
    waiting.send(None)
    with pytest.raises(psycopg.OperationalError, match="the server does not answer"):
        while True:
            now_s += 0.1
            waiting.send(Ready.NONE)
    assert connection.closed
    return now_s - answered_s


@pytest.mark.parametrize(("answered_s", "least_s", "most_s"), [(0.0, 2.9, 3.2), (600.0, 60.0, 70.0)])
def test_the_longer_a_statement_took_the_longer_a_silent_server_is_waited_for(
    connection: PatientConnection,
    monkeypatch: pytest.MonkeyPatch,
    answered_s: float,
    least_s: float,
    most_s: float,
) -> None:
    assert least_s <= silent_for_s(connection, monkeypatch, answered_s=answered_s) <= most_s
