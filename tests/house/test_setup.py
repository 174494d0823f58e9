"""Set-up: when it does nothing, what it repairs, and what it says when it cannot go on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import frontend, locks, venv
from tools.console import ROOT, BuildError, run_quietly

NODES = [
    ("20.19.0", True),
    ("20.18.9", False),
    ("21.7.0", False),
    ("22.11.0", False),
    ("22.12.0", True),
    ("24.1.0", True),
    ("", False),
]


@pytest.fixture
def empty_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "venv"
    monkeypatch.setattr(venv, "VENV", folder)
    monkeypatch.setattr(venv, "PYTHON", folder / "bin" / "python")
    monkeypatch.setattr(venv, "STAMP", folder / "stamp.json")
    return folder


@pytest.fixture
def installs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []
    monkeypatch.setattr(venv, "install", calls.append)
    monkeypatch.setattr(venv, "check_locks_are_current", lambda: None)
    return calls


def test_a_second_set_up_installs_nothing(empty_venv: Path, installs: list[list[str]]) -> None:
    venv.ensure_venv(venv.Profile.RUN)
    assert installs
    installs.clear()
    venv.ensure_venv(venv.Profile.RUN)
    assert installs == []


def test_development_serves_running_but_not_the_other_way(
    empty_venv: Path, installs: list[list[str]]
) -> None:
    venv.ensure_venv(venv.Profile.RUN)
    assert not venv.is_ready(venv.Profile.DEV)
    venv.ensure_venv(venv.Profile.DEV)
    assert venv.is_ready(venv.Profile.RUN)


def test_a_changed_lock_is_installed_again(
    empty_venv: Path, installs: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.ensure_venv(venv.Profile.RUN)
    monkeypatch.setattr(venv, "digest_of", lambda _profile: "another")
    assert not venv.is_ready(venv.Profile.RUN)


@pytest.mark.parametrize("damage", ["bin/python", "pyvenv.cfg"])
def test_a_half_done_venv_is_made_anew(empty_venv: Path, installs: list[list[str]], damage: str) -> None:
    venv.ensure_venv(venv.Profile.RUN)
    (empty_venv / damage).unlink()
    assert not venv.is_ready(venv.Profile.RUN)
    venv.ensure_venv(venv.Profile.RUN)
    assert venv.venv_works()


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"profile": "NONE"}'])
def test_a_venv_that_nobody_vouches_for_is_made_anew(
    empty_venv: Path, installs: list[list[str]], content: str | None
) -> None:
    venv.ensure_venv(venv.Profile.RUN)
    left = empty_venv / "left-over"
    left.touch()
    venv.STAMP.unlink() if content is None else venv.STAMP.write_text(content)
    venv.ensure_venv(venv.Profile.RUN)
    assert not left.exists() and venv.is_ready(venv.Profile.RUN)


def test_an_interrupted_install_leaves_no_stamp(empty_venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_arguments: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(venv, "install", interrupted)
    monkeypatch.setattr(venv, "check_locks_are_current", lambda: None)
    with pytest.raises(KeyboardInterrupt):
        venv.ensure_venv(venv.Profile.RUN)
    assert not venv.is_ready(venv.Profile.RUN)


def test_without_pip_an_ordinary_user_is_told_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv, "has_ensurepip", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BuildError, match=r"sudo apt-get install python3\.\d+-venv"):
        venv.add_pip()


def test_locks_of_other_dependencies_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locks.check_locks_are_current()
    stale = tmp_path / "inputs.sha256"
    stale.write_text("another\n")
    monkeypatch.setattr(locks, "INPUTS", stale)
    with pytest.raises(BuildError, match="make lock"):
        locks.check_locks_are_current()


def test_every_dependency_is_in_its_lock() -> None:
    for name, package in (
        ("server", "django"),
        ("agent", "httpx"),
        ("client", "typer"),
        ("build", "hatchling"),
    ):
        assert package in venv.names_in(locks.LOCK_FOLDER / f"{name}.lock")
        assert package in venv.names_in(locks.LOCK_FOLDER / "dev.lock")


@pytest.mark.parametrize(("version", "good"), NODES)
def test_node_versions(version: str, good: bool) -> None:
    assert frontend.is_new_enough(version) is good


def test_the_console_is_built_again_only_for_new_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("FRONTEND", tmp_path),
        ("MODULES", tmp_path / "node_modules"),
        ("DIST", tmp_path / "dist"),
    ):
        monkeypatch.setattr(frontend, name, value)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.ts").write_text("1")
    for folder in ("node_modules", "dist"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "index.html").write_text("built")
    frontend.built_stamp().write_text(frontend.sources_digest())
    assert frontend.console_is_built()
    (tmp_path / "src" / "main.ts").write_text("2")
    assert not frontend.console_is_built()


def test_a_failed_command_shows_its_words_and_the_fix() -> None:
    with pytest.raises(BuildError, match=r"(?s)no space left.*exit status 3.*Fix: free some"):
        run_quietly([sys.executable, "-c", "print('no space left'); exit(3)"], fix="free some")
    with pytest.raises(BuildError, match="cannot start: /no/such"):
        run_quietly(["/no/such"], fix="install it")


def test_python_is_found_or_named() -> None:
    found = subprocess.run(["sh", "tools/python.sh"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).exists()
    nothing = subprocess.run(
        ["/bin/sh", "tools/python.sh"],
        cwd=ROOT,
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert nothing.returncode == 1 or nothing.stdout.strip() == "/usr/bin/python3"


def test_make_knows_its_targets() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("setup", "run", "test", "demo", "check", "fix", "generate", "test-pure", "bench", "lock"):
        assert f"make {target} " in done.stdout
