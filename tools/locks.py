"""The hashed lock files: made by uv from pyproject.toml, checked against it before every set-up."""

import hashlib
import json
import os
import shutil
import tomllib
from pathlib import Path

from tools.console import ROOT, BuildError, run_quietly, say

LOCK_FOLDER = ROOT / "requirements"
INPUTS = LOCK_FOLDER / "inputs.sha256"
# `dev` first: it holds everything, and the others take its versions.
GROUPS = ("dev", "build", "server", "agent", "client", "node", "installer")


def inputs_digest(pyproject: Path = ROOT / "pyproject.toml") -> str:
    """Digest of the dependency lists alone, so that tool settings may change without a new lock."""
    document = tomllib.loads(pyproject.read_text())
    lists = [
        document["project"]["dependencies"],
        document["project"]["requires-python"],
        document["dependency-groups"],
    ]
    return hashlib.sha256(json.dumps(lists, sort_keys=True).encode()).hexdigest()


def check_locks_are_current() -> None:
    missing = [name for name in GROUPS if not (LOCK_FOLDER / f"{name}.lock").exists()]
    if missing:
        raise BuildError(
            f"requirements/{missing[0]}.lock is missing.\nFix: restore it from git, or run: make lock"
        )
    recorded = INPUTS.read_text().strip() if INPUTS.exists() else ""
    if recorded != inputs_digest():
        raise BuildError(
            "requirements/*.lock were made from other dependency lists than pyproject.toml has now.\n"
            "Fix: make lock   (needs uv), or restore both from git"
        )


def write_locks() -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(ROOT / ".venv" / "bin"))
    if uv is None:
        raise BuildError("make lock needs uv.\nFix: install uv, for example with: pip install uv")
    for group in GROUPS:
        compile_lock(uv, group)
        say(f"  ok requirements/{group}.lock")
    INPUTS.write_text(inputs_digest() + "\n")


def compile_lock(uv: str, group: str) -> None:
    """Keeps the versions that the lock already has; `HEADRACE_UPGRADE=1` takes the newest."""
    lock = LOCK_FOLDER / f"{group}.lock"
    command = [
        uv,
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--python-version",
        "3.11",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--no-emit-index-url",
        "--no-emit-find-links",
        "--output-file",
        str(lock),
    ]
    command += ["pyproject.toml"] if group in ("dev", "server") else []
    command += [] if group == "server" else ["--group", f"pyproject.toml:{group}"]
    if group == "dev" and os.environ.get("HEADRACE_UPGRADE"):
        command.append("--upgrade")
    elif group != "dev":
        command += ["--constraint", str(LOCK_FOLDER / "dev.lock")]
    run_quietly(command, env={"UV_PYTHON_DOWNLOADS": "never"}, fix="read the conflict above")
