"""Addresses of queues."""

from django.urls import path

from queues.api.events import EventsView

urlpatterns = [path("jobs/<int:job_id>/events", EventsView.as_view())]
