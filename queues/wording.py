"""Sentences about faults of requests, in the language now active."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from controlplane.base import problems
from queues.fields import FieldError

FAULTS: Mapping[str, str | Promise] = {
    "not-object": _("Must be an object."),
    "not-list": _("Must be a list."),
    "not-text": _("Must be a text."),
    "not-integer": _("Must be a whole number without quotes."),
    "not-boolean": _("Must be true or false."),
    "unknown-field": _("There is no such field. Remove it or correct its name."),
    "required": _("Is missing."),
    "empty": _("Must not be empty."),
    "min": _("Must be at least %(limit)s."),
    "max": _("Must be at most %(limit)s."),
    "too-long": _("Must have at most %(limit)s characters."),
    "too-many": _("Must have at most %(limit)s entries."),
    "control-character": _("Contains a control character."),
    "choice": _("Must be one of: %(options)s."),
    "not-a-quantity": _(
        'Is no amount of memory. Write a whole number of MiB, or for example "8Gi" or "8000 MB".'
    ),
    "unit-missing": _(
        'Say the unit, for example "%(value)s MiB", or write the number of MiB without quotes.'
    ),
    "unit": _(
        'The unit of "%(value)s" is not known. Use MiB, GiB or TiB (powers of two) or MB, GB or TB (powers of ten).'
    ),
    "not-absolute": _("Must begin with /."),
    "variable-name": _(
        '"%(key)s" is no name of a variable: letters, digits and _ only, not beginning with a digit.'
    ),
    "variable-reserved": _('"%(key)s" is reserved: names that begin with HEADRACE_ are set by the node.'),
    "label-name": _('"%(key)s" is no name of a label: letters, digits and . _ / - only.'),
    "command-size": _("Command and environment together must have at most %(limit)s bytes."),
    "contradicts": _("Says something else than %(other)s. Give one of the two."),
    "not-shareable": _(
        "A part of a device can only be had where sharing is allowed. Set shareable to true or leave it out."
    ),
    "no-team": _("You are in no team. Ask an administrator to add you to one."),
    "team-needed": _("You are in several teams. Say which: %(options)s."),
    "not-found": _("There is no such team, or you are not in it."),
    "queue-closed": _("This queue is closed: the policy no longer has it."),
    "bad-key": _("Must be 1 to 200 printable ASCII characters."),
}


def fault_text(error: FieldError) -> str:
    """The sentence of one fault."""
    text = str(FAULTS[error.code])
    return text % dict(error.params) if error.params else text


def fault(error: FieldError) -> problems.FieldError:
    """One fault in the shape of problems."""
    return problems.FieldError(error.field, error.code, fault_text(error))
