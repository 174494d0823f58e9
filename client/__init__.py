"""The Headrace client: a small Python API and the `headrace` command."""

from client.api import Client
from client.errors import ApiError, ClientError, NotSignedIn, Unreachable

__all__ = ["ApiError", "Client", "ClientError", "NotSignedIn", "Unreachable"]
