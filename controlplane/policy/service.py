"""Making a version of the policy the active one; the only writer of PolicyVersion rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext_lazy as _

from controlplane.accounts.audit import SYSTEM, record
from controlplane.accounts.models import User
from controlplane.base.problems import Problem
from controlplane.base.tx import Topic, after_commit
from controlplane.policy.active import ActivePolicy
from controlplane.policy.contradictions import Path_
from controlplane.policy.document import PolicyDocument
from controlplane.policy.models import PolicyVersion
from controlplane.policy.reading import build, read_document, read_source

# PostgreSQL's advisory lock for activations: version numbers are gapless and one is active.
ACTIVATION_LOCK = 0x706F6C69
Follower = Callable[[ActivePolicy], None]
Check = Callable[[PolicyDocument], Iterable[tuple[Path_, str]]]
_followers: list[Follower] = []
_checks: list[Check] = []


def follow(follower: Follower) -> None:
    """Call `follower` inside the transaction of every activation; what it raises undoes the activation."""
    if follower not in _followers:
        _followers.append(follower)


def check_with(check: Check) -> None:
    """Ask `check` before every activation but the first: path and reason of each name that nothing has."""
    if check not in _checks:
        _checks.append(check)


def read_checked(text: str) -> PolicyDocument:
    """The document, which names only what is there; PolicyError names the first thing wrong."""
    source = read_source(text)
    document = build(source)
    for path, reason in (found for check in _checks for found in check(document)):
        raise source.error(path, reason)
    return document


def activate(text: str, *, author: User | None, reason: str, instead_of: int | None = None) -> PolicyVersion:
    """Store `text` as the next version and make it the active one; PolicyError when it is not valid. It was made from
    version `instead_of`: 409 when that is no longer the active one.
    """
    document = read_checked(text)
    with transaction.atomic():
        _lock()
        if instead_of is not None and instead_of != _active_number():
            raise Problem(
                409,
                "policy-changed",
                message=_(
                    "Another version of the policy has become active meanwhile. Look again, then repeat."
                ),
            )
        return _store(text, document, author=author, reason=reason)


def activate_first(text: str, *, reason: str) -> PolicyVersion | None:
    """The same, but only when no version exists; None when one does."""
    document = read_document(text)
    with transaction.atomic():
        _lock()
        if PolicyVersion.objects.exists():
            return None
        return _store(text, document, author=None, reason=reason)


def _lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ACTIVATION_LOCK])


def _active_number() -> int:
    return PolicyVersion.objects.filter(active=True).values_list("number", flat=True).first() or 0


def _store(text: str, document: PolicyDocument, *, author: User | None, reason: str) -> PolicyVersion:
    number = (PolicyVersion.objects.aggregate(last=Max("number"))["last"] or 0) + 1
    PolicyVersion.objects.filter(active=True).update(active=False)
    version = PolicyVersion.objects.create(
        number=number,
        document=text,
        author=author,
        author_name=author.username if author else SYSTEM,
        reason=reason,
        active=True,
    )
    for follower in _followers:
        follower(ActivePolicy(number, document))
    record(author or SYSTEM, "policy-activate", target=("policy", number), details={"reason": reason})
    after_commit(Topic.CYCLE_WAKE)
    after_commit(Topic.HINT, ("queues",))
    return version
