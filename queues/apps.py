"""Django app configuration."""

from importlib import import_module

from django.apps import AppConfig


class QueuesConfig(AppConfig):
    """Registers queues and lets them follow the policy."""

    name = "queues"
    label = "queues"

    def ready(self) -> None:
        # By name, since models can only be imported once all apps are loaded.
        import_module("queues.following").connect()
