"""Who would yield to a job, in the shape of the API."""

from __future__ import annotations

from typing import Any, Final

from controlplane.accounts.models import User
from scheduling.selectors.bookings import named_jobs
from scheduling.takeovers import Takeover

TAKES_OVER: Final = "takes-over"


def victims_of(found: object, user: User) -> list[dict[str, Any]]:
    """The jobs that a takeover asks to leave; names of jobs of foreign teams are null. Empty for all else."""
    if not isinstance(found, Takeover):
        return []
    return named_jobs(list(dict.fromkeys(victim.job for victim in found.victims)), user)
