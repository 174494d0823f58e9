"""Silences: the only writer of Silence rows, and which alerts they cover."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from controlplane.alerts.models import Alert, Severity, Silence
from controlplane.base import clock
from controlplane.base.tx import Topic, after_commit

# Digits; no id of a row has more than eighteen.
LONGEST_ID = 18


# Subject type -> whether there is one of this id, from the packages that own them.
_SUBJECTS: dict[str, Callable[[int], bool]] = {}


def know_subjects(subject_type: str, exists: Callable[[int], bool]) -> None:
    """Silences may only name subjects of this type that exist."""
    _SUBJECTS[subject_type] = exists


def is_known(subject_type: str, subject_id: str) -> bool:
    """Whether there is such a subject, or ever was an alert about it. Of types that nobody knows all ids are known."""
    if Alert.objects.filter(subject_type=subject_type, subject_id=subject_id).exists():
        return True
    exists = _SUBJECTS.get(subject_type)
    if exists is None:
        return True
    return (
        subject_id.isascii()
        and subject_id.isdigit()
        and len(subject_id) <= LONGEST_ID
        and exists(int(subject_id))
    )


def silence(
    *, code: str, subject_type: str, subject_id: str, until: datetime, reason: str, by: str
) -> Silence:
    """Alerts that match all that is not blank call nobody until then."""
    made = Silence.objects.create(
        code=code, subject_type=subject_type, subject_id=subject_id, until=until, reason=reason, created_by=by
    )
    after_commit(Topic.HINT, ("alerts",))
    return made


def end_silence(made: Silence) -> bool:
    """Ends it now; False when it had ended."""
    now = clock.now()
    ended = Silence.objects.filter(pk=made.pk, until__gt=now).update(until=now)
    if ended:
        after_commit(Topic.HINT, ("alerts",))
    return bool(ended)


def with_silenced(alerts: QuerySet[Alert]) -> QuerySet[Alert]:
    """The same, each with `silenced`."""
    covering = Silence.objects.filter(
        Q(code="") | Q(code=OuterRef("code")),
        Q(subject_type="") | Q(subject_type=OuterRef("subject_type")),
        Q(subject_id="") | Q(subject_id=OuterRef("subject_id")),
        until__gt=clock.now(),
    )
    return alerts.annotate(silenced=Exists(covering))


def open_counts() -> dict[str, int]:
    """How many alerts are open, of them critical and acknowledged, without those that are silenced."""
    open_ones: Any = with_silenced(Alert.objects.filter(cleared_at=None))
    rows = list(open_ones.values_list("severity", "acknowledged_at", "silenced"))
    heard = [(severity, taken) for severity, taken, silenced in rows if not silenced]
    return {
        "open": len(heard),
        "critical": sum(severity == Severity.CRITICAL for severity, _taken in heard),
        "acknowledged": sum(taken is not None for _severity, taken in heard),
        "silenced": len(rows) - len(heard),
    }
