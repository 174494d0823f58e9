"""Charts out of the history: the server chooses step and grain, two queries answer, gaps stay null."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from controlplane.policy.document import PolicyDocument
from inventory.history.metrics import GROUP, HOUR_S, Grain, Subject, bin_sql, percentile, unpacked_sql
from inventory.history.partitions import kept, start_of
from inventory.history.rollup import entries_sql

MOST_POINTS = 360
LONGEST = timedelta(days=4000)
# Group roll-ups have a bin for nearly every value: longer spans are read by the hour.
GROUP_MINUTES = timedelta(hours=12)
STEPS_S: Mapping[Grain, tuple[int, ...]] = {
    Grain.RAW: (10, 15, 20, 30, 60, 120, 300, 600),
    Grain.MINUTE: (60, 120, 300, 600, 900, 1800),
    Grain.HOUR: tuple(HOUR_S * hours for hours in (1, 2, 3, 6, 12, 24, 48, 168, 336)),
}
PARTS = ("count", "mean", "min", "max", "p50", "p95", "p99")
SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
BUCKET = "floor(extract(epoch FROM at - %(start)s) / %(step_s)s)::int"


@dataclass(frozen=True, slots=True)
class Window:
    """`points` steps from `start` on, out of one grain."""

    start: datetime
    step_s: int
    points: int
    grain: Grain

    @property
    def end(self) -> datetime:
        """Exclusive."""
        return self.start + timedelta(seconds=self.step_s * self.points)


@dataclass(frozen=True, slots=True)
class Span:
    """From (inclusive) to (exclusive) in at most so many points."""

    start: datetime
    end: datetime
    points: int = MOST_POINTS


def choose(span: Span, subject: Subject, policy: PolicyDocument, now: datetime) -> Window:
    """The finest grain that still has the whole span, and the smallest step that keeps within the points; a step is
    never shorter than the time between two reports, which would be all gaps.
    """
    ages = kept(policy.retention)
    length_s = (span.end - span.start).total_seconds()
    for grain, steps in STEPS_S.items():
        if grain is not Grain.HOUR and (span.start < now - ages[grain] or _too_fine(span, subject, grain)):
            continue
        least_s = max(steps[0], policy.health.report_interval_s)
        fitting = (step for step in steps if step >= least_s and length_s / step <= span.points - 1)
        step_s = next(fitting, None)
        if step_s is not None or grain is Grain.HOUR:
            step_s = step_s or steps[-1]
            start = start_of(span.start, step_s)
            points = -(-int((span.end - start).total_seconds() * 1000) // (step_s * 1000))
            return Window(start, step_s, min(points, MOST_POINTS), grain)
    raise AssertionError("hours are read whatever the span is")


def _too_fine(span: Span, subject: Subject, grain: Grain) -> bool:
    if subject is not GROUP:
        return False
    return grain is Grain.RAW or span.end - span.start > GROUP_MINUTES


def chart(
    subject: Subject, ids: Sequence[int], window: Window, metrics: Iterable[str] | None = None
) -> dict[str, Any]:
    """`series` per metric, each a list per part with one member per step; null where there was no reading."""
    names = [name for name in subject.metrics if metrics is None or name in set(metrics)]
    found = _summaries(subject, ids, window, names, bucket=BUCKET)
    series = []
    for name in names:
        steps = [found.get((name, number)) for number in range(window.points)]
        parts = {part: [None if step is None else step[part] for step in steps] for part in PARTS}
        series.append({"metric": name, **parts})
    return {
        "from": window.start,
        "to": window.end,
        "step_s": window.step_s,
        "grain": window.grain.value,
        "points": window.points,
        "series": series,
    }


def totals(
    subject: Subject, ids: Sequence[int], window: Window, metrics: Iterable[str]
) -> dict[int, dict[str, dict[str, Any] | None]]:
    """Per id and metric one summary of the whole window, null where there was no reading."""
    names = [name for name in subject.metrics if name in set(metrics)]
    found = _summaries(subject, ids, window, names, bucket=subject.key)
    return {one: {name: found.get((name, one)) for name in names} for one in ids}


def _summaries(
    subject: Subject, ids: Sequence[int], window: Window, names: Sequence[str], *, bucket: str
) -> dict[tuple[str, int], dict[str, Any]]:
    """Count, mean, min, max and percentiles by metric and bucket; two queries."""
    given: dict[str, Any] = {
        "ids": list(ids),
        "start": window.start,
        "end": window.end,
        "step_s": window.step_s,
    }
    bins: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_bins_sql(subject, window.grain, names, bucket), given)
        for metric, number, bin_, hits in cursor.fetchall():
            bins[metric, number][bin_] = int(hits)
        cursor.execute(_sums_sql(subject, window.grain, names, bucket), given)
        rows = cursor.fetchall()
    found = {}
    for number, *sums in rows:
        for metric, name in enumerate(names):
            count, total, low, high = sums[4 * metric : 4 * metric + 4]
            if count:
                marks = {
                    part: percentile(bins[metric, number], share, low=low, high=high)
                    for part, share in SHARES.items()
                }
                mean = round(float(total) / int(count), 2)
                found[name, number] = {"count": int(count), "mean": mean, "min": low, "max": high, **marks}
    return found


def _where(subject: Subject, grain: Grain) -> str:
    return (
        f"FROM {subject.table(grain)} WHERE {subject.key} = ANY(%(ids)s) AND at >= %(start)s AND at < %(end)s"
    )


def _sums_sql(subject: Subject, grain: Grain, names: Sequence[str], bucket: str) -> str:
    raw = "count({0}), sum({0}), min({0}), max({0})"
    rolled = "sum({0}_n), sum({0}_sum), min({0}_min), max({0}_max)"
    sums = ", ".join((raw if grain is Grain.RAW else rolled).format(name) for name in names)
    return f"SELECT {bucket}, {sums} {_where(subject, grain)} GROUP BY 1"


def _bins_sql(subject: Subject, grain: Grain, names: Sequence[str], bucket: str) -> str:
    return " UNION ALL ".join(
        f"SELECT {number}, {bucket}, {_bins_of(subject, grain, name)} GROUP BY 2, 3"
        for number, name in enumerate(names)
    )


def _bins_of(subject: Subject, grain: Grain, name: str) -> str:
    if grain is Grain.RAW:
        return f"{bin_sql(name)}, count(*) {_where(subject, grain)} AND {name} IS NOT NULL"
    bin_, hits = unpacked_sql("entry")
    entries = f"CROSS JOIN LATERAL unnest({entries_sql(name)}) AS entry WHERE {name}_n > 0 AND"
    return f"{bin_}, sum({hits}) {_where(subject, grain).replace('WHERE', entries)}"
