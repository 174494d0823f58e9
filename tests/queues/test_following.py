"""Activating a policy version changes the queues in the same transaction."""

from __future__ import annotations

import pytest

from controlplane.policy import service
from queues.models import Queue

pytestmark = pytest.mark.django_db


def test_queues_come_from_the_active_policy():
    version = service.activate("scheduler: {}", author=None, reason="first")
    assert set(Queue.objects.values_list("name", "policy_number")) == {
        (name, version.number) for name in ("inference", "training", "offline")
    }


def test_an_activation_that_fails_leaves_the_queues_alone(monkeypatch):
    def refuse(active):
        raise RuntimeError("no")

    service.activate("scheduler: {}", author=None, reason="first")
    monkeypatch.setattr(service, "_followers", [*service._followers, refuse])
    text = "scheduler: {queue-policy: {queues: [{name: night, priority: 1}]}}"
    with pytest.raises(RuntimeError):
        service.activate(text, author=None, reason="second")
    assert not Queue.objects.filter(name="night").exists()
