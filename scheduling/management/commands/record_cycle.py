"""`manage.py record_cycle`: have the next cycle recorded whatever it costs."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.base import clock
from scheduling.models import Recording
from scheduling.wishes import is_wished, wish_recording

ACTOR = "manage.py"
POLL_S = 0.5


class Command(BaseCommand):
    """The same as POST /api/v1/recordings/next."""

    help = "Record the next cycle that looks at waiting jobs, whatever it costs, and print how to replay it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", default="", help="kept in the audit trail")
        parser.add_argument(
            "--wait-s", type=int, default=60, help="how long to wait for it; 0: only ask for it"
        )

    def handle(self, *args: Any, reason: str, wait_s: int, **options: Any) -> None:
        newest = _newest()
        wish_recording(ACTOR, reason=reason[:500])
        self.stdout.write("the next cycle that looks at waiting jobs is recorded")
        until_s = clock.monotonic_s() + wait_s
        while is_wished() and clock.monotonic_s() < until_s:
            time.sleep(POLL_S)
        made = _newest()
        if made > newest and not is_wished():
            self.stdout.write(f"recording {made}; replay it with: python manage.py replay_cycle {made}")
        elif wait_s:
            self.stdout.write(
                f"none within {wait_s} s: no job waits, or no scheduler runs; see GET /api/v1/recordings"
            )


def _newest() -> int:
    """The id of the newest recording, 0 when there is none."""
    return Recording.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
