"""Stored reasons: whoever looks at a waiting job is told when they change."""

from __future__ import annotations

import pytest

from controlplane.base import tx
from controlplane.base.tx import Topic
from scheduling.models import ShapeReason
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


def test_new_and_changed_reasons_are_hinted_and_old_ones_are_not(
    monkeypatch, django_capture_on_commit_callbacks
):
    told = []
    monkeypatch.setattr(tx, "tell", lambda topic, key="": told.append((topic, key)))

    def cycle() -> bool:
        told.clear()
        with django_capture_on_commit_callbacks(execute=True):
            make.run_cycle()
        return (Topic.HINT, ("reasons",)) in told

    make.make_queues()
    make.make_job(make.make_user(team=make.make_team()))
    assert cycle() and ShapeReason.objects.get().code == "node-not-ready"
    assert not cycle()
    make.make_node(observe_only=True)
    assert cycle() and ShapeReason.objects.get().code == "observe-only"
