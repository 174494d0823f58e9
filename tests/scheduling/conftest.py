"""What the tests of scheduling share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controlplane.base import tx
from scheduling.selectors import live


@pytest.fixture(autouse=True)
def quiet_subscribers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints and wakes are the business of other tests; here nobody listens."""
    monkeypatch.setattr(tx, "tell", lambda topic, key="": None)


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    """The server's view of the cluster belongs to one database; every test begins without."""
    live.forget()
    yield
