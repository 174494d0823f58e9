"""The timeline of a job."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.accounts.scoping import signed_in, visible_to
from controlplane.base.problems import not_found
from queues.events import event_text
from queues.models import Job, JobEvent, JobStatus


class EventSerializer(serializers.Serializer):
    """One transition or remark."""

    at = serializers.DateTimeField()
    attempt = serializers.IntegerField()
    from_status = serializers.ChoiceField(choices=JobStatus.choices, allow_null=True)
    to_status = serializers.ChoiceField(choices=JobStatus.choices)
    code = serializers.CharField()
    details = serializers.DictField()
    actor = serializers.CharField(allow_null=True)
    text = serializers.CharField()


class EventsView(APIView):
    """All that happened to a job, first to last; attempts are bounded, and so is this list."""

    permission_classes = [permission_for(Action.JOB_READ)]

    @extend_schema(operation_id="job_events", responses=EventSerializer(many=True))
    def get(self, request: Request, job_id: int) -> Response:
        if not visible_to(signed_in(request), Job.objects.filter(pk=job_id)).exists():
            raise not_found()
        events = JobEvent.objects.filter(job_id=job_id).order_by("id")
        return Response(EventSerializer([_view(event) for event in events], many=True).data)


def _view(event: JobEvent) -> dict[str, object]:
    names = ("at", "attempt", "from_status", "to_status", "code", "details")
    plain = {name: getattr(event, name) for name in names}
    return {**plain, "actor": event.actor or None, "text": event_text(event)}
