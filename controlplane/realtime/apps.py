"""Django app configuration."""

from django.apps import AppConfig


class RealtimeConfig(AppConfig):
    """Registers controlplane.realtime."""

    name = "controlplane.realtime"
    label = "realtime"
