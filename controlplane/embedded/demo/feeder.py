"""Keeps the simulated cluster busy: looks at what its jobs book and want, and submits what is missing."""

from __future__ import annotations

import logging
import random
from collections import defaultdict
from collections.abc import Mapping
from threading import Event

from django.db import DatabaseError, close_old_connections

from controlplane.accounts.models import User
from controlplane.embedded.demo.rows import TEAMS
from controlplane.embedded.demo.shapes import BY_NAME, Kind, Live, Pool, next_kind, request_for
from queues.models import LIVE_STATUSES, Job, JobStatus
from queues.submission import Submission, submit

logger = logging.getLogger("headrace.demo")
TICK_S = 2.0
TROUBLE_TICK_S = 10.0
SEED = 1


def feed(stopping: Event) -> None:
    """Go on until told to stop; a database that is away for a while is waited for."""
    while not stopping.is_set():
        tick_s = TICK_S
        try:
            top_up()
        except DatabaseError as error:
            logger.warning("no jobs for now: %s", str(error).strip().partition("\n")[0])
            tick_s = TROUBLE_TICK_S
        finally:
            close_old_connections()
        stopping.wait(tick_s)


def top_up() -> list[Job]:
    """At most one job for every pool, so that a start looks like a morning and not like a flood."""
    live = live_by_pool()
    number = Job.objects.filter(team__slug__in=TEAMS).count()
    made = []
    for pool in Pool:
        dice = random.Random(f"{SEED} {number} {pool}")
        kind = next_kind(pool, live[pool], dice=dice)
        if kind is not None:
            made.append(_submit(kind, number=number, dice=dice))
            number += 1
    return made


def live_by_pool() -> Mapping[Pool, Live]:
    """Load and queue of every pool, by the names of the jobs that did not end yet."""
    rows = Job.objects.filter(team__slug__in=TEAMS, status__in=LIVE_STATUSES).values_list("name", "status")
    load: dict[Pool, int] = defaultdict(int)
    waiting: dict[Pool, int] = defaultdict(int)
    for name, status in rows:
        kind = BY_NAME.get(name)
        if kind is not None:
            load[kind.pool] += kind.load_milli
            waiting[kind.pool] += status == JobStatus.PENDING
    return {pool: Live(load[pool], waiting[pool]) for pool in Pool}


def _submit(kind: Kind, *, number: int, dice: random.Random) -> Job:
    owner = User.objects.get(username=kind.owner)
    return submit(Submission(user=owner, raw=request_for(kind, number=number, dice=dice))).job
