"""`manage.py up`: everything on this machine, in one terminal, until Ctrl-C."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from controlplane.embedded.__main__ import DESCRIPTION, add_arguments, say
from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.plan import find_address
from controlplane.embedded.start import Start
from controlplane.embedded.state import find_state


class Command(BaseCommand):
    help = DESCRIPTION
    # The database that checks and migrations ask for is started by this very command.
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *_args: object, **options: bool) -> None:
        start = Start(state=find_state(), address=find_address(), say=say)
        try:
            start.run(demo=options["demo"], with_agent=not options["no_agent"])
        except EmbeddedError as error:
            raise CommandError(str(error)) from None
