"""The examples keep the contract of docs/checkpoints.md: asked, stopped and resumed, they end as if never stopped."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import CLONE
from tests.waiting import eventually

EXAMPLES = CLONE / "examples/checkpoints"


def started(folder: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    own = {"HEADRACE_CHECKPOINT_DIR": str(folder), "HEADRACE_CHECKPOINT_DONE": str(folder / "complete")}
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | own | environment,
    )


def last_line(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return output.splitlines()[-1]


def test_the_numpy_loop_ends_alike_with_and_without_an_interruption(tmp_path: Path) -> None:
    script, few = str(EXAMPLES / "train_numpy.py"), {"STEPS": "300"}
    whole = started(tmp_path / "whole", script, PAUSE_S="0", **few)
    first = started(tmp_path / "first", script, **few)
    assert first.stdout is not None and first.stdout.readline() == "ready\n"
    first.send_signal(signal.SIGUSR1)
    eventually((tmp_path / "first/complete").exists)
    first.terminate()
    first.communicate(timeout=60)
    later = started(
        tmp_path / "later", script, HEADRACE_RESUME_DIR=str(tmp_path / "first"), PAUSE_S="0", **few
    )
    assert later.stdout is not None and later.stdout.readline().startswith("goes on at step ")
    assert last_line(later) == last_line(whole)


def test_the_data_job_counts_no_file_twice(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(6):
        (texts / f"{number}.txt").write_text("to be or not\n")
    script = str(EXAMPLES / "count_words.py")
    first = started(tmp_path / "first", script, str(texts), PAUSE_S="0.2")
    assert first.stdout is not None and first.stdout.readline() == "0.txt\n"
    spec = json.loads((EXAMPLES / "count_words.json").read_text())
    saved = tmp_path / "saved"
    saved.mkdir()
    environment = os.environ | {"HEADRACE_CHECKPOINT_DIR": str(saved)}
    subprocess.run(spec["checkpoint"]["command"], cwd=tmp_path / "first", env=environment, check=True)
    first.terminate()
    first.communicate(timeout=60)
    later = started(tmp_path / "later", script, str(texts), HEADRACE_RESUME_DIR=str(saved))
    assert json.loads(last_line(later)) == {"be": 6, "not": 6, "or": 6, "to": 6}


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_the_torch_loop_goes_on(tmp_path: Path) -> None:
    script: list[Any] = [str(EXAMPLES / "train_torch.py")]
    first = started(tmp_path / "first", *script, STEPS="100000000")
    assert first.stdout is not None and first.stdout.readline() == "ready\n"
    first.send_signal(signal.SIGUSR1)
    eventually((tmp_path / "first/complete").exists)
    first.terminate()
    first.communicate(timeout=60)
    later = started(tmp_path / "later", *script, HEADRACE_RESUME_DIR=str(tmp_path / "first"), STEPS="1")
    assert later.stdout is not None and later.stdout.readline().startswith("goes on at step ")
    later.terminate()
    later.communicate(timeout=60)
