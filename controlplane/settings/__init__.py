"""Django settings, all read from the environment; docs/operations.md names the variables."""

from controlplane.settings import base

globals().update({name: value for name, value in vars(base).items() if name.isupper()})
