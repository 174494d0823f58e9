"""Settings of the agent: flags over environment over a TOML file over defaults; and the identity kept after
enrolment.
"""

from __future__ import annotations

import logging
import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from agent.journal import write_atomic

logger = logging.getLogger("headrace.agent.config")
ENVIRONMENT_PREFIX = "HEADRACE_AGENT_"
DEFAULT_STATE_DIR = "/var/lib/headrace-agent"


class ConfigError(Exception):
    """A setting is wrong; the text names it and the fix."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings. `interval_s` None = as the server says."""

    server: str = ""
    state_dir: str = DEFAULT_STATE_DIR
    token_file: str | None = None
    ca_file: str | None = None
    jobs_dir: str | None = None
    labels: dict[str, str] = {}
    node_set: str | None = None
    observe_only: bool = False
    reserved_cpus: list[int] = []
    interval_s: int | None = None
    machine_id: str | None = None
    hostname: str | None = None
    stop_jobs_on_exit: bool = False


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
        return msgspec.convert(values, Config, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file or 'settings'}: {error}") from error


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
    """The kept identity; None before enrolment."""
    path = identity_path(state_dir)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Identity)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
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
    """A setting given as text: `a=1,b=2` for labels, `0,1` for reserved CPUs."""
    if name == "labels":
        pairs = [part.partition("=") for part in text.split(",") if part]
        return {key.strip(): value.strip() for key, _, value in pairs}
    if name == "reserved_cpus":
        return [int(part) for part in text.split(",") if part.strip().isdigit()]
    if name in ("observe_only", "stop_jobs_on_exit"):
        return text.strip().lower() in ("1", "true", "yes", "on")
    return text
