"""Django app configuration."""

from django.apps import AppConfig


class QueuesConfig(AppConfig):
    """Registers queues."""

    name = "queues"
    label = "queues"
