"""The pool's check of a connection: left out while it would tell nothing new, never once the server has gone."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

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
