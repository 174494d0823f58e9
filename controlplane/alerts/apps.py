"""Django app configuration."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Registers controlplane.alerts."""

    name = "controlplane.alerts"
    label = "alerts"
