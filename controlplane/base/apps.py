"""Django app configuration."""

from django.apps import AppConfig


class BaseConfig(AppConfig):
    """Registers controlplane.base."""

    name = "controlplane.base"
    label = "base"
