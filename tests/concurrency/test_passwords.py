"""Two changes of one password at once."""

from __future__ import annotations

import threading

import pytest
from django.core.cache import cache

from controlplane.accounts import passwords
from controlplane.accounts.models import AuditEntry
from tests.controlplane.conftest import client_of
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)
OLD = "a long password"


def test_of_two_changes_from_the_same_password_one_is_made(at_once, monkeypatch):
    """The second is judged by what the first one set, so that nobody's change is silently undone."""
    cache.clear()
    user = make.make_user()
    # Weighing a password comes after the caller was read and before the row is locked: both get there first.
    weigh, both = passwords.weaknesses, threading.Barrier(2)

    def together(*given):
        both.wait(30)
        return weigh(*given)

    monkeypatch.setattr(passwords, "weaknesses", together)
    news = [f"another-good-{number}" for number in range(2)]
    clients = [client_of(user) for _new in news]

    def change(number: int) -> int:
        body = {"current": OLD, "new": news[number]}
        return clients[number].post("/api/v1/me/password", body, format="json").status_code

    codes = at_once(lambda: change(0), lambda: change(1))
    assert sorted(codes) == [200, 400]
    user.refresh_from_db()
    assert user.check_password(news[codes.index(200)])
    assert AuditEntry.objects.filter(action="password-change").count() == 1
    assert AuditEntry.objects.filter(action="password-change-failed").count() == 1
