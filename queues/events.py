"""Sentences about what happened to a job, in the language now active."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues import derive
from queues.models import JobEvent, JobStatus

TEXTS: Mapping[str, str | Promise] = {
    "submitted": _("Submitted."),
    "waiting": _("Waits for a place."),
    "held-person": _("Held until somebody releases it."),
    "held-dependency": _("Waits for the end of other jobs."),
    "held-back-off": _("Waits before it is tried again."),
    "held-window": _("Waits for the valley window."),
    "window-opened": _("The valley window is open; it waits for a place."),
    "cluster-quiet": _("The cluster has been idle for long enough; it waits for a place."),
    "latest-start": _("Its latest start has come; it waits for a place."),
    "held-slot": _("Waits until fewer tasks of its array are under way."),
    "dependency": _("Can no longer start: job %(job)s did not end as it must."),
    "deadline": _("Was not over by its latest finish."),
    "late": _("Is not over by its latest finish, and goes on."),
    "released": _("Released; it waits for a place."),
    "reprioritised": _("Its priority is now %(priority)s; it was %(before)s."),
    "requeue-asked": _("Is stopped, to wait for a place again."),
    "requeued": _("Was stopped to wait for a place again."),
    "placed": _("Got a place; its node was told to start it."),
    "started": _("Started."),
    "preempt-asked": _(
        "Gives its place to job %(for_job)s, which is more urgent, and waits for a place again."
    ),
    "preempt-given-up": _("Runs on: its place is no longer needed for another job."),
    "preempt-unanswered": _("Runs on: it made no checkpoint in time."),
    "takes-over": _("Gets the place of other jobs (%(victims)s) as soon as they have left it."),
    "takeover-given-up": _("The place of other jobs did not come free; it waits for another one."),
    "suspend-asked": _("Is being suspended."),
    "suspended": _("Suspended; it holds nothing until it is resumed."),
    "resumed": _("Resumed; it waits for a place."),
    "checkpoint": _("A checkpoint of this attempt is there: %(path)s."),
    "checkpoint-failed": _("Runs on, for no checkpoint was made: %(problem)s."),
    "checkpoint-unanswered": _(
        "Runs on: its node has not told within %(seconds)s s what became of the checkpoint."
    ),
    "pulling": _("Its image %(image)s is being fetched."),
    "pulled": _("Its image %(image)s was fetched in %(ms)s ms."),
    "job-memory-near": _("Uses %(used_mib)s MiB of the %(booked_mib)s MiB of memory that it booked."),
    "job-memory-leak": _(
        "Its memory grows by %(mib_per_hour)s MiB an hour; it uses %(used_mib)s MiB of the %(booked_mib)s MiB "
        "that it booked."
    ),
    "job-device-memory-near": _(
        "Uses %(used_mib)s MiB of the %(booked_mib)s MiB that it booked of device %(device)s."
    ),
    "job-device-memory-leak": _(
        "Its memory on device %(device)s grows by %(mib_per_hour)s MiB an hour; it uses %(used_mib)s MiB of the "
        "%(booked_mib)s MiB that it booked."
    ),
    "cancelled": _("Cancelled."),
    "success": _("Ended by itself without an error."),
    "exit-code": _("Ended with exit code %(exit_code)s."),
    "signal": _("Was ended by signal %(exit_signal)s."),
    "start-failed": _("Could not be started: %(message)s"),
    "time-limit": _("Reached its time limit and was stopped."),
    "lost-process": _("Its process was gone, and nobody saw it end."),
    "node-lost": _("Its node stopped reporting and was given up."),
    "device-failing": _(
        "Device %(index)s of %(node_name)s failed for good (%(reason)s): it is stopped there."
    ),
    "device-failed": _("A device that it ran on failed for good; it is not placed on that one again."),
    "device-missing": _(
        "Device %(index)s of %(node_name)s is no longer reported. What is booked of it stays booked, and it runs on as "
        "long as it can."
    ),
    "device-shrank": _(
        "Device %(index)s of %(node_name)s has only %(memory_mib)s MiB now, less than what is booked of it."
    ),
    "draining": _("Its node is being emptied and the deadline has passed: it is stopped there."),
    "drained": _("Its node was emptied for maintenance."),
    "late-answer": _("An answer of an earlier attempt arrived late and changed nothing."),
}
UNKNOWN_CODE = _("Ended by itself; its exit code is unknown.")
REPLICA_FAILED = "replica-failed"
OF_REPLICA = _("Replica %(replica)s: %(text)s")
OF_REPLICA_ON = _("Replica %(replica)s on %(node_name)s: %(text)s")
OTHERS = _("The other replicas are stopped.")
AGAIN = _("It waits again as a new attempt.")
FINAL = _("It is not tried again.")
AFTER_FAULT = frozenset({*derive.MISHAPS, *derive.OWN_FAULTS})


def event_text(event: JobEvent) -> str:
    """What happened, and what follows where that is not plain from the status."""
    failed = event.code == REPLICA_FAILED
    text = _what(event.details["exit_class"] if failed else event.code, event.details)
    if failed:
        text = f"{text} {OTHERS}"
    if "replica" in event.details:
        template = OF_REPLICA_ON if "node_name" in event.details else OF_REPLICA
        text = str(template) % {**event.details, "text": text}
    if event.code not in AFTER_FAULT:
        return text
    if event.to_status == JobStatus.PENDING:
        return f"{text} {AGAIN}"
    return f"{text} {FINAL}" if event.code in derive.MISHAPS else text


def _what(code: str, found: Mapping[str, Any]) -> str:
    template = str(TEXTS.get(code, code))
    if code == "exit-code" and found.get("exit_code") is None:
        template = str(UNKNOWN_CODE)
    details = {"exit_code": None, "exit_signal": None, "message": "", **found}
    return template % details if "%(" in template else template
