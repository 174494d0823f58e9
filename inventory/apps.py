"""Django app configuration."""

from importlib import import_module

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """Registers inventory and has policies checked for names that nothing has."""

    name = "inventory"
    label = "inventory"

    def ready(self) -> None:
        # By name, since models can only be imported once all apps are loaded.
        import_module("inventory.known_names").connect()
