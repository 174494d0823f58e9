"""Background work of the inventory; every task may run twice or at the same time as its twin."""

from __future__ import annotations

import redis
import structlog
from celery import shared_task

from controlplane.base import clock
from controlplane.base.failures import DATABASE_GONE
from controlplane.policy.active import active_policy
from inventory import alert_rules, probing, streams, telemetry
from inventory.history import partitions, rollup
from inventory.remote import image_work
from inventory.remote import probing as remote_probing
from inventory.wiring import UPWARD

log = structlog.get_logger(__name__)


@shared_task(name="inventory.tasks.flush_telemetry")
def flush_telemetry() -> int:
    """Moves readings from the stream to the database; returns the number of reports."""
    try:
        with streams.taken_alone() as still_alone:
            return telemetry.flush(UPWARD.booked, goes_on=still_alone).entries if still_alone else 0
    except (redis.RedisError, *DATABASE_GONE) as error:
        # What was not stored waits in the stream for the next tick.
        log.warning("readings-not-flushed", error=type(error).__name__)
        return 0


@shared_task(name="inventory.tasks.roll_up_history")
def roll_up_history() -> int:
    """Sums up the minutes and hours that are over; how many."""
    return rollup.roll_up(clock.now())


@shared_task(name="inventory.tasks.keep_history")
def keep_history() -> int:
    """Makes the next partitions and drops old ones, once what is due of them is summed up; how many were dropped."""
    now = clock.now()
    partitions.make_ahead(now)
    rollup.roll_up(now)
    return len(partitions.drop_old(now, active_policy().retention))


@shared_task(name="inventory.tasks.probe_cycle")
def probe_cycle() -> int:
    """Judges silence and missing checks; returns the number of nodes that fell silent or were lost."""
    probed = probing.probe(active_policy().health)
    return probed.silent + probed.lost


@shared_task(name="inventory.tasks.watch_rules")
def watch_rules() -> int:
    """Judges the latest readings by the policy's rules; returns the number of alerts raised."""
    return alert_rules.watch(active_policy().alert_rules)


@shared_task(name="inventory.tasks.probe_over_ssh")
def probe_over_ssh() -> int:
    """Looks at the nodes without an agent that are due; returns the number of those that gave a report."""
    return remote_probing.probe(active_policy().health).reports


@shared_task(name="inventory.tasks.fetch_images_over_ssh")
def fetch_images_over_ssh() -> int:
    """Fetches and removes images on nodes without an agent; returns the number of orders that ended."""
    return image_work.work(active_policy().images)
