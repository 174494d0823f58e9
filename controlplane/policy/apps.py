"""Django app configuration."""

from django.apps import AppConfig


class PolicyConfig(AppConfig):
    """Registers controlplane.policy."""

    name = "controlplane.policy"
    label = "policy"
