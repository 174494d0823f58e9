"""Stands in for the binding to NVML in a probe's own process: the file that HEADRACE_FAKE_NVML names says, at every
look, what happens.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.agent import fake_nvml

_LIBRARY = fake_nvml.FakeNvml()


def nvmlInit() -> None:
    """Take what happens from now on."""
    plan = json.loads(Path(os.environ["HEADRACE_FAKE_NVML"]).read_text())
    if plan.get("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if plan.get("garbage"):
        sys.stdout.buffer.write(b"\x00\xff nonsense\n")
        sys.stdout.buffer.flush()
    time.sleep(plan.get("slow_s", 0))
    if plan.get("absent"):
        raise fake_nvml.NVMLError(12)
    gpus = []
    for facts in plan.get("gpus", []):
        mig = facts.pop("mig", None)
        slices = None if mig is None else [fake_nvml.Slice(**part) for part in mig]
        gpus.append(fake_nvml.Gpu(**facts, mig=slices))
    _LIBRARY.gpus = gpus


def __getattr__(name: str) -> Any:
    return getattr(_LIBRARY, name)
