"""What a server has loaded at its start is not looked through again and again for garbage."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COUNT = "import gc, {module}; print(gc.get_freeze_count(), len(gc.get_objects()))"


@pytest.mark.parametrize("module", ["controlplane.wsgi", "controlplane.asgi"])
def test_a_server_is_settled_before_its_first_request(module):
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "controlplane.settings"}
    command = [sys.executable, "-c", COUNT.format(module=module)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    settled, left = map(int, done.stdout.split())
    assert settled > 100_000 > 10 * left
