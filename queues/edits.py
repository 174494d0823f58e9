"""Editing the caps of one queue: a new version of the policy in which nothing else changes, with its audit line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from controlplane.accounts import audit
from controlplane.accounts.audit import Who
from controlplane.accounts.models import User
from controlplane.base.problems import Fault, FieldError, Problem
from controlplane.policy.active import active_text
from controlplane.policy.document import PolicyDocument
from controlplane.policy.models import PolicyVersion
from controlplane.policy.queue_edit import NotEditable, QueueChange, edited_text, percent_text
from controlplane.policy.reading import PolicyError
from controlplane.policy.service import activate, read_checked
from queues.models import Queue


@dataclass(frozen=True)
class Edited:
    """A document with one queue changed; `made_from` is the number of the version it was made from."""

    text: str
    document: PolicyDocument
    made_from: int


def edited(queue: Queue, fields: Mapping[str, Any]) -> Edited:
    """The active document with these fields of the queue (named as in QueueSpec) changed; stores nothing."""
    if queue.closed:
        raise Problem(
            409, "queue-closed", message=_("The policy no longer has this queue. Add it there first.")
        )
    number, before = active_text()
    try:
        text = edited_text(before, QueueChange(queue.name, fields))
        return Edited(text, read_checked(text), number)
    except NotEditable:
        message = _("The policy document is written so that only its author should change it. Edit its text.")
        raise Problem(409, "policy-not-editable", message=message) from None
    except PolicyError as error:
        raise Problem(400, "invalid", errors=[_fault(error)]) from None


def edit_queue(
    who: Who, author: User, queue: Queue, fields: Mapping[str, Any], *, reason: str
) -> PolicyVersion:
    """Make it so, as the next version of the policy."""
    made = edited(queue, fields)
    with transaction.atomic():
        version = activate(made.text, author=author, reason=reason, instead_of=made.made_from)
        details = {
            "queue": queue.name,
            "policy": version.number,
            "reason": reason,
            **_told(fields),
            "before": _told({name: getattr(queue, name) for name in fields}),
        }
        audit.record(who, "queue-edit", target=queue, details=details)
    return version


def _told(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Shares as the document writes them."""
    told: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            told["model_caps"] = {model: percent_text(ppm) for model, ppm in sorted(value.items())}
        elif name == "quota_ppm":
            told["quota"] = None if value is None else percent_text(value)
        else:
            told[name] = value
    return told


# The last key of a path in the document -> the field of a request.
FIELDS = {"quota": "quota_percent", "borrow": "borrow", "model-caps": "model_caps"}


def _fault(error: PolicyError) -> FieldError:
    parts = error.field.split(".")
    field = next((FIELDS[part] for part in parts if part in FIELDS), "queue")
    return FieldError(field, Fault.POLICY, error.reason)
