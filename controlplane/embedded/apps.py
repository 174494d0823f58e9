"""App configuration of the embedded services."""

from django.apps import AppConfig


class EmbeddedConfig(AppConfig):
    name = "controlplane.embedded"
    label = "embedded"
    verbose_name = "embedded services"
