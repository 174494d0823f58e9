"""`manage.py record_cycle`: have the next cycle recorded whatever it costs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from scheduling.wishes import wish_recording

ACTOR = "manage.py"


class Command(BaseCommand):
    """The same as POST /api/v1/recordings/next."""

    help = "Record the next cycle that looks at waiting jobs, whatever it costs; then see GET /api/v1/recordings."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", default="", help="kept in the audit trail")

    def handle(self, *args: Any, reason: str, **options: Any) -> None:
        wish_recording(ACTOR, reason=reason[:500])
        self.stdout.write("the next cycle that looks at waiting jobs is recorded")
