"""`manage.py load_policy [FILE]`: make a document version 1 where no version exists yet."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.policy.reading import PolicyError
from controlplane.policy.service import activate_first

SAMPLE = Path(__file__).parents[2] / "sample.yaml"


class Command(BaseCommand):
    """Idempotent: a second run changes nothing."""

    help = "Load a policy document as version 1, unless there is a version already. Without FILE: the sample document."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, default=SAMPLE)

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        try:
            version = activate_first(file.read_text(encoding="utf-8"), reason="First policy.")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file}: {error}") from None
        except PolicyError as error:
            raise CommandError(f"{file}: {error}") from None
        if options["verbosity"] > 0:
            self.stdout.write(
                "The policy is loaded as version 1."
                if version
                else "There is a policy already; nothing changed."
            )
