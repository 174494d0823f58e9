"""The key under which jobs of one complete shape are grouped: two jobs share it only if nothing that can
influence placement tells them apart. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from queues.spec import JobSpec


@dataclass(frozen=True)
class Avoidance:
    """Where a job must not go again, and where it was before (ids)."""

    excluded_nodes: Sequence[int] = ()
    excluded_devices: Sequence[int] = ()
    previous_nodes: Sequence[int] = ()


NOTHING_AVOIDED = Avoidance()


def shape_key(
    spec: JobSpec, *, queue: int, team: int, owner: int, avoidance: Avoidance = NOTHING_AVOIDED
) -> str:
    """Digest of everything that placement or its order may depend on: resources and rules, queue, team, owner,
    priority, history.
    """
    parts = (
        msgspec.to_builtins(spec.resources),
        spec.replicas,
        spec.cpu_class.value,
        sorted(spec.node_labels.items()),
        sorted(spec.node_sets),
        sorted(spec.datasets),
        spec.image,
        spec.priority,
        queue,
        team,
        owner,
        sorted(avoidance.excluded_nodes),
        sorted(avoidance.excluded_devices),
        sorted(avoidance.previous_nodes),
    )
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()
