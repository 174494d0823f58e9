"""`manage.py up`: everything on this machine, in one terminal, until Ctrl-C."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.plan import find_address
from controlplane.embedded.start import Start
from controlplane.embedded.state import find_state


class Command(BaseCommand):
    help = (
        "Starts PostgreSQL, Valkey, web, workers, beat and one agent for this machine; stops them on Ctrl-C."
    )
    # The database that checks and migrations ask for is started by this very command.
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", action="store_true", help="add a simulated cluster of mixed nodes")
        parser.add_argument("--no-agent", action="store_true", help="start no agent for this machine")

    def handle(self, *_args: object, **options: bool) -> None:
        try:
            Start(state=find_state(), address=find_address(), say=self._say).run(
                demo=options["demo"], with_agent=not options["no_agent"]
            )
        except EmbeddedError as error:
            raise CommandError(str(error)) from None

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
