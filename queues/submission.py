"""Submitting jobs: read, check the team, store once per idempotency key."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from controlplane.accounts.models import Team, User
from controlplane.accounts.permissions import Action, require, token_of
from controlplane.accounts.scoping import visible_teams, visible_to
from controlplane.base import clock
from controlplane.base.problems import Problem
from controlplane.policy.active import active_policy
from inventory.images.secrets import SecretMissing, SecretUnusable, find, note_use
from queues import lifecycle
from queues.arrays import add_tasks, make_array
from queues.derive import Gate
from queues.fields import FieldError
from queues.gates import MET_BY
from queues.models import FINAL_STATUSES, Dependency, IdempotencyKey, Job, JobStatus, Queue
from queues.rules import spec_rules
from queues.shape import shape_key
from queues.spec import JobSpec, SpecFaults, encode_spec, read_spec
from queues.templates import expanded
from queues.wording import fault

LONGEST_KEY = 200


@dataclass(frozen=True)
class Submission:
    """One request to run a job: who asks, the body as it came, and the Idempotency-Key if there was one."""

    user: User
    raw: object
    key: str | None = None


@dataclass(frozen=True)
class Submitted:
    """The job of a submission; `created` is False for the repetition of an earlier one."""

    job: Job
    created: bool


@dataclass(frozen=True)
class Accepted:
    """A request that may become a job, and the name of the template it was made from."""

    spec: JobSpec
    team: Team
    queue: Queue
    template: str = ""


def accept(submission: Submission) -> Accepted:
    """Read and check a request without storing anything; Problem 400 names every faulty field."""
    raw, template = expanded(submission.user, submission.raw)
    try:
        spec = read_spec(raw, spec_rules(active_policy()))
    except SpecFaults as faults:
        raise _refused(*faults.errors) from None
    team = _team(submission.user, spec.team)
    require(submission.user, Action.JOB_SUBMIT, team=team)
    queue = Queue.objects.filter(name=spec.queue, closed=False).first()
    if queue is None:
        raise _refused(FieldError("queue", "queue-closed"))
    _check_conditions(submission.user, spec)
    _check_secret(spec, team)
    return Accepted(msgspec.structs.replace(spec, team=team.slug), team, queue, template)


def _check_secret(spec: JobSpec, team: Team) -> None:
    """Problem 400 for a registry's secret that is not there, or not for this team or image. One that others may name is
    told from none by nobody.
    """
    if spec.image is None or spec.image_secret is None:
        return
    try:
        secret = find(spec.image_secret)
    except SecretMissing:
        raise _refused(FieldError("image_secret", "no-such-secret")) from None
    except SecretUnusable:
        raise _refused(FieldError("image_secret", "secret-unusable")) from None
    if not secret.may_be_named_by(team.slug):
        raise _refused(FieldError("image_secret", "no-such-secret"))
    if not secret.is_for(spec.image):
        where = {"registries": ", ".join(secret.registries)}
        raise _refused(FieldError("image_secret", "other-registry", where))


def _check_conditions(user: User, spec: JobSpec) -> None:
    """Problem 400 for jobs to wait for that are not there or ended otherwise already, and for a finish that is over."""
    faults = []
    for name, text in (("latest_start", spec.latest_start), ("latest_finish", spec.latest_finish)):
        if text is not None and datetime.fromisoformat(text) <= clock.now():
            faults.append(FieldError(name, "in-the-past"))
    ids = [after.job for after in spec.after]
    statuses = (
        dict(visible_to(user, Job.objects.filter(pk__in=ids)).values_list("pk", "status")) if ids else {}
    )
    for after in spec.after:
        status = statuses.get(after.job)
        if status is None:
            faults.append(FieldError("after", "no-such-job", {"job": after.job}))
        elif status in FINAL_STATUSES and status not in MET_BY[after.ends]:
            faults.append(FieldError("after", "never-met", {"job": after.job}))
    if faults:
        raise _refused(*faults)


def submit(submission: Submission) -> Submitted:
    """Store the job; the same key with the same body gives the same job, whatever changed since, with another
    body 422.
    """
    if submission.key is None:
        accepted = accept(submission)
        with transaction.atomic():
            return Submitted(_create(accepted, submission.user), created=True)
    key, body_hash = _checked_key(submission.key), _body_hash(submission.raw)
    made = _made_before(submission.user, key, body_hash)
    if made is not None:
        return Submitted(made, created=False)
    return _submit_once(accept(submission), submission.user, key, body_hash)


def unsaved_job(accepted: Accepted, owner: User) -> Job:
    """The job as it would be stored."""
    spec, now = accepted.spec, clock.now()
    return Job(
        name=spec.name,
        owner=owner,
        team=accepted.team,
        queue=accepted.queue,
        spec=encode_spec(spec),
        shape=shape_key(spec, queue=accepted.queue.pk, team=accepted.team.pk, owner=owner.pk),
        replicas=spec.replicas,
        template=accepted.template,
        priority=spec.priority,
        status=JobStatus.PENDING,
        retries_left=spec.max_retries,
        submitted_at=now,
        pending_since=now,
        on_hold=spec.on_hold,
        latest_finish=_moment(spec.latest_finish),
        deferrable=spec.deferrable,
        deferred=spec.deferrable,
        latest_start=_latest_start(spec),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _latest_start(spec: JobSpec) -> datetime | None:
    """The moment until which a deferrable job can be put off: as it says, and so that it can be over in time."""
    start, finish = _moment(spec.latest_start), _moment(spec.latest_finish)
    if finish is not None and spec.time_limit_s is not None:
        by_finish = finish - timedelta(seconds=spec.time_limit_s)
        start = by_finish if start is None else min(start, by_finish)
    return start if spec.deferrable else None


def _create(accepted: Accepted, owner: User) -> Job:
    """The job, or the first of the array."""
    spec, job = accepted.spec, unsaved_job(accepted, owner)
    array = (
        None if spec.array is None else make_array(job, tasks=spec.array.tasks, at_once=spec.array.at_once)
    )
    gate = _first_gate(spec)
    if gate is not None:
        lifecycle.begin_held(job, gate)
    job.save(force_insert=True)
    Dependency.objects.bulk_create(
        Dependency(job=job, on_id=after.job, ends=after.ends) for after in spec.after
    )
    if spec.image is not None and spec.image_secret is not None:
        note_use(spec.image, spec.image_secret)
    lifecycle.record_submission(job, actor=owner.username)
    if array is not None:
        add_tasks(job, array, actor=owner.username)
    return job


def _first_gate(spec: JobSpec) -> Gate | None:
    """What keeps the job at first. It may be open already: the next look finds that."""
    if spec.on_hold:
        return Gate.PERSON
    if spec.after:
        return Gate.DEPENDENCY
    return Gate.WINDOW if spec.deferrable else None


def _body_hash(raw: object) -> str:
    return hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()


def _made_before(user: User, key: str, body_hash: str) -> Job | None:
    """The job that this key made, as long as its owner may see it: a repeat is answered, not judged again."""
    kept = IdempotencyKey.objects.select_related("job").filter(user=user, key=key).first()
    if kept is None:
        return None
    _refuse_other_body(kept, body_hash)
    return kept.job if kept.job is not None and _sees(user, kept.job) else None


def _sees(user: User, job: Job) -> bool:
    return visible_to(user, Job.objects.filter(pk=job.pk)).exists()


def _refuse_other_body(kept: IdempotencyKey, body_hash: str) -> None:
    if kept.body_hash != body_hash:
        raise Problem(
            422,
            "idempotency-key-reused",
            message=_("This Idempotency-Key was used with another body. Use a new key for a new job."),
        )


def _submit_once(accepted: Accepted, user: User, key: str, body_hash: str) -> Submitted:
    with transaction.atomic():
        # A twin that is still being stored makes this insert wait for its commit.
        IdempotencyKey.objects.bulk_create(
            [IdempotencyKey(user=user, key=key, body_hash=body_hash)], ignore_conflicts=True
        )
        kept = IdempotencyKey.objects.select_related("job").get(user=user, key=key)
        _refuse_other_body(kept, body_hash)
        if kept.job is not None:
            if not _sees(user, kept.job):
                # Of the same person, but a token narrowed to another team asks.
                message = _(
                    "This Idempotency-Key made a job that you may not see. Use a new key for a new job."
                )
                raise Problem(422, "idempotency-key-reused", message=message)
            return Submitted(kept.job, created=False)
        job = _create(accepted, user)
        IdempotencyKey.objects.filter(pk=kept.pk).update(job=job)
        return Submitted(job, created=True)


def _checked_key(key: str) -> str:
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise _refused(FieldError("Idempotency-Key", "bad-key"))
    return key


def _team(user: User, slug: str | None) -> Team:
    teams = visible_teams(user).order_by("slug")
    if slug is not None:
        team = teams.filter(slug=slug).first()
        if team is None:
            raise _refused(FieldError("team", "not-found"))
        return team
    own = list(_presumed_teams(user)[:20])
    if len(own) == 1:
        return own[0]
    if not own:
        raise _refused(FieldError("team", "no-team"))
    raise _refused(FieldError("team", "team-needed", {"options": ", ".join(team.slug for team in own)}))


def _presumed_teams(user: User) -> list[Team]:
    """The teams a job may belong to when its request names none: the token's, else the user's own, else
    all that an operator sees.
    """
    token = token_of(user)
    teams = visible_teams(user).order_by("slug")
    if token is not None and token.team_id is not None:
        return list(teams)
    return list(teams.filter(memberships__user=user)) or list(teams)


def _refused(*errors: FieldError) -> Problem:
    return Problem(400, "invalid", errors=[fault(error) for error in errors])
