"""Who is told what after a commit: the one place where topics of lower packages meet the code of higher ones."""

from __future__ import annotations

from collections.abc import Hashable

from controlplane.base import locks
from controlplane.base.broker import breaker
from controlplane.base.locks import CYCLE_LEASE
from controlplane.base.tx import Topic, subscribe
from controlplane.celery import app
from controlplane.realtime.publish import publish_hang_up, publish_hint, publish_wake

RUN_CYCLE = "scheduling.tasks.run_cycle"


def connect() -> None:
    """Connect all subscribers; idempotent."""
    subscribe(Topic.CYCLE_WAKE, wake_cycle)
    subscribe(Topic.NODE_WAKE, publish_wake)
    subscribe(Topic.HINT, publish_hint)
    subscribe(Topic.ACCESS_CHANGED, publish_hang_up)


def wake_cycle(_key: Hashable) -> None:
    """Raise the sequence number that the running cycle re-reads, then ask for a cycle in case none runs."""
    locks.bump_wake(CYCLE_LEASE)
    breaker.attempt("wake-cycle", lambda: app.send_task(RUN_CYCLE, expires=10, ignore_result=True))
