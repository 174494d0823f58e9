"""The documents name what is really there."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from tools.console import ROOT

DECISION = ROOT / "docs" / "decisions" / "0001-dependencies.md"
DOCUMENTS = [path for pattern in ("*.md", "docs/**/*.md") for path in sorted(ROOT.glob(pattern))]


def python_dependencies() -> set[str]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = document["dependency-groups"].values()
    lines = [
        *document["project"]["dependencies"],
        *(line for group in groups for line in group if isinstance(line, str)),
    ]
    return {re.split(r"[\[<>=~! ]", line)[0] for line in lines}


def console_dependencies() -> set[str]:
    document = json.loads((ROOT / "frontend" / "package.json").read_text())
    return {*document["dependencies"], *document["devDependencies"]}


def test_every_dependency_has_its_reason() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", DECISION.read_text(), flags=re.MULTILINE)
    explained = {name.strip() for row in rows for name in row.split(",")} - {"package", "---"}
    assert python_dependencies() | console_dependencies() == explained


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", document.read_text())
    inside = [link for link in links if "://" not in link]
    assert [link for link in inside if not (document.parent / link).exists()] == []


def test_both_readmes_show_the_same_commands() -> None:
    english, chinese = (
        re.findall(r"```\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)
        for name in ("README.md", "README.zh-CN.md")
    )
    assert english == chinese
