"""Addresses of scheduling."""

from django.urls import path

from scheduling.api.arrays import ArraysView, ArrayView, CancelArrayView
from scheduling.api.calendar import CalendarView, ForecastView, ValleyView
from scheduling.api.cluster import CyclesView, FitsView, MapView, OverviewView, QueuesView
from scheduling.api.consequences import QueuesPreviewView
from scheduling.api.images import ImagesSummaryView
from scheduling.api.job_actions import (
    BulkView,
    CancelView,
    HoldView,
    ReleaseView,
    ReprioritiseView,
    RequeueView,
    ResumeJobView,
    SuspendView,
)
from scheduling.api.jobs import ExplainView, JobsView, JobView, PlacementsView, SubmitView
from scheduling.api.logs import logs
from scheduling.api.pause import PausesView, PauseView, ResumeView
from scheduling.api.queues import QueueView
from scheduling.api.status import StatusView
from scheduling.api.team_quotas import MemberShareView, TeamQuotasView, TeamQuotaView
from scheduling.api.team_use import MembersUseView, TeamUseView
from scheduling.api.use import JobUsesView
from scheduling.api.whatif import DocumentView, RecordingsView, RecordingWishView, WhatIfView

urlpatterns = [
    path("jobs", JobsView.as_view()),
    path("jobs/submit", SubmitView.as_view()),
    path("job-arrays", ArraysView.as_view()),
    path("job-arrays/<int:array_id>", ArrayView.as_view()),
    path("job-arrays/<int:array_id>/cancel", CancelArrayView.as_view()),
    path("jobs/bulk", BulkView.as_view()),
    path("jobs/use", JobUsesView.as_view()),
    path("jobs/<int:job_id>", JobView.as_view()),
    path("jobs/<int:job_id>/cancel", CancelView.as_view()),
    path("jobs/<int:job_id>/suspend", SuspendView.as_view()),
    path("jobs/<int:job_id>/resume", ResumeJobView.as_view()),
    path("jobs/<int:job_id>/hold", HoldView.as_view()),
    path("jobs/<int:job_id>/release", ReleaseView.as_view()),
    path("jobs/<int:job_id>/requeue", RequeueView.as_view()),
    path("jobs/<int:job_id>/priority", ReprioritiseView.as_view()),
    path("jobs/<int:job_id>/explain", ExplainView.as_view()),
    path("jobs/<int:job_id>/placements", PlacementsView.as_view()),
    path("jobs/<int:job_id>/logs", logs),
    path("queues", QueuesView.as_view()),
    path("queues/preview", QueuesPreviewView.as_view()),
    path("queues/<slug:name>", QueueView.as_view()),
    path("team-quotas", TeamQuotasView.as_view()),
    path("team-quotas/<int:quota_id>", TeamQuotaView.as_view()),
    path("team-quotas/<int:quota_id>/shares/<username:username>", MemberShareView.as_view()),
    path("teams/<slug:slug>/use", TeamUseView.as_view()),
    path("teams/<slug:slug>/use/members", MembersUseView.as_view()),
    path("images/summary", ImagesSummaryView.as_view()),
    path("map", MapView.as_view()),
    path("overview", OverviewView.as_view()),
    path("calendar", CalendarView.as_view()),
    path("forecast", ForecastView.as_view()),
    path("valley", ValleyView.as_view()),
    path("pauses", PausesView.as_view()),
    path("pause", PauseView.as_view()),
    path("resume", ResumeView.as_view()),
    path("cycles", CyclesView.as_view()),
    path("status", StatusView.as_view()),
    path("recordings", RecordingsView.as_view()),
    path("recordings/next", RecordingWishView.as_view()),
    path("recordings/<int:recording_id>/document", DocumentView.as_view()),
    path("what-if", WhatIfView.as_view()),
    path("devices/<int:device_id>/fits", FitsView.as_view()),
]
