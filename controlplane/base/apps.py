"""Django app configuration."""

import logging.config
from importlib import import_module

from django.apps import AppConfig
from django.conf import settings

from controlplane.base.logs import configure_structlog


class BaseConfig(AppConfig):
    """Registers controlplane.base, sets up logging and connects the subscribers of commits."""

    name = "controlplane.base"
    label = "base"

    def ready(self) -> None:
        logging.config.dictConfig(settings.LOGGING)
        configure_structlog()
        import_module(settings.SUBSCRIPTIONS).connect()
