"""Folders for tests that start servers under other accounts."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def reachable_folder() -> Iterator[Path]:
    """A folder that every account may pass through; pytest's own temporary folders are private."""
    folder = Path(tempfile.mkdtemp(prefix="hr-embedded-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)
