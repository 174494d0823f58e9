"""State folder, address and environment of `manage.py up`, and what it says when it cannot start."""

import os
import socket
from pathlib import Path

import pytest

from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.plan import Address, child_environment, find_address
from controlplane.embedded.ports import require_free
from controlplane.embedded.start import answers, only_one, write_environment
from controlplane.embedded.state import StateFolder, find_state, write_private


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path / "state")
    folder.ensure()
    return folder


def test_state_folder_by_account(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_state({"HEADRACE_STATE": "/srv/x"}).root == Path("/srv/x")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert find_state({}, clone=Path("/home/ann/headrace")).root == Path("/home/ann/headrace/.headrace")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    root = find_state({}, clone=Path("/srv/headrace")).root
    assert root.parent == Path("/var/lib/headrace")
    assert root != find_state({}, clone=Path("/srv/other")).root


def test_secrets_are_made_once_and_private(state: StateFolder) -> None:
    first = state.secret(state.secret_key)
    assert len(first) > 30
    assert state.secret(state.secret_key) == first
    assert state.secret_key.stat().st_mode & 0o777 == 0o600


def test_an_unusable_state_folder_names_the_fix(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(EmbeddedError, match="HEADRACE_STATE"):
        StateFolder(blocker / "state").ensure()


def test_write_private_replaces_whole(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.with_name("secret.partial").write_text("left over")
    write_private(path, "one")
    write_private(path, "two")
    assert path.read_text() == "two"


@pytest.mark.parametrize("text", ["0", "70000", "http", "-1"])
def test_bad_ports_are_refused(text: str) -> None:
    with pytest.raises(EmbeddedError, match="HEADRACE_PORT"):
        find_address({"HEADRACE_PORT": text})


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
    ],
)
def test_address_is_one_that_people_can_open(host: str, url: str) -> None:
    assert find_address({"HEADRACE_HOST": host}).url == url


def test_a_port_in_use_names_its_holder() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedError, match=f"port {port} is in use by process {os.getpid()} "):
            require_free("127.0.0.1", port)
    require_free("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(EmbeddedError, match="HEADRACE_HOST"):
        require_free("192.0.2.1", 8000)


def test_a_second_start_on_the_same_state_is_refused(state: StateFolder) -> None:
    refused = pytest.raises(EmbeddedError, match=f"already runs .*process {os.getpid()}")
    with only_one(state), refused, only_one(state):
        raise AssertionError("both got the lock")
    with only_one(state):
        pass


def test_children_learn_addresses_and_hosts(state: StateFolder) -> None:
    env = child_environment(
        state=state,
        address=Address("0.0.0.0", 8000),
        database_url="postgres://x",
        redis_url="redis://y",
        environ={"HEADRACE_ALLOWED_HOSTS": "cluster.example"},
    )
    assert env["DATABASE_URL"] == "postgres://x"
    assert {"127.0.0.1", "localhost", "cluster.example", socket.gethostname()} <= set(
        env["HEADRACE_ALLOWED_HOSTS"].split(",")
    )
    assert env["HEADRACE_ORIGIN"] == "http://127.0.0.1:8000"


def test_the_environment_file_can_be_sourced(state: StateFolder) -> None:
    write_environment(
        state, {"DATABASE_URL": "postgres://a:b@/h?host=/x y", "HOME": "/home/ann", "HEADRACE_STATE": "/s"}
    )
    text = (state.root / "environment").read_text()
    assert text == "DATABASE_URL='postgres://a:b@/h?host=/x y'\nHEADRACE_STATE=/s\n"


def test_nobody_answering_is_no_error() -> None:
    assert not answers("http://127.0.0.1:9/readyz")
