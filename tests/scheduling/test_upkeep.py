"""What is deleted with age, what stays, and that one run is bounded."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controlplane.accounts import audit
from controlplane.accounts.models import AuditEntry
from controlplane.alerts.models import Alert, Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.alerts.silences import silence
from controlplane.base import clock
from controlplane.policy.active import active_policy
from queues.models import IdempotencyKey, Job, JobEvent
from scheduling import upkeep
from scheduling.logs import LogPiece, append_log, read_log
from scheduling.models import Cycle, Decision, LogChunk, Outcome, Placement
from scheduling.tasks import prune
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
LONG = timedelta(days=1000)


@pytest.fixture
def placement():
    make.make_queues()
    user = make.make_user(team=make.make_team())
    node = make.make_node()
    make.make_job(user, key="once")
    make.run_cycle()
    placement = Placement.objects.get()
    make.report(node, make.started(placement))
    append_log(node, placement.pk, LogPiece(1, placement.fence, 0, b"text"))
    return placement


def age(queryset, *columns: str) -> None:
    queryset.update(**dict.fromkeys(columns, clock.now() - LONG))


def counts() -> dict[str, int]:
    return upkeep.prune_old(active_policy().retention)


def test_what_is_young_stays(placement):
    Cycle.objects.create(fencing_token=1)
    audit.record("test", "x")
    assert not any(counts().values())


def test_what_is_old_goes(placement):
    Decision.objects.create(
        job=placement.job, attempt=1, cycle=Cycle.objects.create(fencing_token=1), outcome=Outcome.STALE,
        policy_number=0, sheet={},
    )  # fmt: skip
    audit.record("test", "x")
    for subject in ("1", "2"):
        raise_alert("code", Severity.WARNING, subject_type="node", subject_id=subject)
    clear_alert("code", subject_type="node", subject_id="1")
    for until in (clock.now() - LONG, clock.now() + LONG):
        silence(code="x", subject_type="", subject_id="", until=until, reason="x", by="ops")
    age(Cycle.objects, "started_at")
    age(Decision.objects, "at")
    age(AuditEntry.objects, "at")
    age(Alert.objects, "raised_at")
    age(Alert.objects.filter(cleared_at__isnull=False), "cleared_at")
    age(IdempotencyKey.objects, "created_at")
    found = counts()
    assert {name: n for name, n in found.items() if n} == {
        "stale_decisions": 1, "cycles": 1, "idempotency_keys": 1, "alerts": 1, "silences": 1, "audit": 1,
    }  # fmt: skip
    assert Decision.objects.get().cycle == Cycle.objects.get()
    assert Job.objects.exists() and JobEvent.objects.exists() and Alert.objects.get().cleared_at is None
    assert not any(counts().values())


def test_a_pruned_log_reads_as_cut_and_complete(placement):
    make.report(placement.node, make.ended(placement, log_bytes=4))
    assert counts()["logs"] == 0
    age(Placement.objects, "ended_at")
    prune()
    part = read_log(placement.pk, offset=0, limit=100)
    assert (part.data, part.truncated, part.complete) == (b"", True, True) and not LogChunk.objects.exists()


def test_logs_of_what_runs_stay_however_old(placement):
    age(Placement.objects, "assigned_at", "running_at")
    assert counts()["logs"] == 0 and LogChunk.objects.exists()


def test_a_run_is_bounded(placement, monkeypatch):
    monkeypatch.setattr(upkeep, "BATCH", 2)
    monkeypatch.setattr(upkeep, "MOST_BATCHES", 2)
    Cycle.objects.bulk_create(Cycle(fencing_token=n) for n in range(5))
    age(Cycle.objects, "started_at")
    assert [counts()["cycles"] for _run in range(3)] == [4, 1, 0]
