"""How long waiting jobs should run, for the order of service: by the last jobs of their kind to start.

The simulator foresees by the same rule (`scheduling.simulator.foresight`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection

from controlplane.base import clock
from queues.models import Job
from scheduling.engine.types import EnginePolicy, PendingJob
from scheduling.estimates import HISTORY, Kind
from scheduling.requests import OFFERED
from scheduling.simulator.foresight import LAST, OF_ITS_AGE, REFRESH_MS

# What is looked at of a longer history: the newest starts.
MOST_STARTS = 50_000
MS_PER_S = 1000
# Jobs of one template are of one kind, else those of one name. One that still runs is taken to run for several times as
# long as it has, and for no less than what is assumed of strangers.
LAST_RUNS = """
WITH started AS (
  SELECT team_id, queue_id, CASE WHEN template = '' THEN name ELSE '' END AS name, template, started_at,
         CASE WHEN finished_at IS NULL
              THEN greatest(%(assumed_ms)s, %(times)s * extract(epoch FROM %(now)s - started_at) * 1000)
              ELSE extract(epoch FROM finished_at - started_at) * 1000 END AS ran_ms
  FROM queues_job
  WHERE started_at >= %(since)s AND (finished_at IS NOT NULL OR status = 'running')
  ORDER BY started_at DESC LIMIT %(most)s
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY team_id, queue_id, name, template ORDER BY started_at DESC) AS place
  FROM started
)
SELECT team_id, queue_id, name, template, percentile_disc(0.5) WITHIN GROUP (ORDER BY ran_ms)
FROM ranked WHERE place <= %(last)s GROUP BY 1, 2, 3, 4
"""


@dataclass
class Foresight:
    """The usual run times as last read: REFRESH_MS is soon enough. Threads may share one."""

    usual_ms: Mapping[Kind, int] = field(default_factory=dict)
    read_for: tuple[int, int] | None = None

    def foresee(
        self, waiting: Sequence[tuple[PendingJob, str]], policy: EnginePolicy
    ) -> list[tuple[PendingJob, str]]:
        """The jobs (each with its shape) with how long they should run: as their time limit says, else as others of
        their kind. As they are where the policy orders by age alone; else one query, and one more now and then.
        """
        if policy.patience is None or not waiting:
            return list(waiting)
        usual_ms = self._read(policy.patience.unknown_ms)
        columns = ("pk", "spec__time_limit_s", "team_id", "queue_id", "name", "template")
        runs_ms: dict[int, int | None] = {
            pk: usual_ms.get(_kind(*kind)) if limit_s is None else MS_PER_S * limit_s
            for pk, limit_s, *kind in Job.objects.filter(**OFFERED).values_list(*columns)
        }
        return [(replace(job, runs_ms=runs_ms.get(job.job)), shape) for job, shape in waiting]

    def forget(self) -> None:
        """Read the history anew next time."""
        self.read_for = None

    def _read(self, assumed_ms: int) -> Mapping[Kind, int]:
        now_ms = clock.now_ms()
        if self.read_for is not None:
            at_ms, for_ms = self.read_for
            if for_ms == assumed_ms and 0 <= now_ms - at_ms < REFRESH_MS:
                return self.usual_ms
        found = _usual_ms(assumed_ms)
        self.usual_ms, self.read_for = found, (now_ms, assumed_ms)
        return found


def _usual_ms(assumed_ms: int) -> Mapping[Kind, int]:
    now = clock.now()
    params: dict[str, Any] = {
        "assumed_ms": assumed_ms,
        "times": OF_ITS_AGE,
        "now": now,
        "since": now - HISTORY,
        "most": MOST_STARTS,
        "last": LAST,
    }
    with connection.cursor() as cursor:
        cursor.execute(LAST_RUNS, params)
        return {Kind(*kind): max(0, int(ran_ms)) for *kind, ran_ms in cursor.fetchall()}


def _kind(team: int, queue: int, name: str, template: str) -> Kind:
    return Kind(team, queue, "" if template else name, template)
