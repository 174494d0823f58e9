"""Django app configuration."""

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """Registers inventory."""

    name = "inventory"
    label = "inventory"
