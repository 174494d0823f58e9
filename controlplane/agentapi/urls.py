"""Addresses below /agent/v1/."""

from __future__ import annotations

from django.urls import path

from controlplane.agentapi.authority import authority_view
from controlplane.agentapi.enrol import enrol_view
from controlplane.agentapi.images import images_view
from controlplane.agentapi.logs import log_view
from controlplane.agentapi.report import report_view
from controlplane.agentapi.secrets import secret_view
from controlplane.agentapi.wake import wake_view

urlpatterns = [
    path("enrol", enrol_view),
    path("report", report_view),
    path("wake", wake_view),
    path("ca", authority_view),
    path("images", images_view),
    path("images/secret", secret_view),
    path("logs/<int:placement>", log_view),
]
