"""A container engine of the tests' own: podman on a store in a temporary folder, with an image of a few programs of
this machine.
"""

from __future__ import annotations

import functools
import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

PROGRAMS = ("sh", "cat", "sleep", "id", "head", "env", "df", "nproc")
IMAGE = "localhost/headrace-test:1"


def engine_command(folder: Path) -> list[str]:
    """podman as it works also where cgroups are hybrid and capabilities are few."""
    runtime = ["--runtime", "runc"] if shutil.which("runc") else []
    stores = ["--root", str(folder / "store"), "--runroot", str(folder / "run")]
    return ["podman", *stores, "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", *runtime]


def why_no_containers() -> str:
    """Empty where containers can be tried."""
    if os.geteuid() != 0:
        return "containers with users of their own need root"
    return "" if shutil.which("podman") else "podman is not installed"


def make_image(engine: list[str], folder: Path, name: str = IMAGE) -> None:
    """An image of some programs and the libraries that they need."""
    archive = folder / "image.tar"
    archive.write_bytes(programs())
    run(engine, "import", str(archive), name)


@functools.cache
def programs() -> bytes:
    """An archive of some programs and the libraries that they need: the one layer that can run something."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as target:
        for path in sorted({path for program in PROGRAMS for path in _files_of(program)}):
            target.add(path, arcname=path.lstrip("/"))
        for program in PROGRAMS:
            target.add(str(shutil.which(program)), arcname=f"bin/{program}")
        for empty in ("tmp", "proc", "sys", "dev", "etc"):
            entry = tarfile.TarInfo(empty)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if empty == "tmp" else 0o755
            target.addfile(entry)
    return archive.getvalue()


def one_file(path: str, content: bytes) -> bytes:
    """An archive of one file, to be another layer."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as target:
        entry = tarfile.TarInfo(path)
        entry.size = len(content)
        target.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def _files_of(program: str) -> list[str]:
    said = subprocess.run(["ldd", str(shutil.which(program))], capture_output=True, text=True, check=True)
    return re.findall(r"/\S+", said.stdout)


def run(engine: list[str], *arguments: str) -> str:
    """One call of the engine that has to go well."""
    done = subprocess.run([*engine, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
