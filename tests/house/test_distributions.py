"""Agent and client install alone: their wheels hold their own package and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.console import ROOT


@pytest.mark.parametrize(("folder", "command"), [("agent", "headrace-agent"), ("client", "headrace")])
def test_wheel(tmp_path: Path, folder: str, command: str) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT / folder, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        entry_points = next(wheel.read(name).decode() for name in names if name.endswith("entry_points.txt"))
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {folder}
    assert f"{folder}/__init__.py" in names
    assert f"{command} = " in entry_points


@pytest.mark.parametrize("folder", ["agent", "client"])
def test_imports_without_the_server(folder: str) -> None:
    probe = f"import sys, {folder}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"django", "controlplane", "queues"} & set(done.stdout.split())
