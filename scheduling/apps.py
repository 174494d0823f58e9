"""Django app configuration."""

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Registers scheduling."""

    name = "scheduling"
    label = "scheduling"
