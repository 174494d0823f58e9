"""Addresses of queues."""

from django.urls import path

from queues.api.events import EventsView
from queues.api.templates import TemplatesView, TemplateView

urlpatterns = [
    path("jobs/<int:job_id>/events", EventsView.as_view()),
    path("job-templates", TemplatesView.as_view()),
    path("job-templates/<int:template_id>", TemplateView.as_view()),
]
