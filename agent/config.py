"""Settings of the agent: flags over environment over a TOML file over defaults; and the identity kept after
enrolment.
"""

from __future__ import annotations

import logging
import os
import shlex
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from agent.host.files import parse_cpu_list
from agent.journal import Unreadable, read_or_put_aside, write_atomic
from agent.runners.container_devices import NvidiaStyle

logger = logging.getLogger("headrace.agent.config")
ENVIRONMENT_PREFIX = "HEADRACE_AGENT_"
TRUE_WORDS, FALSE_WORDS = {"1", "true", "yes", "y", "on"}, {"0", "false", "no", "n", "off", ""}
SPACED = ("container_engine", "container_options", "container_pull_options")
DEFAULT_STATE_DIR = "/var/lib/headrace-agent"


class ConfigError(Exception):
    """A setting is wrong; the text names it and the fix."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings. `interval_s` None = as the server says. `container_*` say what containers may have here: engine
    with its global options, folders that may be mounted (PATH or PATH:ro), networks (the first is that of jobs which
    name none), and options of the engine's create and pull that every job gets.
    """

    server: str = ""
    state_dir: str = DEFAULT_STATE_DIR
    token_file: str | None = None
    ca_file: str | None = None
    jobs_dir: str | None = None
    labels: dict[str, str] = {}
    node_set: str | None = None
    observe_only: bool = False
    reserved_cpus: list[int] = []
    image_users: list[str] = []
    dataset_folders: list[str] = []
    interval_s: int | None = None
    max_processes: int = 4096
    machine_id: str | None = None
    hostname: str | None = None
    stop_jobs_on_exit: bool = False
    container_engine: list[str] = []
    container_mounts: list[str] = []
    container_networks: list[str] = []
    container_options: list[str] = []
    container_pull_options: list[str] = []
    container_pull_always: bool = False
    container_nvidia: NvidiaStyle | None = None
    registry_auth_file: str | None = None
    checkpoint_dir: str | None = None
    min_free_mib: int = 1024


class Identity(msgspec.Struct, frozen=True):
    """Who this node is to which cluster; holds the node's secret."""

    server: str
    cluster_id: str
    node: int
    token: str
    machine_id: str
    report_interval_s: int = 10


def load_config(
    file: Path | None, *, flags: Mapping[str, object], environment: Mapping[str, str] = os.environ
) -> Config:
    """Merge all sources; raises ConfigError."""
    values: dict[str, object] = {}
    if file is not None:
        try:
            values |= tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{file}: {error}") from error
    values |= _from_environment(environment)
    values |= {name: value for name, value in flags.items() if value is not None}
    try:
        config = msgspec.convert(values, Config, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file or 'settings'}: {error}") from error
    for folder in config.dataset_folders:
        if not Path(folder).is_absolute():
            raise ConfigError(f"dataset_folders: {folder!r} is no absolute path; give one such as /data/sets")
    for mount in config.container_mounts:
        if not Path(mount).is_absolute():
            raise ConfigError(
                f"container_mounts: {mount!r} is no absolute path; give one such as /data or /data:ro"
            )
    if config.min_free_mib < 0:
        raise ConfigError(
            f"min_free_mib: {config.min_free_mib} is no size; give MiB such as 1024, or 0 to watch none"
        )
    if config.max_processes < 1:
        raise ConfigError(f"max_processes: {config.max_processes} is too few; give at least 1")
    return config


def read_secret(path: Path) -> str:
    """A token file's text; one that others may read is complained about."""
    try:
        if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            logger.warning("%s can be read by others; make it mode 0600", path)
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"token_file: {path}: {error.strerror}") from error


def identity_path(state_dir: Path) -> Path:
    """Where the identity lies."""
    return state_dir / "node.json"


def load_identity(state_dir: Path) -> Identity | None:
    """The kept identity; None before enrolment. Raises ConfigError for one that is damaged, which is put aside."""
    path = identity_path(state_dir)
    try:
        return read_or_put_aside(path, Identity)
    except Unreadable as error:
        raise ConfigError(f"{path}: unreadable identity ({error}); enrol again with a new token") from error


def save_identity(state_dir: Path, identity: Identity) -> None:
    """Keep the identity, readable by the agent's user only."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(identity_path(state_dir), msgspec.json.encode(identity))


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(Config):
        text = environment.get(ENVIRONMENT_PREFIX + field.name.upper())
        if text is not None:
            values[field.name] = parse_setting(field.name, text)
    return values


def parse_setting(name: str, text: str) -> object:
    """A setting given as text: `a=1,b=2` for labels, `0-3,8` for reserved CPUs, `a,b` for lists. What is not
    understood is refused, for the default would be the opposite of what was wished.
    """
    if name == "labels":
        return _parse_labels(text)
    if name == "reserved_cpus":
        return _parse_reserved_cpus(text)
    if name in SPACED:
        return shlex.split(text)
    if name in ("image_users", "dataset_folders", "container_mounts", "container_networks"):
        return [part.strip() for part in text.split(",") if part.strip()]
    if name in ("observe_only", "stop_jobs_on_exit", "container_pull_always"):
        word = text.strip().lower()
        if word not in TRUE_WORDS | FALSE_WORDS:
            raise ConfigError(f"{name}: {text!r} is neither yes nor no; give true or false")
        return word in TRUE_WORDS
    return text


def _parse_labels(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    for key, mark, _ in pairs:
        if not mark or not key.strip():
            raise ConfigError(f"labels: {key!r} is no label; give NAME=VALUE,NAME=VALUE")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _parse_reserved_cpus(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        cpus = parse_cpu_list(part)
        if part.strip() and not cpus:
            raise ConfigError(
                f"reserved_cpus: {part!r} is no CPU list; give numbers and ranges such as 0-3,8"
            )
        found += cpus
    return sorted(set(found))
