"""Another cap of one queue in the text of a document: only what is edited changes, comments and order stay. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import yaml

from controlplane.policy.document import PPM, PolicyDocument, QueueSpec
from controlplane.policy.reading import PolicyError, build, read_document, read_source

PPM_PER_PERCENT = PPM // 100


class NotEditable(Exception):
    """The text is written in a way that only its author should change: aliases, several mappings on one line."""


@dataclass(frozen=True)
class QueueChange:
    """What becomes of a queue; what is not in `fields` stays. The names are those of QueueSpec."""

    queue: str
    fields: Mapping[str, Any]

    def of(self, spec: QueueSpec) -> QueueSpec:
        """The queue as it should be."""
        return msgspec.structs.replace(spec, **self.fields)


def percent_text(ppm: int) -> str:
    """A share as documents write it: 30%, 33.3333%."""
    return f"{(Decimal(ppm) / PPM_PER_PERCENT).normalize():f}%"


def edited_text(text: str, change: QueueChange) -> str:
    """The text with the change in it; NotEditable when it cannot be made without touching anything else, KeyError when
    the document has no such queue, PolicyError when the result is not valid.
    """
    before = read_document(text)
    if change.queue not in {spec.name for spec in before.queue_policy.queues}:
        raise KeyError(change.queue)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    queues = _below(
        _below(root, "queue-policy") or _below(_below(root, "scheduler"), "queue-policy"), "queues"
    )
    if queues is None:
        made = _with_own_queues(text, before, change)
    else:
        made = _in_place(text, queues, change)
    try:
        source = read_source(made)
    except PolicyError:
        raise NotEditable from None
    # What the text says now is compared with what it should say: a surprise is refused, never stored.
    if build(source) != _wanted(before, change):
        raise NotEditable
    return made


def _wanted(before: PolicyDocument, change: QueueChange) -> PolicyDocument:
    queues = tuple(
        change.of(spec) if spec.name == change.queue else spec for spec in before.queue_policy.queues
    )
    policy = msgspec.structs.replace(before.queue_policy, queues=queues)
    return msgspec.structs.replace(before, queue_policy=policy)


def _below(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _with_own_queues(text: str, before: PolicyDocument, change: QueueChange) -> str:
    """The document had the queues of the defaults; now it has its own, at its end."""
    lines = [
        _flow(change.of(spec) if spec.name == change.queue else spec) for spec in before.queue_policy.queues
    ]
    queues = "\n".join(f"    - {line}" for line in lines)
    return f"{text.rstrip()}\nqueue-policy:\n  queues:\n{queues}\n"


def _flow(spec: QueueSpec) -> str:
    parts = [f"{name}: {_written(name, value)}" for name, value in _told(spec)]
    return "{" + ", ".join(parts) + "}"


def _told(spec: QueueSpec) -> list[tuple[str, Any]]:
    """Key and value of every field that says something; without a quota none is written."""
    pairs = [(field, getattr(spec, field.name)) for field in msgspec.structs.fields(spec)]
    return [(field.encode_name, value) for field, value in pairs if value is not None and value != {}]


def _written(key: str, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{model}: {percent_text(ppm)}" for model, ppm in sorted(value.items())) + "}"
    return percent_text(value) if key == "quota" else str(value)


def _in_place(text: str, queues: yaml.Node, change: QueueChange) -> str:
    for item in queues.value if isinstance(queues, yaml.SequenceNode) else ():
        name = _below(item, "name")
        if name is not None and name.value == change.queue:
            return _rewritten(text, item, name, change)
    raise NotEditable


def _rewritten(text: str, item: yaml.MappingNode, name: yaml.Node, change: QueueChange) -> str:
    column = next(key.start_mark.column for key, value in item.value if value is name)
    parts: list[tuple[int, int, str]] = []
    for field, value in change.fields.items():
        key = next(f.encode_name for f in msgspec.structs.fields(QueueSpec) if f.name == field)
        there, new = _below(item, key), _written(key, value)
        if there is not None:
            first, last = there.start_mark.index, _end(there)
            parts.append((first, last, new if first < last else f" {new}"))
        else:
            apart = ", " if item.flow_style else "\n" + " " * column
            parts.append((name.end_mark.index, name.end_mark.index, f"{apart}{key}: {new}"))
    # From the end on, so that what was found before stays where it was found.
    for first, last, new in sorted(parts, key=lambda part: part[:2], reverse=True):
        text = text[:first] + new + text[last:]
    return text


def _end(node: yaml.Node) -> int:
    """Where the last character of a value is; a block's own end lies behind the comments that follow it."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _end(node.value[-1][1])
    end: int = node.end_mark.index
    return end
