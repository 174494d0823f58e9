"""Where the captured material lies, and progress on stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]
OPENB = Path("traces") / "openb-2023"
PHILLY = Path("traces") / "philly-2017"


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """`--data`: the folder that holds `traces/`."""
    parser.add_argument(
        "--data", type=Path, help="folder of the data (default: HEADRACE_SHARED/data or ../shared/data)"
    )


def data_file(given: Path | None, *parts: str | Path) -> Path:
    """A file below the data folder; SystemExit saying what to do when it is not there. A folder that holds the file
    itself is taken, too.
    """
    shared = Path(os.environ.get("HEADRACE_SHARED") or CLONE.parent / "shared")
    folders = [given] if given else [shared / "data", shared]
    wanted = Path(*parts)
    for path in (
        path
        for folder in folders
        for path in (folder / wanted, folder / "data" / wanted, folder / wanted.name)
    ):
        if path.is_file():
            return path
    raise SystemExit(
        f"{wanted.name}: not below {folders[0]}; name the folder with --data or HEADRACE_SHARED"
        " (`python -m bench openb --list synthetic` needs no data)"
    )


def at_least(least: int) -> Callable[[str], int]:
    """A type for options: a whole number that is not smaller."""

    def read(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least {least}")
        return int(text)

    return read


def between(least: int, most: int) -> Callable[[str], int]:
    """The same for a whole number of this range."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is no whole number from {least} to {most}")
        return int(text)

    return read


def show_progress(done: int, total: int, what: str) -> None:
    """One line on stderr, rewritten; ended when all is done."""
    if not sys.stderr.isatty() and done < total:
        return
    filled = 30 * done // max(1, total)
    sys.stderr.write(f"\r[{'#' * filled:<30}] {done}/{total} {what}" + ("\n" if done >= total else ""))
    sys.stderr.flush()
