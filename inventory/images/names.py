"""One spelling of an image's name, whoever wrote it. Pure."""

from __future__ import annotations

import re

# As agents take it.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,299}", re.ASCII)
HUB = "docker.io"
OFFICIAL = f"{HUB}/library"


def canonical(name: str) -> str:
    """The name with the registry that is meant where none is named: `python:3` is `docker.io/library/python:3`."""
    first, slash, _rest = name.partition("/")
    if not slash:
        return f"{OFFICIAL}/{name}"
    names_registry = "." in first or ":" in first or first == "localhost"
    return name if names_registry else f"{HUB}/{name}"


def spellings(name: str) -> list[str]:
    """All names that mean the same image as this canonical one."""
    shorter = [name.removeprefix(f"{start}/") for start in (HUB, OFFICIAL) if name.startswith(f"{start}/")]
    return [name, *shorter]
