"""Where the client keeps the address and its token: a TOML file of mode 0600.

HEADRACE_URL and HEADRACE_TOKEN win over the file.
"""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from client.errors import Misuse

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Config:
    """Address of the server and token; the token is None before `headrace login`."""

    url: str = DEFAULT_URL
    token: str | None = None


def config_path() -> Path:
    """HEADRACE_CONFIG, else `headrace/config.toml` in the user's configuration folder."""
    if explicit := os.environ.get("HEADRACE_CONFIG"):
        return Path(explicit)
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "headrace" / "config.toml"


def load() -> Config:
    """The stored configuration with the environment on top; a broken file is an error that names it."""
    path = config_path()
    stored: dict[str, object] = {}
    try:
        stored = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Misuse(f"{path}: {error}") from error
    url = os.environ.get("HEADRACE_URL") or str(stored.get("url") or DEFAULT_URL)
    token = os.environ.get("HEADRACE_TOKEN") or stored.get("token")
    return Config(url=url.rstrip("/"), token=str(token) if token else None)


def save(config: Config) -> Path:
    """Write the file so that no other user can read it at any moment; returns its path."""
    path = config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        # JSON strings are TOML basic strings, too.
        file.write(f"url = {json.dumps(config.url)}\ntoken = {json.dumps(config.token or '')}\n")
    part.replace(path)
    return path
