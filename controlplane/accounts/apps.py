"""Django app configuration."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Registers controlplane.accounts."""

    name = "controlplane.accounts"
    label = "accounts"
