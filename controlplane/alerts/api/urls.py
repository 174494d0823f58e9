"""Addresses of alerts."""

from django.urls import path

from controlplane.alerts.api.views import AlertsView

urlpatterns = [path("alerts", AlertsView.as_view())]
