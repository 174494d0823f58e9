"""Django app configuration."""

from django.apps import AppConfig


class AgentApiConfig(AppConfig):
    """Registers controlplane.agentapi."""

    name = "controlplane.agentapi"
    label = "agentapi"
