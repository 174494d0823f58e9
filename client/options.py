"""What the server calls a field, as the command calls it."""

from __future__ import annotations

import re

from client.errors import ApiError

# Last part of a field -> what says it on the command line, where the two are spelled differently.
OPTIONS = {
    "at_once": "--array TASKS:AT_ONCE",
    "command": "COMMAND",
    "cores": "--cores",
    "device_compute_milli": "--device-compute-milli",
    "device_memory": "--device-memory",
    "device_memory_mib": "--device-memory",
    "device_models": "--device-model",
    "devices": "--devices",
    "expires_in_days": "--expires-in-days",
    "host_key": "--fingerprint",
    "image": "--image",
    "lose_work": "--lose-work",
    "max_retries": "--max-retries",
    "memory_mib": "--memory",
    "mounts": "--mount",
    "node_labels": "--node-label",
    "node_set": "--node-set",
    "on_hold": "--hold",
    "priority": "--priority",
    "quota_milli": "DEVICES",
    "replicas": "--replicas",
    "share_milli": "DEVICES",
    "tasks": "--array",
    "time_limit_s": "--time-limit",
}
# Words of prose are left alone: only what has an underscore is surely a field.
_FIELDS = re.compile(r"(?<![\w.-])(" + "|".join(name for name in OPTIONS if "_" in name) + r")(?![\w.-]*\w)")


def named(field: str) -> str:
    """The field, and the option that says it."""
    part = next((one for one in reversed(field.split(".")) if not one.isdigit()), field)
    option = OPTIONS.get(part)
    return f"{field} ({option})" if option else field


def in_options(text: str) -> str:
    """A sentence of the server that tells to say a field, as one that tells to give an option."""
    return _FIELDS.sub(lambda found: OPTIONS[found[1]], text)


def told(error: ApiError) -> str:
    """What the server refused, with every field that is at fault."""
    faults = [f"  {named(one.field)}: {in_options(one.message)}" for one in error.errors]
    return "\n".join([in_options(error.detail or error.code), *faults])
