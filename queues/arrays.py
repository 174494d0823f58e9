"""Makes and ends arrays: all tasks are rows that differ in their index, made and ended in a few statements."""

from __future__ import annotations

from django.db import connection

from queues.models import Job, JobArray

# What the tasks of an array do not take from the first one.
OWN_COLUMNS = (
    "id",
    "array_index",
    "has_slot",
    "status",
    "held_for",
    "held_since",
    "pending_since",
)
# The first task stands as its gates have it, and so do all that have a slot; the others wait for one.
TASKS = """
INSERT INTO queues_job (array_index, has_slot, status, held_for, held_since, pending_since, {columns})
SELECT n, n < %(slots)s,
    CASE WHEN n < %(slots)s THEN status ELSE 'held' END,
    CASE WHEN n < %(slots)s OR status = 'held' THEN held_for ELSE 'slot' END,
    CASE WHEN n < %(slots)s OR status = 'held' THEN held_since ELSE submitted_at END,
    CASE WHEN n < %(slots)s THEN pending_since END,
    {columns}
FROM queues_job, generate_series(1, %(last)s) AS n WHERE id = %(first)s
"""
EVENTS = """
INSERT INTO queues_jobevent (job_id, at, attempt, from_status, to_status, code, details, actor)
SELECT id, submitted_at, attempt, NULL, status, 'submitted', '{}'::jsonb, %(actor)s
FROM queues_job WHERE array_id = %(array)s AND array_index > 0
"""
DEPENDENCIES = """
INSERT INTO queues_dependency (job_id, on_id, ends, met_at)
SELECT job.id, first.on_id, first.ends, first.met_at
FROM queues_dependency AS first, queues_job AS job
WHERE first.job_id = %(first)s AND job.array_id = %(array)s AND job.array_index > 0
"""


def make_array(first: Job, *, tasks: int, at_once: int | None) -> JobArray:
    """The array of an unsaved job, which becomes its task 0; the others are added by `add_tasks`."""
    array = JobArray.objects.create(
        name=first.name,
        owner=first.owner,
        team=first.team,
        queue=first.queue,
        tasks=tasks,
        at_once=at_once,
        submitted_at=first.submitted_at,
    )
    first.array, first.array_index = array, 0
    return array


def add_tasks(first: Job, array: JobArray, *, actor: str) -> None:
    """The other tasks, with their first events and dependencies, as task 0 has them by now."""
    known = [str(field.column) for field in Job._meta.concrete_fields]
    columns = ", ".join(connection.ops.quote_name(name) for name in known if name not in OWN_COLUMNS)
    slots = array.tasks if array.at_once is None else array.at_once
    given: dict[str, int | str] = {
        "slots": slots,
        "last": array.tasks - 1,
        "first": first.pk,
        "array": array.pk,
        "actor": actor,
    }
    with connection.cursor() as cursor:
        cursor.execute(TASKS.format(columns=columns), given)
        cursor.execute(EVENTS, given)
        cursor.execute(DEPENDENCIES, given)
