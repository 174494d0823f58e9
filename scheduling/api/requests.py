"""Request bodies as the API description shows them: submissions, which queues.spec reads and judges, and what-ifs,
which scheduling.edits does.
"""

from __future__ import annotations

from typing import Any

from queues.conditions import LONGEST_BACK_OFF_S, MOST_DEPENDENCIES, MOST_TASKS, AfterEnd, LateAction
from queues.derive import RETRIED
from queues.spec import (
    LONGEST_CHECKPOINT_S,
    MOST_CORES,
    MOST_DEVICES,
    MOST_REPLICAS,
    MOST_RETRIES,
    MOST_TIME_LIMIT_S,
    PRIORITY_RANGE,
    WHOLE_MILLI,
    CheckpointSignal,
    Network,
)
from scheduling.edits import LARGEST_WEIGHT, MOST_EDITS, MOST_JOBS_ADDED, MOST_NODES_ADDED, EditKind
from scheduling.engine.types import Term

_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_MAP: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}}
_MEMORY: dict[str, Any] = {
    "description": 'MiB as a number, or a text with a unit: "8Gi", "8000Mi", "8000 MB".',
    "oneOf": [{"type": "integer", "minimum": 1}, {"type": "string"}],
    "nullable": True,
}
_RESOURCES: dict[str, Any] = {
    "type": "object",
    "description": "The policy's resource-filter keys are accepted as well.",
    "properties": {
        "devices": {"type": "integer", "minimum": 0, "maximum": MOST_DEVICES},
        "device_models": _TEXTS,
        "device_memory": _MEMORY,
        "device_compute_milli": {"type": "integer", "minimum": 1, "maximum": WHOLE_MILLI, "nullable": True},
        "cores": {"type": "integer", "minimum": 1, "maximum": MOST_CORES},
        "memory": _MEMORY,
        "read_bandwidth_mib_s": {"type": "integer", "minimum": 0, "nullable": True},
        "splittable": {"type": "boolean", "nullable": True},
        "shareable": {"type": "boolean", "nullable": True},
    },
    "additionalProperties": True,
}
JOB_REQUEST: dict[str, Any] = {
    "type": "object",
    "description": "Queue and command are needed, here or in the template.",
    "additionalProperties": False,
    "properties": {
        "template": {
            "type": "string",
            "nullable": True,
            "description": "A template of the team by name: what is not said here is as it says there.",
        },
        "name": {"type": "string", "nullable": True},
        "team": {"type": "string", "nullable": True},
        "queue": {"type": "string"},
        "command": {**_TEXTS, "minItems": 1},
        "env": _MAP,
        "working_dir": {"type": "string", "nullable": True},
        "resources": _RESOURCES,
        "replicas": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_REPLICAS,
            "description": "So many processes with these resources each; all of them start together, or none.",
        },
        "cpu_class": {"type": "string", "enum": ["auto", "compute", "data"]},
        "node_labels": _MAP,
        "node_sets": _TEXTS,
        "datasets": _TEXTS,
        "priority": {"type": "integer", "minimum": PRIORITY_RANGE[0], "maximum": PRIORITY_RANGE[1]},
        "max_retries": {"type": "integer", "minimum": 0, "maximum": MOST_RETRIES},
        "time_limit_s": {"type": "integer", "minimum": 1, "maximum": MOST_TIME_LIMIT_S, "nullable": True},
        "strict_single": {"type": "boolean"},
        "image": {"type": "string", "nullable": True, "description": "Runs in a container of this image."},
        "image_secret": {
            "type": "string",
            "nullable": True,
            "description": "Name of the secret of a private registry that the server has; see /images/secrets.",
        },
        "shared_memory": _MEMORY,
        "mounts": {**_TEXTS, "description": "SOURCE:TARGET or SOURCE:TARGET:ro, as far as the node allows."},
        "checkpoint": {
            "type": "object",
            "nullable": True,
            "description": "How the job is asked for a checkpoint: a signal or a command.",
            "additionalProperties": False,
            "properties": {
                "signal": {"type": "string", "enum": [*map(str, CheckpointSignal)], "nullable": True},
                "command": _TEXTS,
                "timeout_s": {"type": "integer", "minimum": 1, "maximum": LONGEST_CHECKPOINT_S},
                "on_memory_pressure": {"type": "boolean", "nullable": True},
            },
        },
        "network": {"type": "string", "enum": [*map(str, Network)], "nullable": True},
        "after": {
            "type": "array",
            "maxItems": MOST_DEPENDENCIES,
            "description": "Jobs that must end first. One that ends otherwise ends this one, too.",
            "items": {
                "type": "object",
                "required": ["job"],
                "additionalProperties": False,
                "properties": {
                    "job": {"type": "integer", "minimum": 1},
                    "ends": {"type": "string", "enum": [*map(str, AfterEnd)]},
                },
            },
        },
        "array": {
            "type": "object",
            "nullable": True,
            "required": ["tasks"],
            "additionalProperties": False,
            "properties": {
                "tasks": {"type": "integer", "minimum": 1, "maximum": MOST_TASKS},
                "at_once": {"type": "integer", "minimum": 1, "maximum": MOST_TASKS, "nullable": True},
            },
        },
        "retry_on": {
            "type": "array",
            "description": "Endings that are tried again; none: what the job itself did wrong.",
            "items": {"type": "string", "enum": sorted(RETRIED)},
        },
        "back_off_s": {
            "type": "integer",
            "minimum": 0,
            "maximum": LONGEST_BACK_OFF_S,
            "description": "Seconds before the first retry, doubled with each.",
        },
        "on_hold": {"type": "boolean", "description": "Wait until somebody releases it."},
        "deferrable": {"type": "boolean", "description": "Wait for the valley window, or an idle cluster."},
        "latest_start": {"type": "string", "format": "date-time", "nullable": True},
        "latest_finish": {"type": "string", "format": "date-time", "nullable": True},
        "on_late": {"type": "string", "enum": [*map(str, LateAction)]},
    },
}


def _edit(kind: EditKind, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["kind", *(name for name in properties if name != "count")],
        "additionalProperties": False,
        "properties": {"kind": {"type": "string", "enum": [kind.value]}, **properties},
    }


_ID = {"type": "integer", "minimum": 1}
WHAT_IF_REQUEST: dict[str, Any] = {
    "type": "object",
    "required": ["edits"],
    "additionalProperties": False,
    "properties": {
        "recording": {**_ID, "nullable": True, "description": "Null: the cluster now."},
        "edits": {
            "type": "array",
            "maxItems": MOST_EDITS,
            "items": {
                "oneOf": [
                    _edit(
                        EditKind.ADD_JOB,
                        count={"type": "integer", "minimum": 1, "maximum": MOST_JOBS_ADDED},
                        spec=JOB_REQUEST,
                    ),
                    _edit(EditKind.DRAIN_NODE, node=_ID),
                    _edit(
                        EditKind.CHANGE_WEIGHT,
                        term={"type": "string", "enum": [term.value for term in Term]},
                        weight={"type": "number", "minimum": 0, "maximum": LARGEST_WEIGHT},
                    ),
                    _edit(
                        EditKind.CHANGE_QUOTA,
                        queue={"type": "string"},
                        percent={"type": "number", "minimum": 0, "maximum": 100, "nullable": True},
                    ),
                    _edit(
                        EditKind.ADD_NODES,
                        like=_ID,
                        count={"type": "integer", "minimum": 1, "maximum": MOST_NODES_ADDED},
                    ),
                ]
            },
        },
    },
}
