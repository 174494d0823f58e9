"""What all tests obey: loopback only, and a reason for every test that this machine cannot run."""

import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.environment import SERVICES

CLONE = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("HEADRACE_SHARED") or CLONE.parent / "shared") / "data"
BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


def browser_path() -> Path | None:
    """The Chromium of the system; CHROMIUM names another one."""
    candidates = (os.environ.get("CHROMIUM", ""), *BROWSERS)
    return next((Path(path) for path in candidates if path and Path(path).exists()), None)


def missing_for(item: pytest.Item) -> str | None:
    if item.get_closest_marker("e2e") and browser_path() is None and not os.environ.get("CI"):
        return "no Chromium here: apt-get install chromium, or name one in CHROMIUM"
    if item.get_closest_marker("shared_data") and not SHARED_DATA.is_dir():
        return "the captured material is neither beside this clone nor where HEADRACE_SHARED says"
    if item.get_closest_marker("gpu") and not Path("/dev/nvidiactl").exists():
        return "no accelerator here"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = missing_for(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


def is_local(family: int, address: object) -> bool:
    if family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return True
    host = str(address[0]).split("%")[0]
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    """No test may talk to anything but this machine."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(self: socket.socket, address: Any) -> None:
        assert is_local(self.family, address), f"a test tried to reach {address!r}"
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        assert is_local(self.family, address), f"a test tried to reach {address!r}"
        return connect_ex(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", guarded)
    patch.setattr(socket.socket, "connect_ex", guarded_ex)
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def no_language_left_over() -> None:
    """A request leaves its language active in the thread (Django's middleware never puts it back): no test starts with
    another one's."""
    if "django.utils.translation.trans_real" in sys.modules:
        sys.modules["django.utils.translation.trans_real"].deactivate()


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser that the console is tested with."""
    path = browser_path()
    assert path is not None, "no Chromium: apt-get install chromium"
    return path


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """The address of a running PostgreSQL; Django's test databases are made on it."""
    assert SERVICES is not None, "a pure run has no servers"
    SERVICES.start_postgres()
    return os.environ["DATABASE_URL"]


@pytest.fixture(scope="session")
def valkey_url() -> str:
    """The address of a running Valkey that belongs to this test process alone."""
    assert SERVICES is not None, "a pure run has no servers"
    SERVICES.start_valkey()
    return os.environ["REDIS_URL"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    postgres_url: str, valkey_url: str, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """Django's database fixtures start the servers; code under test may use broker and cache as well."""
