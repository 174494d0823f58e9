"""Connects queues to the policy, below which nothing knows them."""

from __future__ import annotations

from controlplane.policy.service import follow
from queues.operations import sync_queues


def connect() -> None:
    """Called once per process."""
    follow(sync_queues)
