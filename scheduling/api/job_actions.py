"""What people do to jobs: one at a time, or many at once."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in, visible_to
from controlplane.base.api import StrictSerializer, read_body
from controlplane.base.problems import Fault, invalid, not_found
from queues.models import LIVE_STATUSES, Job
from queues.spec import PRIORITY_RANGE
from scheduling.acting import JobAction, Outcome, Wish, act, act_on_all
from scheduling.api.jobs import JobQuerySerializer, filtered, find_job
from scheduling.api.serializers import JobSerializer
from scheduling.selectors.jobs import job_view, with_people

MOST_AT_ONCE = 500


class EmptySerializer(StrictSerializer):
    """A body without fields."""


class LoseWorkSerializer(StrictSerializer):
    """What may be lost."""

    lose_work = serializers.BooleanField(
        default=False, help_text="Stop it even without a checkpoint; it then begins anew."
    )


class PrioritySerializer(StrictSerializer):
    """The place within its queue; higher first."""

    priority = serializers.IntegerField(min_value=PRIORITY_RANGE[0], max_value=PRIORITY_RANGE[1])


class _ActionView(APIView):
    """Does one thing to one job; harmless when there is nothing to do."""

    permission_classes = [permission_for(Action.JOB_CANCEL)]
    action: ClassVar[JobAction]
    body: ClassVar[type[StrictSerializer]] = EmptySerializer

    def _post(self, request: Request, job_id: int) -> Response:
        job = find_job(request, job_id)
        wish = Wish(self.action, read_body(request, self.body))
        act(request, signed_in(request), job, wish)
        return Response(JobSerializer(job_view(find_job(request, job_id))).data)


class CancelView(_ActionView):
    """End a job for good; harmless when it is over already."""

    action = JobAction.CANCEL

    @extend_schema(operation_id="job_cancel", request=EmptySerializer, responses=JobSerializer)
    def post(self, request: Request, job_id: int) -> Response:
        return self._post(request, job_id)


class SuspendView(_ActionView):
    """Suspend a job: it makes its checkpoint, stops, and holds nothing until it is resumed."""

    action, body = JobAction.SUSPEND, LoseWorkSerializer

    @extend_schema(operation_id="job_suspend", request=LoseWorkSerializer, responses=JobSerializer)
    def post(self, request: Request, job_id: int) -> Response:
        return self._post(request, job_id)


class ResumeJobView(_ActionView):
    """Resume a suspended job: it waits for a place and goes on from its last checkpoint."""

    action = JobAction.RESUME

    @extend_schema(operation_id="job_resume", request=EmptySerializer, responses=JobSerializer)
    def post(self, request: Request, job_id: int) -> Response:
        return self._post(request, job_id)


class HoldView(_ActionView):
    """Keep a waiting job from starting until it is released."""

    action = JobAction.HOLD

    @extend_schema(operation_id="job_hold", request=EmptySerializer, responses=JobSerializer)
    def post(self, request: Request, job_id: int) -> Response:
        return self._post(request, job_id)


class ReleaseView(_ActionView):
    """Take a hold off."""

    action = JobAction.RELEASE

    @extend_schema(operation_id="job_release", request=EmptySerializer, responses=JobSerializer)
    def post(self, request: Request, job_id: int) -> Response:
        return self._post(request, job_id)


class RequeueView(_ActionView):
    """Stop a job that has a place, after a checkpoint where it can make one; it waits again in its old place."""

    action, body = JobAction.REQUEUE, LoseWorkSerializer

    @extend_schema(operation_id="job_requeue", request=LoseWorkSerializer, responses=JobSerializer)
    def post(self, request: Request, job_id: int) -> Response:
        return self._post(request, job_id)


class ReprioritiseView(_ActionView):
    """Give a job another place within its queue."""

    action, body = JobAction.REPRIORITISE, PrioritySerializer

    @extend_schema(operation_id="job_reprioritise", request=PrioritySerializer, responses=JobSerializer)
    def post(self, request: Request, job_id: int) -> Response:
        return self._post(request, job_id)


class BulkRequestSerializer(StrictSerializer):
    """What to do, and to which jobs: some by id, or all that a filter finds and that are not over."""

    action = serializers.ChoiceField(choices=[action.value for action in JobAction])
    jobs = serializers.ListField(
        child=serializers.IntegerField(min_value=1), required=False, min_length=1, max_length=MOST_AT_ONCE
    )
    filter = JobQuerySerializer(required=False)
    priority = serializers.IntegerField(
        min_value=PRIORITY_RANGE[0], max_value=PRIORITY_RANGE[1], required=False
    )
    lose_work = serializers.BooleanField(required=False)
    dry_run = serializers.BooleanField(default=False, help_text="Only say which jobs it would be.")


class BulkOutcomeSerializer(serializers.Serializer):
    """What became of one job; `code` and `text` say why it was refused."""

    job = serializers.IntegerField()
    changed = serializers.BooleanField()
    code = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)


class BulkSerializer(serializers.Serializer):
    """The jobs that were acted on, lowest id first; `left` more are found by the filter: repeat for those."""

    outcomes = BulkOutcomeSerializer(many=True)
    left = serializers.IntegerField()


class BulkView(APIView):
    """Do the same to many jobs, at most 500 at a time. Each has its own outcome: one that is refused keeps none of the
    others. Jobs that the caller may not see are refused as not found.
    """

    permission_classes = [permission_for(Action.JOB_CANCEL)]

    @extend_schema(operation_id="jobs_bulk", request=BulkRequestSerializer, responses=BulkSerializer)
    def post(self, request: Request) -> Response:
        body = read_body(request, BulkRequestSerializer)
        wish = _wish(body)
        user = signed_in(request)
        visible = with_people(visible_to(user, Job.objects.all())).order_by("pk")
        jobs, missing, left = _chosen(visible, body)
        if body["dry_run"]:
            outcomes = [Outcome(job.pk, changed=False) for job in jobs]
        else:
            outcomes = act_on_all(request, user, jobs, wish)
        rows = [*map(_row, outcomes), *map(_missing, missing)]
        return Response(BulkSerializer({"outcomes": rows, "left": left}).data)


def _wish(body: dict[str, Any]) -> Wish:
    """The wish with exactly what its action takes."""
    action = JobAction(body["action"])
    takes = {
        JobAction.REPRIORITISE: "priority",
        JobAction.SUSPEND: "lose_work",
        JobAction.REQUEUE: "lose_work",
    }.get(action)
    for name in ("priority", "lose_work"):
        if name in body and name != takes:
            raise invalid(name, Fault.UNKNOWN_FIELD)
    if takes == "priority" and "priority" not in body:
        raise invalid("priority", Fault.REQUIRED)
    return Wish(action, {takes: body[takes]} if takes in body else {})


def _chosen(visible: Any, body: dict[str, Any]) -> tuple[list[Job], list[int], int]:
    """The jobs to act on, the ids that were not found, and how many more the filter finds."""
    ids, query = body.get("jobs"), body.get("filter")
    if (ids is None) == (query is None):
        raise invalid("jobs" if ids is None else "filter", Fault.REQUIRED if ids is None else Fault.INVALID)
    if ids is not None:
        found = list(visible.filter(pk__in=ids))
        return found, sorted(set(ids) - {job.pk for job in found}), 0
    if not query:
        raise invalid("filter", Fault.EMPTY)
    matching = filtered(visible.filter(status__in=LIVE_STATUSES), query)
    jobs = list(matching[:MOST_AT_ONCE])
    return jobs, [], matching.count() - len(jobs) if len(jobs) == MOST_AT_ONCE else 0


def _row(outcome: Outcome) -> dict[str, Any]:
    problem = outcome.problem
    return {
        "job": outcome.job,
        "changed": outcome.changed,
        "code": None if problem is None else problem.code,
        "text": None if problem is None else problem.detail(),
    }


def _missing(job: int) -> dict[str, Any]:
    problem = not_found()
    return {"job": job, "changed": False, "code": problem.code, "text": problem.detail()}
