"""`manage.py replay_cycle ID|FILE`: make a recorded plan again and compare it byte by byte."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scheduling import models
from scheduling.engine.codec import Recording, decode, encode, encode_pretty
from scheduling.recordings import load, replay
from scheduling.simulator.traces.ranges import OutOfRange, check_document


class Command(BaseCommand):
    """Exit status 0: the same bytes; 1: another plan, or nothing to replay."""

    help = "Replay a recorded scheduling decision (the id of a recording, or a saved document) and compare the plans."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("recording", metavar="ID|FILE", help="as in GET /api/v1/recordings, or a file")
        parser.add_argument("--out", type=Path, metavar="FILE", help="write the whole document here")

    def handle(self, *args: Any, recording: str, out: Path | None, **options: Any) -> None:
        call = _call(recording)
        if out is not None:
            _write(out, call)
        if call.plan is None:
            raise CommandError("The document holds no plan to compare with.")
        try:
            found = replay(call)
        except (ValueError, ArithmeticError, LookupError) as error:
            raise CommandError(f"{recording}: {_fault(call) or error}") from error
        size = len(encode(call.plan))
        what = f"{len(call.jobs)} jobs on {len(call.nodes)} nodes, {len(call.plan.placed)} placed"
        if found.difference is None:
            self.stdout.write(f"identical: {what}, {size} bytes of plan")
            return
        self.stdout.write(f"different: {what}\nfirst difference: {found.difference}")
        sys.exit(1)


def _call(name: str) -> Recording:
    try:
        if name.isascii() and name.isdigit() and not Path(name).exists():
            return load(int(name))
        return decode(Recording, Path(name).read_text(encoding="utf-8"))
    except models.Recording.DoesNotExist:
        raise CommandError(f"There is no recording {name}; GET /api/v1/recordings lists them.") from None
    except (ValueError, OSError, OverflowError, RecursionError) as error:
        raise CommandError(f"{name}: {error}") from error


def _fault(call: Recording) -> str:
    """Which number of an edited document no plan can be made with; empty where none is to blame."""
    try:
        check_document(call)
    except OutOfRange as error:
        return str(error)
    return ""


def _write(out: Path, call: Recording) -> None:
    try:
        out.write_text(encode_pretty(call), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{out}: {error}") from error
