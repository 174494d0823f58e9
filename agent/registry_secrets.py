"""Secrets of private registries on their way to the container engine: asked of the server when an image is fetched, a
file for the agent alone while it is, and gone afterwards. No argument, log or journal ever holds one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from agent.journal import Unreadable, read_or_put_aside, write_atomic
from agent.protocol import SecretReply
from agent.runners.base import RunnerError
from agent.transport import TransportError

PREFIX = "registry-"
# Starts wait for the answer, so a server that gave none is not asked again by each of them.
PAUSE_S = 10.0
Ask = Callable[[str], SecretReply]


class RegistrySecrets:
    """What the agent knows of private registries: how to ask for a secret, and what was ever fetched with one."""

    def __init__(self, ask: Ask | None, *, state_dir: Path) -> None:
        self._ask = ask
        self._state_dir = state_dir
        self._file = state_dir / "private-images.json"
        self._silent_until_s = 0.0
        for left in state_dir.glob(f"{PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)

    def write(self, folder: Path, name: str) -> dict[str, str]:
        """Put a secret into a new folder, as podman and docker read it; the variables that lead them there.
        RunnerError where it is not to be had.
        """
        auths = self._auths(name)
        folder.mkdir(mode=0o700)
        handle = os.open(folder / "config.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump({"auths": {registry: {"auth": auth} for registry, auth in auths.items()}}, file)
        return {"REGISTRY_AUTH_FILE": str(folder / "config.json"), "DOCKER_CONFIG": str(folder)}

    @contextmanager
    def written(self, name: str) -> Iterator[dict[str, str]]:
        """The same, gone at the end."""
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._state_dir))
        try:
            yield self.write(place / "auth", name)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def is_private(self, image: str) -> bool:
        """Whether something of this image's repository was fetched with a secret: then nobody gets it from here without
        the registry's own yes. A name without a registry may mean any of that name.
        """
        asked = repository(image)
        return any(known == asked or known.endswith(f"/{asked}") for known in self._private())

    def note(self, image: str) -> None:
        """An image is fetched with a secret."""
        known = self._private()
        if repository(image) not in known:
            write_atomic(self._file, msgspec.json.encode(sorted({*known, repository(image)})))

    def _private(self) -> set[str]:
        try:
            return set(read_or_put_aside(self._file, list[str]) or [])
        except Unreadable as error:
            raise RunnerError(f"{self._file.name} is damaged: {error}") from error

    def _auths(self, name: str) -> dict[str, str]:
        if self._ask is None or time.monotonic() < self._silent_until_s:
            raise RunnerError(f"image_secret: {name} was not asked for: the server gave no answer just now")
        try:
            return self._ask(name).auths
        except TransportError as error:
            self._silent_until_s = time.monotonic() + PAUSE_S
            raise RunnerError(f"image_secret: {name} is not to be had: {error}") from error


def repository(image: str) -> str:
    """An image's name without tag and digest, and without the registry that is meant where none is named."""
    name = re.sub(r":[^/:]*$", "", image.partition("@")[0])
    return name.removeprefix("docker.io/").removeprefix("library/")
