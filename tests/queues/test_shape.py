"""Two jobs share a shape only when nothing that placement looks at tells them apart."""

from __future__ import annotations

import msgspec
import pytest

from controlplane.policy.reading import read_document
from queues.conditions import After, ArraySpec, LateAction
from queues.rules import spec_rules
from queues.shape import Avoidance, shape_key
from queues.spec import CheckpointSpec, CpuClass, JobSpec, Network, read_spec
from scheduling.requests import request_of

SPEC = read_spec({"queue": "training", "command": ["run"]}, spec_rules(read_document("scheduler: {}")))
# Nothing of these reaches a decision; a new field of JobSpec must be put on one side or the other.
IRRELEVANT = {
    "name": "other",
    "command": ["walk"],
    "env": {"A": "1"},
    "working_dir": "/x",
    "max_retries": 3,
    "time_limit_s": 60,
    "strict_single": True,
    "shared_memory_mib": 64,
    "mounts": ["/a:/b"],
    "network": Network.HOST,
    "checkpoint": CheckpointSpec(command=["save"]),
    "after": [After(job=7)],
    "array": ArraySpec(tasks=3),
    "retry_on": ["signal"],
    "back_off_s": 5,
    "on_hold": True,
    "latest_finish": "2026-12-31T00:00:00+00:00",
    "on_late": LateAction.TELL,
    "deferrable": True,
    "latest_start": "2026-12-30T00:00:00+00:00",
    "image_secret": "vision",
    "queue": "offline",  # by its id, see below
    "team": "vision",  # by its id, see below
}
RELEVANT = {
    "replicas": 2,
    "cpu_class": CpuClass.DATA,
    "node_labels": {"zone": "a"},
    "node_sets": ["a"],
    "datasets": ["imagenet"],
    "image": "example.com/a:1",
    "priority": 257,
}


def key(
    spec: JobSpec = SPEC,
    *,
    queue: int = 1,
    team: int = 1,
    owner: int = 1,
    avoidance: Avoidance | None = None,
) -> str:
    return shape_key(spec, queue=queue, team=team, owner=owner, avoidance=avoidance or Avoidance())


def test_every_field_was_thought_of():
    assert IRRELEVANT.keys() | RELEVANT.keys() | {"resources"} == set(JobSpec.__struct_fields__)


@pytest.mark.parametrize("field", sorted(RELEVANT))
def test_what_matters_tells_shapes_apart(field):
    assert key(msgspec.structs.replace(SPEC, **{field: RELEVANT[field]})) != key()


@pytest.mark.parametrize("field", sorted(IRRELEVANT))
def test_what_does_not_matter_does_not(field):
    changed = msgspec.structs.replace(SPEC, **{field: IRRELEVANT[field]})
    assert key(changed) == key()
    assert request_of(changed) == request_of(SPEC)


@pytest.mark.parametrize("field", SPEC.resources.__struct_fields__)
def test_every_resource_matters(field):
    value = getattr(SPEC.resources, field)
    other = {bool: lambda v: not v, list: lambda v: ["T4"], int: lambda v: v + 1, type(None): lambda v: 7}[
        type(value)
    ]
    resources = msgspec.structs.replace(SPEC.resources, **{field: other(value)})
    assert key(msgspec.structs.replace(SPEC, resources=resources)) != key()


def test_priorities_that_share_their_low_byte_are_different_shapes():
    """C19: 1 and 257 were one shape, and the second inherited the verdict of the first."""
    low, high = (msgspec.structs.replace(SPEC, priority=priority) for priority in (1, 257))
    assert key(low) != key(high)


def test_queue_team_and_history_are_part_of_the_shape():
    keys = [
        key(),
        key(queue=2),
        key(team=2),
        key(avoidance=Avoidance(excluded_nodes=[1])),
        key(avoidance=Avoidance(excluded_devices=[1])),
        key(avoidance=Avoidance(previous_nodes=[1])),
    ]
    assert len(set(keys)) == len(keys)
    assert key(avoidance=Avoidance(excluded_nodes=[2, 1])) == key(avoidance=Avoidance(excluded_nodes=[1, 2]))
