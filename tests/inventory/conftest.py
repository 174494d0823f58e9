"""Machines without an agent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inventory.remote import keys
from tests.inventory.sshd import SSHD, Machine


@pytest.fixture
def ssh_key(tmp_path: Path, settings: Any) -> str:
    """The name of a key of this server."""
    settings.SSH_KEYS_DIR = tmp_path / "keys"
    keys.make("fleet")
    return "fleet"


@pytest.fixture
def machine(tmp_path: Path, ssh_key: str) -> Iterator[Machine]:
    """A machine that lets this server in."""
    if (SSHD is None or shutil.which("ssh-keygen") is None) and not os.environ.get("CI"):
        pytest.skip("no sshd here: apt-get install openssh-server")
    found = Machine(tmp_path / "machine", key=ssh_key)
    found.let_in(ssh_key)
    found.start()
    yield found
    found.stop()
