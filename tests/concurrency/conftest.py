"""What the tests with real threads and connections share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from controlplane.base import tx

WAITS = (
    "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))"
)


@pytest.fixture(autouse=True)
def quiet_subscribers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints and wakes are the business of other tests; here nobody listens."""
    monkeypatch.setattr(tx, "tell", lambda topic, key="": None)


def together(*works: Callable[[], Any]) -> list[Any]:
    """Run all at once, each in a thread with a connection of its own; what they return, or how they failed."""
    gate = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)

    def run(number: int, work: Callable[[], Any]) -> None:
        try:
            gate.wait(timeout=30)
            results[number] = work()
        except Exception as error:
            results[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    return results


@pytest.fixture
def at_once() -> Callable[..., list[Any]]:
    return together


@contextmanager
def meanwhile(work: Callable[[], Any]) -> Iterator[Callable[[], None]]:
    """Starts `work` on another connection; what is yielded returns once it waits for a lock of this transaction."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        finally:
            connection.close()

    thread = threading.Thread(target=run)

    def until_it_waits() -> None:
        thread.start()
        with connection.cursor() as cursor:
            while thread.is_alive():
                cursor.execute(WAITS)
                if cursor.fetchone() == (True,):
                    return
        raise AssertionError(f"it did not wait: {results}")

    yield until_it_waits
    thread.join(timeout=60)
    assert results, "it failed or hangs"
