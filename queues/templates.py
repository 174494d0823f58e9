"""Templates: named forms of requests of one team, kept, audited, and put under the requests that name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from controlplane.accounts import audit
from controlplane.accounts.audit import Who
from controlplane.accounts.models import Team, User
from controlplane.accounts.scoping import visible_to
from controlplane.base import clock
from controlplane.base.problems import Fault, Problem, not_found
from controlplane.policy.active import active_policy
from queues.fields import FieldError, text_fault
from queues.models import JobTemplate
from queues.rules import spec_rules
from queues.spec import SpecFaults, read_spec
from queues.wording import fault

MOST_TEMPLATES = 200
LONGEST_NAME = 100
# What a template leaves to whoever uses it; the check fills it in.
LEFT_OPEN = {"command": ["true"]}
# A template is its team's, and none is made of others.
NOT_THERE = ("team", "template")


def check_spec(spec: Mapping[str, Any]) -> None:
    """Problem 400 where a request of this form could never be accepted, whatever is added; paths begin with `spec`."""
    rules = spec_rules(active_policy())
    errors = [FieldError(name, Fault.UNKNOWN_FIELD) for name in NOT_THERE if name in spec]
    # Null says nothing, but the name of its field is read all the same.
    filled = {"queue": next(iter(rules.queues)), **LEFT_OPEN}
    filled |= {k: v for k, v in spec.items() if k not in NOT_THERE and (v is not None or k not in filled)}
    try:
        read_spec(filled, rules)
    except SpecFaults as faults:
        errors += faults.errors
    if errors:
        told = [
            FieldError(f"spec.{one.field}" if one.field else "spec", one.code, one.params) for one in errors
        ]
        raise Problem(400, "invalid", errors=[fault(one) for one in told])


def make_template(
    who: Who, owner: User, team: Team, *, name: str, description: str, spec: Mapping[str, Any]
) -> JobTemplate:
    """A new template; 409 when the team has one of this name, or too many."""
    check_spec(spec)
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        if JobTemplate.objects.filter(team=team).count() >= MOST_TEMPLATES:
            message = _("The team has %(limit)s templates. Remove some first.")
            raise Problem(409, "too-many-templates", params={"limit": MOST_TEMPLATES}, message=message)
        row = JobTemplate(team=team, owner=owner, name=name, description=description, spec=dict(spec))
        _save(row)
        _tell(who, "template-make", row)
    return row


def edit_template(
    who: Who, template: JobTemplate, fields: Mapping[str, Any], *, check: Callable[[JobTemplate], None]
) -> JobTemplate:
    """Other values of `name`, `description` or `spec`; `check` may refuse what is there by then."""
    if "spec" in fields:
        check_spec(fields["spec"])
    with transaction.atomic():
        row = _locked(template)
        check(row)
        for name, value in fields.items():
            setattr(row, name, value)
        row.changed_at = clock.now()
        _save(row, [*fields, "changed_at"])
        _tell(who, "template-edit", row)
    return row


def drop_template(who: Who, template: JobTemplate) -> None:
    """Jobs that were made from it stay as they are."""
    with transaction.atomic():
        row = _locked(template)
        _tell(who, "template-drop", row)
        row.delete()


def _locked(template: JobTemplate) -> JobTemplate:
    """The row as it is now; 404 when somebody removed it meanwhile."""
    rows = JobTemplate.objects.select_for_update(of=("self",)).select_related("team", "owner")
    row = rows.filter(pk=template.pk).first()
    if row is None:
        raise not_found()
    return row


def _save(row: JobTemplate, columns: list[str] | None = None) -> None:
    try:
        with transaction.atomic():
            row.save(update_fields=columns, force_insert=columns is None)
    except IntegrityError:
        message = _("The team has a template with this name already.")
        raise Problem(409, "template-exists", message=message) from None


def _tell(who: Who, action: str, row: JobTemplate) -> None:
    details = {"team": row.team.slug, "name": row.name, "description": row.description, "spec": row.spec}
    audit.record(who, action, target=("template", row.pk), details=details)


def expanded(user: User, raw: object) -> tuple[object, str]:
    """The request with the template beneath it that it names, and that one's name (empty: none). What the request says
    wins, null included; of `resources` each member for itself. Problem 400 when there is no such template.
    """
    if not isinstance(raw, Mapping) or raw.get("template") is None:
        plain = {k: v for k, v in raw.items() if k != "template"} if isinstance(raw, Mapping) else raw
        return plain, ""
    row = _named(user, raw["template"], raw.get("team"))
    spec = {**row.spec, **{name: value for name, value in raw.items() if name != "template"}}
    below, above = row.spec.get("resources"), raw.get("resources")
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        spec["resources"] = {**below, **above}
    return {**spec, "team": row.team.slug}, row.name


def _named(user: User, name: object, team: object) -> JobTemplate:
    found = JobTemplate.objects.filter(name=_text("template", name))
    if team is not None:
        found = found.filter(team__slug=_text("team", team))
    rows = list(visible_to(user, found).select_related("team").order_by("team__slug")[:20])
    if not rows:
        raise _refused(FieldError("template", "no-such-template"))
    if len(rows) > 1:
        options = ", ".join(row.team.slug for row in rows)
        raise _refused(FieldError("team", "team-needed", {"options": options}))
    return rows[0]


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise _refused(FieldError(field, Fault.TYPE, {"expected": "string"}))
    if code := text_fault(value):
        raise _refused(FieldError(field, code))
    return value


def _refused(error: FieldError) -> Problem:
    return Problem(400, "invalid", errors=[fault(error)])
