"""`manage.py registry_secret`: secrets of private registries, for whoever sits at the server."""

from __future__ import annotations

import argparse
import getpass
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.accounts import audit
from controlplane.accounts.models import Team
from inventory.images import secrets

WHO = "manage.py registry_secret"


class Command(BaseCommand):
    """Makes, lists and removes secrets. The password comes by standard input, never as an argument."""

    help = "Secrets of private registries: add, list, remove."
    stealth_options = ("stdin",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="what", required=True)
        add = parts.add_parser("add", help="keep a secret; its password is read from standard input")
        add.add_argument("name")
        add.add_argument("--registry", required=True, help="host of the registry, with its port")
        add.add_argument("--user", required=True)
        add.add_argument(
            "--team", action="append", default=[], dest="teams", help="a team that may name it; none: all may"
        )
        parts.add_parser("list", help="all of them; never their content")
        parts.add_parser("remove", help="forget a secret").add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['what']}")(options)

    def _add(self, options: dict[str, Any]) -> None:
        teams = options["teams"]
        unknown = set(teams) - set(Team.objects.filter(slug__in=teams).values_list("slug", flat=True))
        if unknown:
            raise CommandError(f"There is no team {', '.join(sorted(unknown))}.")
        told = {name: options[name] for name in ("registry", "user", "teams")}
        try:
            secret = secrets.make(options["name"], password=self._password(options), **told)
        except FileExistsError as error:
            raise CommandError("There is a secret of this name already. Remove it first.") from error
        except ValueError as error:
            raise CommandError(str(error)) from error
        details = {"registries": secret.registries, "teams": list(secret.teams)}
        audit.record(WHO, "registry-secret-add", target=("registry-secret", secret.name), details=details)
        self.stdout.write(f"Kept as {secret.name}. Jobs name it: image_secret: {secret.name}")

    def _password(self, options: dict[str, Any]) -> str:
        stdin = options.get("stdin") or sys.stdin
        return getpass.getpass("Password: ") if stdin.isatty() else stdin.readline().rstrip("\n")

    def _list(self, options: dict[str, Any]) -> None:
        for name in secrets.names():
            try:
                secret = secrets.find(name)
            except (secrets.SecretMissing, secrets.SecretUnusable) as error:
                self.stdout.write(f"{name}  cannot be used: {error}")
                continue
            teams = ", ".join(secret.teams) or "all teams"
            self.stdout.write(f"{name}  {', '.join(secret.registries)}  {teams}")

    def _remove(self, options: dict[str, Any]) -> None:
        try:
            secrets.remove(options["name"])
        except secrets.SecretMissing as error:
            raise CommandError("There is no secret of this name.") from error
        audit.record(WHO, "registry-secret-remove", target=("registry-secret", options["name"]), details={})
