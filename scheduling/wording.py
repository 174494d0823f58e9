"""Sentences about waiting and placing, made from codes and numbers in the language now active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from scheduling.engine.changes import Change, ChangeKind
from scheduling.engine.types import NearMiss, ReasonCode, Refusal, Request

GIB = 1024
KILO_ABOVE_W = 10_000
Text = str | Promise

# What a filter asks, as the name of its step.
LABELS: Mapping[ReasonCode, Text] = {
    ReasonCode.NODE_NOT_READY: _("Node ready"),
    ReasonCode.NODE_PAUSED: _("Node set not paused"),
    ReasonCode.NODE_EXCLUDED: _("Not to be avoided"),
    ReasonCode.NO_AGENT: _("Has an agent"),
    ReasonCode.OBSERVE_ONLY: _("May run jobs"),
    ReasonCode.SIMULATED: _("Not simulated"),
    ReasonCode.NODE_SET: _("Node set"),
    ReasonCode.LABELS: _("Labels"),
    ReasonCode.NO_CONTAINER_ENGINE: _("Runs containers"),
    ReasonCode.NO_DEVICES: _("Has accelerators"),
    ReasonCode.DEVICE_MODEL: _("Accelerator model"),
    ReasonCode.DEVICE_HEALTH: _("Healthy accelerators"),
    ReasonCode.DEVICE_TOO_SMALL: _("Accelerator large enough"),
    ReasonCode.DEVICE_COUNT: _("Number of accelerators"),
    ReasonCode.DEVICE_BUSY: _("Accelerators free"),
    ReasonCode.DEVICE_COMPUTE: _("Compute free on accelerators"),
    ReasonCode.DEVICE_MEMORY_TOTAL: _("Device memory in all"),
    ReasonCode.DEVICE_MEMORY_PIECE: _("Device memory in one piece"),
    ReasonCode.FOREIGN_USE: _("No foreign use"),
    ReasonCode.CORES_TOTAL: _("Cores in all"),
    ReasonCode.CORES_FREE: _("Free cores"),
    ReasonCode.HOST_MEMORY_TOTAL: _("Memory in all"),
    ReasonCode.HOST_MEMORY_FREE: _("Free memory"),
    ReasonCode.READ_BANDWIDTH: _("Read bandwidth"),
    ReasonCode.NODE_POWER: _("Power of the node"),
    ReasonCode.POWER_CAP: _("Power cap"),
    ReasonCode.QUEUE_CAP: _("Within the queue's cap"),
    ReasonCode.TEAM_QUOTA: _("Within the team's quota"),
    ReasonCode.MEMBER_SHARE: _("Within the member's share"),
    ReasonCode.GANG: _("All replicas together"),
    ReasonCode.RESERVED: _("Not kept for another job"),
}

_QUEUE_CAP = _("Its queue holds as much as it may.")
_TEAM_QUOTA = _("Its team holds as much of this queue as it may.")
_MEMBER_SHARE = _("Its owner holds as much of the team's quota as the share allows.")
# Why the last nodes fell out. Sentences with %(node)s are used when a nearest node is known, else the second form.
SENTENCES: Mapping[ReasonCode, tuple[Text, Text]] = {
    ReasonCode.NODE_NOT_READY: (
        _("No node takes jobs now: those that are left are silent, cordoned or draining."),
        _("No node takes jobs now: those that are left are silent, cordoned or draining."),
    ),
    ReasonCode.NODE_PAUSED: (
        _("The node sets of all nodes that are left are paused; nothing new is started there."),
        _("The node sets of all nodes that are left are paused; nothing new is started there."),
    ),
    ReasonCode.NODE_EXCLUDED: (
        _("The nodes that are left are ones this job must avoid."),
        _("The nodes that are left are ones this job must avoid."),
    ),
    ReasonCode.NO_AGENT: (
        _("The nodes that are left have no agent: they are watched over SSH and run no jobs."),
        _("The nodes that are left have no agent: they are watched over SSH and run no jobs."),
    ),
    ReasonCode.OBSERVE_ONLY: (
        _("The nodes that are left are only observed and run no jobs."),
        _("The nodes that are left are only observed and run no jobs."),
    ),
    ReasonCode.SIMULATED: (
        _("The nodes that are left are simulated: they take only jobs with the label simulated=true."),
        _("The nodes that are left are simulated: they take only jobs with the label simulated=true."),
    ),
    ReasonCode.NODE_SET: (
        _("No ready node belongs to a node set that this job asks for."),
        _("No ready node belongs to a node set that this job asks for."),
    ),
    ReasonCode.LABELS: (
        _("No ready node carries the labels that this job asks for."),
        _("No ready node carries the labels that this job asks for."),
    ),
    ReasonCode.NO_CONTAINER_ENGINE: (
        _("This job has an image, and no suitable node has a container engine."),
        _("This job has an image, and no suitable node has a container engine."),
    ),
    ReasonCode.NO_DEVICES: (
        _("No suitable node has an accelerator."),
        _("No suitable node has an accelerator."),
    ),
    ReasonCode.DEVICE_MODEL: (
        _("No suitable node has an accelerator of the model that this job asks for."),
        _("No suitable node has an accelerator of the model that this job asks for."),
    ),
    ReasonCode.DEVICE_HEALTH: (
        _("The accelerators that would do are not healthy, cordoned, or ones this job must avoid."),
        _("The accelerators that would do are not healthy, cordoned, or ones this job must avoid."),
    ),
    ReasonCode.DEVICE_TOO_SMALL: (
        _("This job needs %(needed)s on one device; the largest on %(node)s has %(available)s in all."),
        _("This job needs more memory on one device than any suitable device has."),
    ),
    ReasonCode.DEVICE_COUNT: (
        _("Devices of one model in one node: this job needs %(needed)s, %(node)s has %(available)s."),
        _("No suitable node has as many devices of one model as this job asks for."),
    ),
    ReasonCode.DEVICE_BUSY: (
        _("Free devices in one node: this job needs %(needed)s, %(node)s has %(available)s."),
        _("The devices that would do are taken by other jobs."),
    ),
    ReasonCode.DEVICE_COMPUTE: (
        _(
            "This job needs %(needed)s of the compute of one device; on %(node)s at most %(available)s is free."
        ),
        _("No suitable device has enough free compute."),
    ),
    ReasonCode.DEVICE_MEMORY_TOTAL: (
        _("This job needs %(needed)s of device memory in one node; on %(node)s %(available)s is free."),
        _("No suitable node has enough free device memory."),
    ),
    ReasonCode.DEVICE_MEMORY_PIECE: (
        _(
            "This job needs %(needed)s free on one device; on %(node)s the largest free piece is %(available)s."
        ),
        _("No suitable device has enough free memory in one piece."),
    ),
    ReasonCode.FOREIGN_USE: (
        _(
            "On %(node)s programs that Headrace did not start use the memory: %(available)s is left, "
            "this job needs %(needed)s."
        ),
        _("Programs that Headrace did not start use the memory that this job needs."),
    ),
    ReasonCode.CORES_TOTAL: (
        _("This job needs %(needed)s cores in one node; %(node)s has %(available)s in all."),
        _("No suitable node has as many cores as this job asks for."),
    ),
    ReasonCode.CORES_FREE: (
        _("Free cores in one node: this job needs %(needed)s, %(node)s has %(available)s."),
        _("No suitable node has enough free cores."),
    ),
    ReasonCode.HOST_MEMORY_TOTAL: (
        _("This job needs %(needed)s of memory in one node; %(node)s has %(available)s in all."),
        _("No suitable node has as much memory as this job asks for."),
    ),
    ReasonCode.HOST_MEMORY_FREE: (
        _("This job needs %(needed)s of free memory in one node; on %(node)s %(available)s is free."),
        _("No suitable node has enough free memory."),
    ),
    ReasonCode.READ_BANDWIDTH: (
        _("This job reads %(needed)s MiB/s; %(node)s can still serve %(available)s MiB/s."),
        _("No suitable node can serve what this job reads beside the others."),
    ),
    ReasonCode.NODE_POWER: (
        _("This job may draw %(needed)s more; under its power cap %(node)s has %(available)s left."),
        _("No suitable node may draw what this job adds."),
    ),
    ReasonCode.POWER_CAP: (
        _("This job may draw %(needed)s more; under the power cap of this hour %(available)s is left."),
        _("The power cap of this hour leaves no room for this job."),
    ),
    ReasonCode.QUEUE_CAP: (_QUEUE_CAP, _QUEUE_CAP),
    ReasonCode.TEAM_QUOTA: (_TEAM_QUOTA, _TEAM_QUOTA),
    ReasonCode.MEMBER_SHARE: (_MEMBER_SHARE, _MEMBER_SHARE),
    ReasonCode.GANG: (
        _("Replicas that start together: this job has %(needed)s, room is there for %(available)s now."),
        _("Not all replicas of this job would find a place at the same time."),
    ),
    ReasonCode.RESERVED: (
        _("Waits for the reservation of job %(needed)s, which has waited long and is served before it."),
        _("Waits for the reservation of a job that has waited long and is served before it."),
    ),
}
# The same where nobody knows how much memory there is.
_ON_A_DEVICE = _(
    "This job needs %(needed)s on one device; how much memory those of %(node)s have is not known."
)
_OF_DEVICES = _("This job needs %(needed)s of device memory; how much %(node)s has is not known.")
_OF_THE_NODE = _("This job needs %(needed)s of memory in one node; how much %(node)s has is not known.")
UNKNOWN_SENTENCES: Mapping[ReasonCode, Text] = {
    ReasonCode.DEVICE_TOO_SMALL: _ON_A_DEVICE,
    ReasonCode.DEVICE_MEMORY_PIECE: _ON_A_DEVICE,
    ReasonCode.FOREIGN_USE: _ON_A_DEVICE,
    ReasonCode.DEVICE_MEMORY_TOTAL: _OF_DEVICES,
    ReasonCode.HOST_MEMORY_TOTAL: _OF_THE_NODE,
    ReasonCode.HOST_MEMORY_FREE: _OF_THE_NODE,
}
FRAGMENTS_EQUAL = _(
    "%(total)s is free on %(node)s, but in %(count)s pieces of %(piece)s. This job needs %(asked)s on one device."
)
FRAGMENTS = _(
    "%(total)s is free on %(node)s, but in %(count)s pieces, the largest of %(piece)s. "
    "This job needs %(asked)s on one device."
)
SAFETY = _("A shared device must have %(factor)s times that free: %(needed)s.")
OTHER_SENTENCES: Mapping[str, Text] = {
    "not-looked-at": _("The scheduler has not looked at this job yet."),
    "no-nodes": _("The cluster has no node yet. An operator adds one in the console: Nodes, Enrol a node."),
    "paused": _("The cluster is paused; nothing new is started."),
    "queue-paused": _("Its queue is paused; none of its jobs are started."),
    "fits-now": _("There is room now: the job starts when the scheduler looks next."),
    "caps-not-enforced": _(
        "This recording is from before quotas held jobs back: another quota changes no decision in it."
    ),
    "planned-paused": _("The cluster is paused: no job is placed in either plan."),
    "planned-queues-paused": _("These queues are paused, and none of their jobs are placed: %(queues)s."),
    "planned-ungated": _("Added jobs are planned as if nothing held them; not looked at: %(fields)s."),
    "planned-slots": _("Of an added array only as many tasks are planned as may be under way at once."),
    "takes-over": _("No place is free: it gets one from jobs that yield to its queue, once they have left."),
    "array-starts": _("Of the %(tasks)s tasks of this array %(starting)s start now."),
    "array-starts-of-first": _(
        "Of the first %(considered)s of the %(tasks)s tasks of this array %(starting)s start now."
    ),
    "placed": _("Placed on %(node)s, the best of %(candidates)s nodes that could take it."),
    "placed-only": _("Placed on %(node)s, the only node that could take it."),
    "start-never": _(
        "No node that is there now can ever take it as it is set up, not even with nothing else on it."
    ),
    "start-promised": _(
        "When it could start is unknown: there is room, but it is kept for jobs that were promised it."
    ),
    "start-no-known-end": _("When it could start is unknown: no known end of a running job would let it."),
    "start-recorded": _("When it could start is unknown: a recording does not say how long jobs run."),
    "start-not-tried": _(
        "When it could start was not worked out: only the first jobs of the answer are looked at."
    ),
    "tie": _(
        "%(node)s and %(other)s score the same; the lower node id goes first: %(node_id)s before %(other_id)s."
    ),
}
# Counts that read better as a word.
COUNT_WORDS: Mapping[int, Text] = {
    2: _("two"),
    3: _("three"),
    4: _("four"),
    5: _("five"),
    6: _("six"),
    7: _("seven"),
    8: _("eight"),
    9: _("nine"),
    10: _("ten"),
}

UNITS: Mapping[ReasonCode, str] = {
    ReasonCode.DEVICE_TOO_SMALL: "MiB",
    ReasonCode.DEVICE_MEMORY_TOTAL: "MiB",
    ReasonCode.DEVICE_MEMORY_PIECE: "MiB",
    ReasonCode.FOREIGN_USE: "MiB",
    ReasonCode.HOST_MEMORY_TOTAL: "MiB",
    ReasonCode.HOST_MEMORY_FREE: "MiB",
    ReasonCode.CORES_TOTAL: "cores",
    ReasonCode.CORES_FREE: "cores",
    ReasonCode.DEVICE_COUNT: "devices",
    ReasonCode.DEVICE_BUSY: "devices",
    ReasonCode.DEVICE_COMPUTE: "milli",
    ReasonCode.READ_BANDWIDTH: "MiB/s",
    ReasonCode.NODE_POWER: "mW",
    ReasonCode.POWER_CAP: "mW",
    ReasonCode.GANG: "replicas",
}


@dataclass(frozen=True)
class Sentence:
    """A statement as code, numbers (MiB, milli, cores, devices), and text in the active language."""

    code: str
    text: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The shape that the API gives sentences."""
        return {"code": self.code, "params": dict(self.params), "text": self.text}


def memory_text(mib: int) -> str:
    """Memory for people: whole or tenth GiB from one GiB up, else MiB."""
    if mib < GIB:
        return f"{mib} MiB"
    if mib % GIB == 0:
        return f"{mib // GIB} GiB"
    # Rounded down to tenths, so that a shortfall never reads as enough.
    tenths = mib * 10 // GIB
    return f"{tenths // 10}.{tenths % 10} GiB" if tenths % 10 else f"{tenths // 10} GiB"


def memory_texts(*amounts_mib: int) -> list[str]:
    """Amounts of one sentence: all in MiB where rounding would show different ones as the same."""
    texts = [memory_text(mib) for mib in amounts_mib]
    return texts if _told_apart(amounts_mib, texts) else [f"{mib} MiB" for mib in amounts_mib]


def _told_apart(numbers: Sequence[int], texts: Sequence[str]) -> bool:
    return len(set(texts)) == len(set(numbers))


def power_text(milliwatts: int) -> str:
    """Power for people: W, from 10,000 W up kW."""
    watts = milliwatts / 1000
    return f"{watts:g} W" if watts < KILO_ABOVE_W else f"{watts / 1000:g} kW"


def compute_text(milli: int) -> str:
    """A share of one device's compute for people, exact."""
    return f"{Decimal(milli) / 10:f} %"


def count_text(count: int) -> str:
    """A small count as a word."""
    return str(COUNT_WORDS.get(count, count))


def plain_sentence(code: str, **params: Any) -> Sentence:
    """A sentence that is not about a filter."""
    return Sentence(code, str(OTHER_SENTENCES[code]) % params, params)


def unit_of(code: ReasonCode) -> str | None:
    """The unit of `needed` and `available` of a near miss."""
    return UNITS.get(code)


def reason_sentence(refusal: Refusal, request: Request | None, names: Mapping[int, str]) -> Sentence:
    """Why a job waits: the dominant reason with the arithmetic of the nearest node."""
    code = refusal.code
    if refusal.nodes == 0 and code is ReasonCode.NODE_NOT_READY:
        return plain_sentence("no-nodes")
    with_node, without = SENTENCES[code]
    near = next((miss for miss in refusal.near if miss.code is code), None)
    base: dict[str, Any] = {"nodes": refusal.nodes}
    if near is None:
        return Sentence(code.value, str(without), base)
    params = base | _numbers(near, request, names)
    if near.available is None:
        return _of_unknown(code, params)
    if code is ReasonCode.DEVICE_MEMORY_PIECE and len(near.pieces) > 1 and request is not None:
        return Sentence(code.value, _fragments_text(near, request, params), params)
    needed, available = _amounts(code, near.needed, near.available)
    shown = {**params, "needed": needed, "available": available}
    return Sentence(code.value, str(with_node) % shown, params)


def code_text(code: ReasonCode) -> str:
    """Why a job waits where no node is named."""
    return str(SENTENCES[code][1])


def _numbers(near: NearMiss, request: Request | None, names: Mapping[int, str]) -> dict[str, Any]:
    return {
        "node": names.get(near.node, str(near.node)),
        "needed": near.needed,
        "available": near.available,
        "unit": unit_of(near.code),
        "pieces": list(near.pieces),
        "total": sum(near.pieces) if near.pieces else None,
        "asked": None if request is None else request.device_memory_mib,
    }


def _of_unknown(code: ReasonCode, params: Mapping[str, Any]) -> Sentence:
    told = UNKNOWN_SENTENCES.get(code)
    if told is None:
        return Sentence(code.value, str(SENTENCES[code][1]), params)
    shown = {**params, "needed": _amounts(code, params["needed"])[0]}
    return Sentence(code.value, str(told) % shown, params)


def _amounts(code: ReasonCode, *numbers: int) -> list[str]:
    match unit_of(code):
        case "MiB":
            return memory_texts(*numbers)
        case "mW":
            texts = [power_text(number) for number in numbers]
            exact = [f"{Decimal(number) / 1000:f} W" for number in numbers]
            return texts if _told_apart(numbers, texts) else exact
        case "milli":
            return [compute_text(number) for number in numbers]
        case _:
            return [str(number) for number in numbers]


def _fragments_text(near: NearMiss, request: Request, params: Mapping[str, Any]) -> str:
    asked = _piece_asked(near, request)
    equal = len(set(near.pieces)) == 1
    total, piece, wanted, needed = memory_texts(sum(near.pieces), near.pieces[0], asked, near.needed)
    text = str(FRAGMENTS_EQUAL if equal else FRAGMENTS) % {
        "total": total,
        "node": params["node"],
        "count": count_text(len(near.pieces)),
        "piece": piece,
        "asked": wanted,
    }
    if near.needed <= asked:
        return text
    factor = (near.needed * 10 + asked // 2) // asked
    safety = str(SAFETY) % {"factor": f"{factor // 10}.{factor % 10}", "needed": needed}
    return f"{text} {safety}"


def _piece_asked(near: NearMiss, request: Request) -> int:
    """What one device must hold; a job that spreads its memory needs only its part of it."""
    asked = request.device_memory_mib
    if asked is None or (request.splittable and request.devices != 1):
        return near.needed
    return asked


def label_of(code: ReasonCode) -> str:
    """The name of a filter's step."""
    return str(LABELS[code])


CHANGES: Mapping[str, Text] = {
    "splittable": _("If its memory may be spread over several devices, it starts at once on %(node)s."),
    "shareable": _("If it may share a device, it starts at once on %(node)s."),
    "other-model": _("If it also takes %(added)s, it starts at once on %(node)s."),
    "less-cores": _("With %(new)s cores it starts at once on %(node)s."),
    "less-host-memory": _("With %(new)s of memory it starts at once on %(node)s."),
    "less-read-bandwidth": _("If it reads at most %(new)s MiB/s, it starts at once on %(node)s."),
    "less-device-memory": _("With %(new)s of device memory it starts at once on %(node)s."),
    "less-compute": _("With %(new)s of a device's compute it starts at once on %(node)s."),
    "fewer-devices": _("With fewer devices (%(new)s) it starts at once on %(node)s."),
    "any-node-set": _("If it may run outside of its node sets, it starts at once on %(node)s."),
    "no-labels": _("Without its labels it starts at once on %(node)s."),
    "less-of-two": _("With %(first)s and %(second)s it starts at once on %(node)s."),
}
ONE_CORE, AMOUNT_OF_ONE_CORE = _("With 1 core it starts at once on %(node)s."), _("1 core")
# What is asked less of, in a change of two amounts.
AMOUNTS: Mapping[str, Text] = {
    "cores": _("%(new)s cores"),
    "host_memory_mib": _("%(new)s of memory"),
    "read_bandwidth_mib_s": _("%(new)s MiB/s of reading"),
    "device_memory_mib": _("%(new)s of device memory"),
    "device_compute_milli": _("%(new)s of a device's compute"),
}


def change_text(change: Change, node: str) -> str:
    """What one change of the request would do."""
    told: dict[str, object] = {"node": node, "new": _amount_text(change.field, change.old, change.new)}
    if isinstance(change.new, tuple) and isinstance(change.old, tuple):
        told["added"] = ", ".join(str(item) for item in change.new if item not in change.old)
        if change.kind is ChangeKind.LESS_OF_TWO:
            told["first"], told["second"] = _amounts_text(change.field.split("+"), change.old, change.new)
    is_one_core = change.kind is ChangeKind.LESS_CORES and change.new == 1
    return str(ONE_CORE if is_one_core else CHANGES[change.kind.value]) % told


def _amounts_text(fields: Sequence[str], old: Sequence[object], new: Sequence[object]) -> list[str]:
    given = zip(fields, old, new, strict=True)
    return [
        str(AMOUNT_OF_ONE_CORE if (field, now) == ("cores", 1) else AMOUNTS[field])
        % {"new": _amount_text(field, was, now)}
        for field, was, now in given
    ]


def _amount_text(field: str, old: object, new: object) -> object:
    if not isinstance(new, int) or isinstance(new, bool):
        return new
    if field.endswith("_mib"):
        return memory_texts(new, old if isinstance(old, int) else new)[0]
    return compute_text(new) if field.endswith("_milli") else new
