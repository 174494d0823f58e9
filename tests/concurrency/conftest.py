"""What the tests with real threads and connections share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from controlplane.base import tx


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
