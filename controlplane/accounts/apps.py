"""Django app configuration."""

from importlib import import_module

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Registers controlplane.accounts."""

    name = "controlplane.accounts"
    label = "accounts"

    def ready(self) -> None:
        # Registers itself with the schema generator by being loaded.
        import_module("controlplane.accounts.schema")
