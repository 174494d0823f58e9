"""Django app configuration."""

from importlib import import_module

from django.apps import AppConfig


class AgentApiConfig(AppConfig):
    """Registers controlplane.agentapi and connects what inventory asks of scheduling."""

    name = "controlplane.agentapi"
    label = "agentapi"

    def ready(self) -> None:
        # By name, since models can only be imported once all apps are loaded.
        import_module("controlplane.agentapi.connections").connect()
