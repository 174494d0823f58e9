"""What can go wrong between client and server, with the exit code each kind ends the command with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit codes beside the job's own; 64-78 as in sysexits.h, 124 and 130 as shells use them."""

    OK = 0
    USAGE = 64
    UNREACHABLE = 69
    INTERNAL = 70
    LOST = 75
    NOT_SIGNED_IN = 77
    TIMEOUT = 124
    CANCELLED = 130


class ClientError(Exception):
    """Any failure that the command reports in one line."""

    exit_code = Exit.INTERNAL


class Misuse(ClientError):
    """What was asked for cannot be done as it was asked: the caller can put it right."""

    exit_code = Exit.USAGE


class OddAnswer(ClientError):
    """What answers is not as documented; the text names the field where it is known."""


class Unreachable(ClientError):
    """No answer until the retries were used up."""

    exit_code = Exit.UNREACHABLE


class NotSignedIn(ClientError):
    """No token, or the server refused it."""

    exit_code = Exit.NOT_SIGNED_IN


@dataclass(frozen=True)
class FieldError:
    """One refused field of a request."""

    field: str
    message: str


@dataclass
class ApiError(ClientError):
    """A problem+json answer of the server."""

    status: int
    code: str
    detail: str
    errors: tuple[FieldError, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> Exit:  # type: ignore[override]
        """USAGE when the request was at fault, INTERNAL when the server was."""
        return Exit.USAGE if self.status < 500 else Exit.INTERNAL

    def __str__(self) -> str:
        lines = [self.detail or self.code]
        lines += [f"  {error.field}: {error.message}" for error in self.errors]
        return "\n".join(lines)
