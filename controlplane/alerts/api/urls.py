"""Addresses of alerts."""

from django.urls import path

from controlplane.alerts.api.groups import AcknowledgeGroupView, AlertGroupsView
from controlplane.alerts.api.silences import AlertRulesView, SilenceEndView, SilencesView
from controlplane.alerts.api.views import AcknowledgeView, AlertsView, UnacknowledgeView

urlpatterns = [
    path("alerts", AlertsView.as_view()),
    path("alerts/<int:alert_id>/acknowledge", AcknowledgeView.as_view()),
    path("alerts/<int:alert_id>/unacknowledge", UnacknowledgeView.as_view()),
    path("alert-groups", AlertGroupsView.as_view()),
    path("alert-groups/acknowledge", AcknowledgeGroupView.as_view()),
    path("alert-rules", AlertRulesView.as_view()),
    path("alert-silences", SilencesView.as_view()),
    path("alert-silences/<int:silence_id>/end", SilenceEndView.as_view()),
]
