"""Celery entry points: each looks at the rows and does what is left to do, so a second delivery does nothing."""

from __future__ import annotations

import os
import socket

from celery import shared_task

from controlplane.policy.active import active_policy
from scheduling.cycle import run_cycles
from scheduling.expected import refresh_expected
from scheduling.losses import declare_lost_nodes
from scheduling.upkeep import prune_old
from scheduling.warming import refresh_wanted


def holder_name() -> str:
    """Who holds the cycle's lease, for people who look."""
    return f"{socket.gethostname()[:60]}:{os.getpid()}"


@shared_task(name="scheduling.tasks.run_cycle")
def run_cycle() -> None:
    """Schedule until no wake is unseen."""
    run_cycles(holder_name())


@shared_task(name="scheduling.tasks.declare_lost")
def declare_lost() -> None:
    """Give up the placements of nodes that are lost."""
    declare_lost_nodes()


@shared_task(name="scheduling.tasks.expect")
def expect() -> None:
    """Count anew which jobs are to be expected."""
    refresh_expected()


@shared_task(name="scheduling.tasks.prune")
def prune() -> None:
    """Delete what is older than the policy keeps it."""
    prune_old(active_policy().retention)


@shared_task(name="scheduling.tasks.warm_images")
def warm_images() -> None:
    """Find out which images are wanted where; nodes ask for their orders themselves."""
    refresh_wanted()
