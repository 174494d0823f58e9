"""Sentences about faults of requests, in the language now active."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from controlplane.base import problems
from controlplane.base.problems import FAULT_TEXTS, Fault, filled
from queues.fields import FieldError

# What a field may be, for Fault.TYPE.
TYPES: Mapping[str, str | Promise] = {
    "object": _("an object"),
    "list": _("a list"),
    "string": _("a string"),
    "integer": _("a whole number"),
    "number": _("a number"),
    "boolean": _("true or false"),
}
# What only jobs and what-ifs can have wrong; the rest is in the table of all faults.
FAULTS: Mapping[str, str | Promise] = {
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
    "image-name": _("Is no name of an image. Write for example registry.example.com/team/image:1.0."),
    "no-such-secret": _(
        "The server has no secret of this name that your team may use. Ask an administrator."
    ),
    "secret-unusable": _(
        "The server's secret of this name cannot be read. Ask an administrator to make it anew."
    ),
    "other-registry": _("This secret is for %(registries)s, and the image lies elsewhere."),
    "image-missing": _("Has a meaning only for containers. Name an image, or leave it out."),
    "signal-or-command": _("Give either a signal or a command, by which the job is asked for a checkpoint."),
    "not-a-mount": _(
        "Write SOURCE:TARGET or SOURCE:TARGET:ro, both absolute paths without .., colon and comma."
    ),
    "contradicts": _("Says something else than %(other)s. Give one of the two."),
    "not-shareable": _(
        "A part of a device can only be had where sharing is allowed. Set shareable to true or leave it out."
    ),
    "no-team": _("You are in no team. Ask an administrator to add you to one."),
    "team-needed": _("You are in several teams. Say which: %(options)s."),
    "not-found": _("There is no such team, or you are not in it."),
    "no-such-template": _("Your teams have no template of this name."),
    "no-such-node": _("There is no such node."),
    "no-such-recording": _("There is no such recording, or it made room for newer ones."),
    "recording-damaged": _("This recording is damaged and cannot be read."),
    "recording-format": _(
        "This recording has the format %(format)s of another version of Headrace; this one reads %(reads)s."
    ),
    "too-many-jobs": _("Must add at most %(limit)s jobs in all."),
    "too-many-nodes": _("Must add at most %(limit)s nodes in all."),
    "queue-closed": _("This queue is closed: the policy no longer has it."),
    "not-a-moment": _(
        "Is no moment. Write date, time and offset from UTC, for example 2026-12-31T08:00:00+08:00."
    ),
    "not-deferrable": _("Has a meaning only for deferrable jobs. Set deferrable to true, or leave it out."),
    "time-limit-missing": _(
        "How late a deferrable job may start follows only from its time limit. Give time_limit_s."
    ),
    "in-the-past": _("This moment is over."),
    "no-such-job": _("There is no job %(job)s, or you may not see it."),
    "never-met": _("Job %(job)s is over already, and ended otherwise."),
    "bad-key": _("Must be 1 to 200 printable ASCII characters."),
}


def fault_text(error: FieldError) -> str:
    """The sentence of one fault."""
    params = dict(error.params)
    if "expected" in params:
        params["expected"] = TYPES[params["expected"]]
    return filled(FAULTS.get(error.code) or FAULT_TEXTS[Fault(error.code)], params)


def fault(error: FieldError) -> problems.FieldError:
    """One fault in the shape of problems."""
    return problems.FieldError(error.field, error.code, fault_text(error))
