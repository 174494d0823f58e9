"""Background work of the inventory; every task may run twice or at the same time as its twin."""

from __future__ import annotations

import redis
import structlog
from celery import shared_task

from controlplane.base.failures import DATABASE_GONE
from controlplane.policy.active import active_policy
from inventory import probing, telemetry
from inventory.wiring import UPWARD

log = structlog.get_logger(__name__)


@shared_task(name="inventory.tasks.flush_telemetry")
def flush_telemetry() -> int:
    """Moves readings from the stream to the database; returns the number of reports."""
    try:
        return telemetry.flush(UPWARD.booked_mib).entries
    except (redis.RedisError, *DATABASE_GONE) as error:
        # What was not stored waits in the stream for the next tick.
        log.warning("readings-not-flushed", error=type(error).__name__)
        return 0


@shared_task(name="inventory.tasks.probe_cycle")
def probe_cycle() -> int:
    """Judges silence and missing checks; returns the number of nodes that fell silent or were lost."""
    probed = probing.probe(active_policy().health)
    return probed.silent + probed.lost
