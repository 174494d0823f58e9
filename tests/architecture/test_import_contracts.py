"""The import contracts hold, and are seen to break on a planted import."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import CLONE, SERVER

PACKAGES = (*SERVER, "agent", "client")


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as c; c()",
        "--no-cache",
    ]
    env = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "migrations")
    for name in PACKAGES:
        shutil.copytree(CLONE / name, tmp_path / name, ignore=ignored)
    shutil.copy(CLONE / ".importlinter", tmp_path)
    return tmp_path


def test_contracts_hold() -> None:
    done = lint(CLONE)
    assert done.returncode == 0, done.stdout


PLANTED = [
    ("inventory/planted.py", "import queues.models", "one direction through the server"),
    ("controlplane/base/planted.py", "import controlplane.policy.models", "one direction through the server"),
    ("scheduling/engine/planted.py", "import django.db", "the engine knows neither Django nor any app"),
    ("scheduling/simulator/planted.py", "import django.db", "the simulator knows the engine only"),
    ("agent/planted.py", "import queues.models", "the agent knows nothing of the server"),
    ("client/planted.py", "import agent.protocol", "the client knows nothing of the server"),
    ("queues/planted.py", "import agent.reconcile", "of the agent the server knows the wire types only"),
]


def test_planted_imports_break_them(copy: Path) -> None:
    for path, text, _contract in PLANTED:
        (copy / path).write_text(text + "\n")
    done = lint(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    broken = set(re.findall(r"^(.*?) BROKEN", done.stdout, flags=re.MULTILINE))
    assert broken == {contract for _path, _text, contract in PLANTED}
