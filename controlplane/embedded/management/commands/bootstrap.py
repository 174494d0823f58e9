"""`manage.py bootstrap`: the first rows of a new cluster; repeating it changes nothing that people did."""

from argparse import ArgumentParser

from django.core.management import call_command
from django.core.management.base import BaseCommand

from controlplane.embedded.demo.rows import write_demo_rows
from controlplane.embedded.first_rows import write_first_rows
from controlplane.embedded.state import find_state
from inventory.operations import rest_simulated_nodes


class Command(BaseCommand):
    help = "Makes cluster, policy, default team, first admin and the local agent's enrolment token where missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", action="store_true", help="also what the simulated cluster needs")
        parser.add_argument("--migrate", action="store_true", help="bring the schema up to date first")
        parser.add_argument(
            "--show-password", action="store_true", help="print a new admin's password as well"
        )

    def handle(self, *_args: object, **options: bool) -> None:
        if options["migrate"]:
            call_command("migrate", interactive=False, stdout=self.stdout)
        state = find_state()
        state.ensure()
        password = write_first_rows(state)
        if options["demo"]:
            write_demo_rows(state.demo_tokens)
        else:
            rest_simulated_nodes()
        if password is not None:
            # Output of commands ends up in logs, where no secret belongs unless somebody asks for it.
            shown = f": {password}" if options["show_password"] else ""
            self.stdout.write(f"made the user admin; password in {state.admin_password}{shown}")
