"""Django settings, all read from the environment; see docs/operations.md for the variables."""

from controlplane.settings.base import *  # noqa: F403
