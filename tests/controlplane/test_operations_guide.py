"""Every variable that the code reads is documented, and every documented one is read."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from agent.config import Config

ROOT = Path(__file__).parents[2]
READERS = ("controlplane", "inventory", "queues", "scheduling", "agent", "client", "tools", "bench", "docker")
SUFFIXES = {".py", ".sh", ".yml", ".env", ".service", ".conf"}
VARIABLE = re.compile(r"\bHEADRACE_[A-Z_]*[A-Z]\b")
# Passed between the processes of one test run.
INTERNAL = "HEADRACE_TEST_"


def named_in(files: list[Path]) -> set[str]:
    found = {name for file in files for name in VARIABLE.findall(file.read_text(errors="replace"))}
    return {name for name in found if not name.startswith(INTERNAL)}


def code() -> list[Path]:
    files = [file for folder in READERS for file in (ROOT / folder).rglob("*") if file.suffix in SUFFIXES]
    return [*files, ROOT / "docker-compose.yml", ROOT / "Makefile", ROOT / "tests" / "engine" / "profiles.py"]


def test_variables_are_documented_and_documented_ones_are_read() -> None:
    read, told = named_in(code()), named_in(list((ROOT / "docs").glob("*.md")))
    # The settings of the agent have one prefix and stand in agent/config.py.
    names = [setting.name.upper() for setting in msgspec.structs.fields(Config)]
    agents = {"HEADRACE_AGENT", *(f"HEADRACE_AGENT_{name}" for name in names)}
    assert read - told - agents == set()
    assert told - read - agents == set()
