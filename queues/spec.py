"""What a job asks for: the request as people send it, read into one normalised form or a list of faults. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from posixpath import normpath
from typing import Any

import msgspec

from controlplane.base.problems import Fault
from inventory.images import names
from queues.conditions import After, ArraySpec, LateAction, read_conditions
from queues.fields import LINE_CHARACTERS, FieldError, Fields, text_fault

WHOLE_MILLI = 1000
MOST_DEVICES = 1024
MOST_CORES = 8192
MOST_DEVICE_MEMORY_MIB = 16 * 1024 * 1024
MOST_MEMORY_MIB = 64 * 1024 * 1024
MOST_BANDWIDTH_MIB_S = 16 * 1024 * 1024
MOST_TIME_LIMIT_S = 366 * 24 * 3600
PRIORITY_RANGE = (-1000, 1000)
MOST_RETRIES = 10
# All replicas are booked in one transaction.
MOST_REPLICAS = 256
LONGEST_NAME = 200
LONGEST_ARGUMENT = 32 * 1024
MOST_MOUNTS = 32
LONGEST_CHECKPOINT_S = 3600
MOST_ARGUMENTS = 1024
MOST_VARIABLES = 256
# The kernel refuses more than about 128 KiB in one piece, and the whole specification travels in every reply
# to the node.
MOST_COMMAND_AND_ENV_BYTES = 128 * 1024
RESERVED_VARIABLES = "HEADRACE_"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# What every engine takes for a name and none for an option: a registry, a path, a tag, a digest.
_IMAGE = re.compile(
    r"[a-z0-9](?:[A-Za-z0-9._:/-]*[A-Za-z0-9])?(?:@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
_MOUNT = re.compile(r"(/[^:,]*):(/[^:,]+)(:ro)?")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?", re.ASCII)


class CpuClass(StrEnum):
    """What a job needs from the CPU side."""

    AUTO = "auto"
    COMPUTE = "compute"
    DATA = "data"


class Network(StrEnum):
    """What network a container has; None is the node's choice."""

    BRIDGE = "bridge"
    HOST = "host"
    NONE = "none"


class CheckpointSignal(StrEnum):
    """What a job may be asked by; none that ends it whatever it does."""

    USR1 = "USR1"
    USR2 = "USR2"
    HUP = "HUP"
    INT = "INT"


class KeyMeaning(StrEnum):
    """What a resource key of the policy stands for."""

    MEMORY = "memory"
    MODEL = "model"


@dataclass(frozen=True)
class ResourceKey:
    """One of the policy's resource-filters: memory in MiB, or a model out of `values` (empty: any)."""

    key: str
    meaning: KeyMeaning
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class QueueRules:
    """What a queue presumes about jobs that do not say it themselves."""

    splittable: bool = False
    shareable: bool = False


@dataclass(frozen=True)
class SpecRules:
    """What the policy says about requests."""

    queues: Mapping[str, QueueRules]
    keys: Sequence[ResourceKey] = ()


class Resources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one job books; written with the names of the request, so that a normal form can be sent again
    and reads the same.

    `device_memory_mib` is the total over all devices when `splittable`, else per device. A job that is
    not `shareable` has its devices whole; of a shareable one `device_compute_milli` is the share per
    device, None one that follows from the memory. `devices` 0 with a memory means as few devices as can
    hold it.
    """

    devices: int = 0
    device_models: list[str] = []
    device_memory_mib: int | None = msgspec.field(default=None, name="device_memory")
    device_compute_milli: int | None = None
    cores: int = 1
    memory_mib: int | None = msgspec.field(default=None, name="memory")
    read_bandwidth_mib_s: int | None = None
    splittable: bool = False
    shareable: bool = False

    @property
    def wants_devices(self) -> bool:
        """False for a job of CPUs only."""
        return self.devices > 0 or self.device_memory_mib is not None or bool(self.device_models)


class CheckpointSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the job is asked for a checkpoint (docs/checkpoints.md): exactly one of a signal and a command.
    `on_memory_pressure`: suspend it when it comes near what it booked of memory; None = as the policy says.
    """

    signal: CheckpointSignal | None = None
    command: list[str] = []
    timeout_s: int = 120
    on_memory_pressure: bool | None = None


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A complete request in normal form: every default written out, memory in MiB, sets sorted. With an `image` it
    runs in a container; only there `mounts` (SOURCE:TARGET[:ro]), `network` and shared memory have a meaning.
    `image_secret` names what the server knows of a private registry.

    `retry_on` are the endings that are tried again (none: what the job itself did wrong), each after `back_off_s`
    doubled with every retry. `latest_start` and `latest_finish` are moments in UTC. A `deferrable` job
    waits for the valley window, unless the cluster is idle or its latest start has come. All `replicas` start together
    or none, each with `resources`.
    """

    name: str
    queue: str
    command: list[str]
    resources: Resources
    replicas: int = 1
    team: str | None = None
    env: dict[str, str] = {}
    working_dir: str | None = None
    cpu_class: CpuClass = CpuClass.AUTO
    node_labels: dict[str, str] = {}
    node_sets: list[str] = []
    datasets: list[str] = []
    priority: int = 0
    max_retries: int = 0
    time_limit_s: int | None = None
    strict_single: bool = False
    image: str | None = None
    image_secret: str | None = None
    shared_memory_mib: int | None = msgspec.field(default=None, name="shared_memory")
    mounts: list[str] = []
    network: Network | None = None
    checkpoint: CheckpointSpec | None = None
    after: list[After] = []
    array: ArraySpec | None = None
    retry_on: list[str] = []
    back_off_s: int = 0
    on_hold: bool = False
    deferrable: bool = False
    latest_start: str | None = None
    latest_finish: str | None = None
    on_late: LateAction = LateAction.END


# Not frozen: whoever re-raises an exception writes its traceback.
@dataclass(eq=False)
class SpecFaults(Exception):
    """A request that cannot become a job, with every fault found."""

    errors: tuple[FieldError, ...]


@dataclass
class _Devices:
    """The accelerator part while it is read."""

    count: int
    models: list[str]
    memory_mib: int | None
    compute_milli: int | None
    splittable: bool | None
    shareable: bool | None


def read_spec(raw: object, rules: SpecRules) -> JobSpec:
    """The request in normal form; SpecFaults names every field that is wrong."""
    if not isinstance(raw, Mapping):
        raise SpecFaults((FieldError("", Fault.TYPE, {"expected": "object"}),))
    errors: list[FieldError] = []
    top = Fields(raw, path="", errors=errors)
    command = _command(top)
    queue = _queue(top, rules)
    spec = JobSpec(
        name=top.text("name", longest=LONGEST_NAME) or _default_name(command),
        queue=queue,
        command=command,
        resources=_resources(top, rules, queue),
        replicas=_or(top.integer("replicas", low=1, high=MOST_REPLICAS), 1),
        team=top.text("team", longest=50),
        env=top.text_map(
            "env",
            most=MOST_VARIABLES,
            longest=LONGEST_ARGUMENT,
            allowed=LINE_CHARACTERS,
            key_fault=_variable_fault,
        ),
        working_dir=_working_dir(top),
        cpu_class=CpuClass(top.choice("cpu_class", list(CpuClass)) or CpuClass.AUTO),
        node_labels=dict(
            sorted(top.text_map("node_labels", most=32, longest=128, key_fault=_label_fault).items())
        ),
        node_sets=_names(top, "node_sets"),
        datasets=_names(top, "datasets"),
        priority=top.integer("priority", low=PRIORITY_RANGE[0], high=PRIORITY_RANGE[1]) or 0,
        max_retries=top.integer("max_retries", low=0, high=MOST_RETRIES) or 0,
        time_limit_s=top.integer("time_limit_s", low=1, high=MOST_TIME_LIMIT_S),
        strict_single=top.boolean("strict_single") or False,
        checkpoint=_checkpoint(top),
        **_container(top),
        **read_conditions(top),
    )
    _check_size(top, spec)
    top.refuse_unknown()
    if errors:
        raise SpecFaults(tuple(errors))
    return spec


def encode_spec(spec: JobSpec) -> dict[str, Any]:
    """The normal form as plain JSON values, every field written out."""
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    return plain


def decode_spec(plain: Mapping[str, Any]) -> JobSpec:
    """A stored normal form."""
    return msgspec.convert(plain, JobSpec)


def _command(top: Fields) -> list[str]:
    if not top.given("command"):
        top.refuse("command", Fault.REQUIRED)
        return []
    command = top.texts(
        "command", most=MOST_ARGUMENTS, longest=LONGEST_ARGUMENT, allowed=LINE_CHARACTERS, empty=True
    )
    value = top.value("command")
    if value == [] or (command and not command[0]):
        top.refuse("command", Fault.EMPTY)
    return command


def _default_name(command: Sequence[str]) -> str:
    word = command[0].rsplit("/", 1)[-1][:LONGEST_NAME] if command else ""
    return word if word and text_fault(word) is None else "job"


def _queue(top: Fields, rules: SpecRules) -> str:
    name = top.value("queue")
    if name is None:
        top.refuse("queue", Fault.REQUIRED)
    elif not isinstance(name, str) or name not in rules.queues:
        top.refuse("queue", Fault.CHOICE, options=", ".join(rules.queues))
    else:
        return name
    return ""


def _working_dir(top: Fields) -> str | None:
    path = top.text("working_dir", longest=4096)
    if path is not None and not path.startswith("/"):
        top.refuse("working_dir", "not-absolute")
    return path


def _checkpoint(top: Fields) -> CheckpointSpec | None:
    raw = top.value("checkpoint")
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        top.refuse("checkpoint", Fault.TYPE, expected="object")
        return None
    part = Fields(raw, path="checkpoint", errors=top.errors)
    name = part.choice("signal", list(CheckpointSignal))
    spec = CheckpointSpec(
        signal=None if name is None else CheckpointSignal(name),
        command=part.texts("command", most=MOST_ARGUMENTS, longest=LONGEST_ARGUMENT, allowed=LINE_CHARACTERS),
        timeout_s=_or(part.integer("timeout_s", low=1, high=LONGEST_CHECKPOINT_S), 120),
        on_memory_pressure=part.boolean("on_memory_pressure"),
    )
    part.refuse_unknown()
    if part.given("signal") == bool(part.value("command")):
        top.refuse("checkpoint", "signal-or-command")
    return spec


def _container(top: Fields) -> dict[str, Any]:
    image = top.text("image", longest=names.LONGEST_NAME)
    if image is not None and not _IMAGE.fullmatch(image):
        top.refuse("image", "image-name")
    network = top.choice("network", list(Network))
    mounts = top.texts("mounts", most=MOST_MOUNTS, longest=4096)
    if not all(map(_is_mount, mounts)):
        top.refuse("mounts", "not-a-mount")
    found = {
        "image": None if image is None else names.tagged(image),
        "image_secret": top.text("image_secret", longest=64),
        "shared_memory_mib": top.memory_mib("shared_memory", high=MOST_MEMORY_MIB),
        "mounts": sorted(set(mounts)),
        "network": None if network is None else Network(network),
    }
    if image is None:
        for name in ("image_secret", "shared_memory", "mounts", "network"):
            if top.value(name) not in (None, []):
                top.refuse(name, "image-missing")
    return found


def _is_mount(text: str) -> bool:
    match = _MOUNT.fullmatch(text)
    return match is not None and all(normpath(path) == path for path in match.group(1, 2))


def _names(top: Fields, name: str) -> list[str]:
    return sorted(set(top.texts(name, most=64, longest=100)))


def _variable_fault(name: str) -> str | None:
    if not _VARIABLE.fullmatch(name) or len(name) > 256:
        return "variable-name"
    return "variable-reserved" if name.startswith(RESERVED_VARIABLES) else None


def _label_fault(name: str) -> str | None:
    return None if _LABEL.fullmatch(name) else "label-name"


def _check_size(top: Fields, spec: JobSpec) -> None:
    texts = [*spec.command, *spec.env, *spec.env.values()]
    if sum(len(text.encode("utf-8", "surrogatepass")) + 1 for text in texts) > MOST_COMMAND_AND_ENV_BYTES:
        top.refuse("command", "command-size", limit=MOST_COMMAND_AND_ENV_BYTES)


def _resources(top: Fields, rules: SpecRules, queue: str) -> Resources:
    raw = top.value("resources")
    if raw is None:
        raw = {}
    if not isinstance(raw, Mapping):
        top.refuse("resources", Fault.TYPE, expected="object")
        return Resources()
    part = Fields(raw, path="resources", errors=top.errors)
    devices = _read_devices(part, rules)
    resources = Resources(
        **_settle_devices(part, devices, rules.queues.get(queue, QueueRules())),
        cores=_or(part.integer("cores", low=1, high=MOST_CORES), 1),
        memory_mib=part.memory_mib("memory", high=MOST_MEMORY_MIB),
        read_bandwidth_mib_s=part.integer("read_bandwidth_mib_s", low=0, high=MOST_BANDWIDTH_MIB_S),
    )
    part.refuse_unknown()
    return resources


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _read_devices(part: Fields, rules: SpecRules) -> _Devices:
    devices = _Devices(
        count=part.integer("devices", low=0, high=MOST_DEVICES) or 0,
        models=sorted(set(part.texts("device_models", most=16, longest=200))),
        memory_mib=part.memory_mib("device_memory", high=MOST_DEVICE_MEMORY_MIB),
        compute_milli=part.integer("device_compute_milli", low=1, high=WHOLE_MILLI),
        splittable=part.boolean("splittable"),
        shareable=part.boolean("shareable"),
    )
    for key in rules.keys:
        if part.given(key.key):
            _read_key(part, devices, key)
    return devices


def _read_key(part: Fields, devices: _Devices, key: ResourceKey) -> None:
    """A resource key says the same as `device_memory` or `device_models`; both at once must not
    contradict one another.
    """
    if key.meaning is KeyMeaning.MEMORY:
        memory_mib = part.memory_mib(key.key, high=MOST_DEVICE_MEMORY_MIB)
        if memory_mib is not None and devices.memory_mib not in (None, memory_mib):
            part.refuse(key.key, "contradicts", other="device_memory")
        devices.memory_mib = memory_mib if devices.memory_mib is None else devices.memory_mib
        return
    value = part.choice(key.key, key.values) if key.values else part.text(key.key, longest=200)
    if value is not None and devices.models not in ([], [value]):
        part.refuse(key.key, "contradicts", other="device_models")
    if value is not None:
        devices.models = [value]


def _settle_devices(part: Fields, devices: _Devices, queue: QueueRules) -> dict[str, Any]:
    """Write the queue's defaults out. Who asks for a part of a device thereby allows sharing it."""
    partial = devices.compute_milli is not None and devices.compute_milli < WHOLE_MILLI
    if partial and devices.shareable is False:
        part.refuse("device_compute_milli", "not-shareable")
    splittable = queue.splittable if devices.splittable is None else devices.splittable
    shareable = (queue.shareable or partial) if devices.shareable is None else devices.shareable
    wanted = (
        devices.count > 0
        or bool(devices.models)
        or devices.memory_mib is not None
        or devices.compute_milli is not None
    )
    if not wanted:
        return {"splittable": False, "shareable": False}
    if devices.count == 0 and not (splittable and devices.memory_mib is not None):
        devices.count = 1
    shared = shareable and (partial or (devices.compute_milli is None and devices.memory_mib is not None))
    return {
        "devices": devices.count,
        "device_models": devices.models,
        "device_memory_mib": devices.memory_mib,
        "device_compute_milli": devices.compute_milli if shared else None,
        "splittable": splittable and devices.memory_mib is not None,
        "shareable": shared,
    }
