"""What is deleted when it is old enough: in short transactions, and never more per run than a run may take."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from controlplane.accounts.models import AuditEntry
from controlplane.alerts.models import Alert, Silence
from controlplane.base import clock
from controlplane.policy.document import Retention
from queues.models import IdempotencyKey
from scheduling.models import DEAD_PHASES, Cycle, Decision, LogChunk, Outcome, Placement, Pulse

log = structlog.get_logger(__name__)

BATCH = 1000
MOST_BATCHES = 100
# A log has up to 64 MiB.
PLACEMENTS_PER_BATCH = 20


def prune_old(retention: Retention) -> dict[str, int]:
    """Delete what is older than it is kept; how many rows of each kind, of logs how many placements."""
    counts = {name: _delete(rows) for name, rows in _old(retention, clock.now()).items()}
    counts["logs"] = _empty_logs(_days_ago(clock.now(), retention.logs_days))
    if any(counts.values()):
        log.info("pruned", **counts)
    return counts


def _days_ago(now: datetime, days: int) -> datetime:
    return now - timedelta(days=days)


def _old(kept: Retention, now: datetime) -> dict[str, QuerySet]:
    stale = Decision.objects.filter(outcome=Outcome.STALE)
    cycles = Cycle.objects.filter(started_at__lt=_days_ago(now, kept.cycles_days))
    return {
        "stale_decisions": stale.filter(at__lt=_days_ago(now, kept.stale_decisions_days)),
        # The cycles behind score sheets stay with them.
        "cycles": cycles.exclude(Exists(Decision.objects.filter(cycle=OuterRef("pk")))),
        "pulses": Pulse.objects.filter(minute__lt=_days_ago(now, kept.cycles_days)),
        "idempotency_keys": IdempotencyKey.objects.filter(
            created_at__lt=_days_ago(now, kept.idempotency_keys_days)
        ),
        "alerts": Alert.objects.filter(cleared_at__lt=_days_ago(now, kept.cleared_alerts_days)),
        "silences": Silence.objects.filter(until__lt=_days_ago(now, kept.cleared_alerts_days)),
        "audit": AuditEntry.objects.filter(at__lt=_days_ago(now, kept.audit_days)),
        "sessions": Session.objects.filter(expire_date__lt=now),
    }


def _delete(rows: QuerySet) -> int:
    deleted = 0
    for _batch in range(MOST_BATCHES):
        keys = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
        if keys:
            rows.model._default_manager.filter(pk__in=keys).delete()
        deleted += len(keys)
        if len(keys) < BATCH:
            break
    return deleted


def _empty_logs(before: datetime) -> int:
    """Logs of attempts that ended before; what is left of them is that they were cut."""
    old = Placement.objects.filter(phase__in=DEAD_PHASES, ended_at__lt=before, log_bytes__gt=0)
    emptied = 0
    for _batch in range(MOST_BATCHES):
        with transaction.atomic():
            rows = old.select_for_update(no_key=True, skip_locked=True).order_by("pk")
            keys = list(rows.values_list("pk", flat=True)[:PLACEMENTS_PER_BATCH])
            LogChunk.objects.filter(placement__in=keys).delete()
            Placement.objects.filter(pk__in=keys).update(
                log_bytes=0, log_total_bytes=None, log_truncated=True
            )
        emptied += len(keys)
        if len(keys) < PLACEMENTS_PER_BATCH:
            break
    return emptied
