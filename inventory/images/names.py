"""One spelling of an image's name, whoever wrote it. Pure."""

from __future__ import annotations

import re

# Of a name as people write it: with the registry and the tag that are meant it is no longer than agents take.
LONGEST_NAME = 275
# As agents take it.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,299}", re.ASCII)
HUB = "docker.io"
OFFICIAL = f"{HUB}/library"


def tagged(name: str) -> str:
    """The name with the tag that is meant where neither a tag nor a digest is named."""
    return name if "@" in name or ":" in name.rpartition("/")[2] else f"{name}:latest"


def canonical(name: str) -> str:
    """The name with the registry and the tag that are meant where none is named: `python` is
    `docker.io/library/python:latest`.
    """
    short = tagged(name).removeprefix(f"{HUB}/")
    first, slash, _rest = short.partition("/")
    if not slash:
        return f"{OFFICIAL}/{short}"
    names_registry = "." in first or ":" in first or first == "localhost"
    return short if names_registry else f"{HUB}/{short}"


def spellings(name: str) -> list[str]:
    """All names that mean the same image as this canonical one."""
    shorter = [name.removeprefix(f"{start}/") for start in (HUB, OFFICIAL) if name.startswith(f"{start}/")]
    return [name, *shorter]
