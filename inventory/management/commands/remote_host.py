"""`manage.py remote_host`: nodes without an agent, for whoever sits at the server."""

from __future__ import annotations

import argparse
import sys
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError

from controlplane.accounts import audit
from controlplane.base.problems import Problem
from inventory.models import RemoteHost
from inventory.remote import entries, keys
from inventory.remote.problems import problem_text


class Command(BaseCommand):
    """Adds, lists and removes ways to nodes, and makes the server's keys."""

    help = "Nodes without an agent, watched over SSH: key, add, list, remove."
    stealth_options = ("stdin",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="what", required=True)
        parts.add_parser(
            "key", help="make a key of the server; prints its line for authorized_keys"
        ).add_argument("name")
        add = parts.add_parser(
            "add", help="watch the machine at this address, once its host key is confirmed"
        )
        add.add_argument("address")
        add.add_argument("--port", type=int, default=22)
        add.add_argument("--user", required=True)
        add.add_argument("--key", required=True, help="name of one of the server's keys")
        add.add_argument("--node-set")
        add.add_argument("--fetches-images", action="store_true", help="fetch images there ahead of demand")
        add.add_argument("--fingerprint", help="the one that was compared on the node: asks no question")
        parts.add_parser("list", help="all of them, and how the last look went")
        parts.add_parser("remove", help="look there no more").add_argument("id", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['what']}")(options)
        except Problem as problem:
            raise CommandError(str(problem.detail() or problem)) from problem

    def _key(self, options: dict[str, Any]) -> None:
        try:
            self.stdout.write(keys.make(options["name"]))
        except FileExistsError as error:
            raise CommandError("The server has a key of this name already.") from error
        except ValueError as error:
            raise CommandError("A name is made of letters, digits, dots, dashes and underscores.") from error

    def _add(self, options: dict[str, Any]) -> None:
        shown = entries.scan(options["address"], options["port"])
        self.stdout.write(f"{options['address']} shows the host key {shown['fingerprint']}")
        self._confirm(shown["fingerprint"], options.get("fingerprint"), options.get("stdin") or sys.stdin)
        host = entries.add(None, {**options, "host_key": shown["host_key"]})
        details = {"address": host.address, "port": host.port, "fingerprint": shown["fingerprint"]}
        audit.record("manage.py remote_host", "remote-host-add", target=host, details=details)
        self.stdout.write(f"Added as {host.pk}; the first look comes within seconds.")

    def _confirm(self, shown: str, compared: str | None, stdin: TextIO) -> None:
        """A key that no person compared is never believed."""
        if compared is not None:
            if compared != shown:
                raise CommandError("The machine shows another host key than the one you compared.")
            return
        self.stdout.write(
            "Compare it with: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub   (on the machine)"
        )
        self.stdout.write("Is it the same? Type yes: ", ending="")
        self.stdout.flush()
        if stdin.readline().strip() != "yes":
            raise CommandError("The host key was not confirmed; the machine was not added.")

    def _list(self, options: dict[str, Any]) -> None:
        for host in RemoteHost.objects.select_related("node").order_by("pk"):
            name = host.node.name if host.node else "not seen yet"
            how = problem_text(host.problem) or f"last report {host.answered_at or 'never'}"
            self.stdout.write(f"{host.pk}  {host.user}@{host.address}:{host.port}  {name}  {how}")

    def _remove(self, options: dict[str, Any]) -> None:
        host = RemoteHost.objects.filter(pk=options["id"]).first()
        if host is None:
            raise CommandError("There is no such entry.")
        details = {"address": host.address, "port": host.port, "node": host.node_id}
        audit.record("manage.py remote_host", "remote-host-remove", target=host, details=details)
        entries.remove(host)
