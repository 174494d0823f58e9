"""`manage.py import_history FILE`: jobs that another scheduler ran, as a baseline and as what to expect."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.management.base import BaseCommand, CommandError

from controlplane.base.texts import has_control_character
from queues.models import Queue
from scheduling.expected import refresh_expected
from scheduling.imports import Format, Queues, import_jobs
from scheduling.models import ImportedJob
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.files import open_text

_LONGEST_SOURCE = 100


class Command(BaseCommand):
    """Nothing is imported where anything is wrong; importing a file again renews its jobs. `--remove` takes a source
    out again.
    """

    help = "Import past jobs: Slurm's `sacct --parsable2`, or a CSV (docs/simulator.md has its columns)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?", help="the file (not for --remove)")
        parser.add_argument(
            "--format", choices=[form.value for form in Format], help="default: by its first line"
        )
        parser.add_argument("--source", help="name of the import (default: the file's name)")
        parser.add_argument("--time-zone", default="UTC", help="of times without one (default UTC)")
        parser.add_argument("--queue", help="queue of jobs whose own is none here")
        parser.add_argument(
            "--map", action="append", default=[], metavar="THEIRS=OURS", help="their partition is our queue"
        )
        parser.add_argument("--remove", metavar="SOURCE", help="forget an import")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["remove"]:
            self._say(f"{_remove(options['remove'])} jobs removed", options)
            return
        path = options["file"]
        if path is None:
            raise CommandError("FILE: name the file to import")
        source = options["source"] or path.name
        if not 0 < len(source) <= _LONGEST_SOURCE:
            raise CommandError(f"--source: must have 1 to {_LONGEST_SOURCE} characters")
        if has_control_character(source):
            raise CommandError(f"--source: {source!a} holds characters that are not seen; name it otherwise")
        zone, queues = _zone(options["time_zone"]), _queues(options)
        try:
            form = Format(options["format"]) if options["format"] else _format(path)
            found = import_jobs(path, form, source=source, zone=zone, queues=queues)
        except TraceError as error:
            raise CommandError(str(error)) from None
        refresh_expected()
        done = f"{source}: {found.new} new jobs, {found.renewed} renewed, {found.ran} of them with a run time"
        self._say(done, options)

    def _say(self, text: str, options: Mapping[str, Any]) -> None:
        if options["verbosity"] > 0:
            self.stdout.write(text)


def _remove(source: str) -> int:
    removed = ImportedJob.objects.filter(source=source).delete()[0]
    if not removed:
        known = ", ".join(ImportedJob.objects.order_by("source").values_list("source", flat=True).distinct())
        raise CommandError(f"--remove: {source!r} was not imported (there is: {known or 'nothing'})")
    refresh_expected()
    return removed


def _format(path: Path) -> Format:
    with open_text(path) as text:
        return Format.SACCT if "|" in text.readline(10_000) else Format.CSV


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CommandError(f"--time-zone: {name!r} is no time zone; write it like Europe/Berlin") from None


def _queues(options: Mapping[str, Any]) -> Queues:
    known = {queue.name: queue for queue in Queue.objects.filter(closed=False)}
    renamed: dict[str, str] = {}
    for pair in options["map"]:
        theirs, equals, ours = pair.partition("=")
        if not equals:
            raise CommandError(f"--map: {pair!r} is not THEIRS=OURS")
        renamed[theirs.strip()] = ours.strip()
    for option, name in [("--map", name) for name in renamed.values()] + [("--queue", options["queue"])]:
        if name is not None and name not in known:
            raise CommandError(f"{option}: {name!r} is no open queue (there is: {', '.join(sorted(known))})")
    return Queues(known, renamed, options["queue"])
