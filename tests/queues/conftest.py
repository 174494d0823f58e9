"""What the tests of queues share."""

from __future__ import annotations

import pytest

from controlplane.base import tx


@pytest.fixture(autouse=True)
def quiet_subscribers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints and wakes are the business of other tests; here nobody listens."""
    monkeypatch.setattr(tx, "tell", lambda topic, key="": None)
