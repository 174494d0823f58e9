"""Secrets of private registries: files of the server's own folder. Rows, answers and logs hold only their names; the
content goes to a node that fetches an image with it, and nowhere else.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from django.conf import settings

from controlplane.base import private_files
from controlplane.base.private_files import NotPrivate
from inventory.images.names import HUB, canonical
from inventory.models import Image

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
# How docker's client calls it.
DOCKERS_HUB = "https://index.docker.io/v1/"
REGISTRY = re.compile(r"[a-z0-9][a-z0-9.:-]{0,252}", re.ASCII)


class SecretMissing(Exception):
    """There is no secret of this name."""


class SecretUnusable(Exception):
    """The file of a secret is not as it must be; the text says how, and nothing of its content."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """What a file holds: user and password (base64 of `user:password`) by registry, and the teams that may name it."""

    auths: dict[str, str]
    teams: list[str] = []


@dataclass(frozen=True)
class Secret:
    """One secret; no `teams` means all of them."""

    name: str
    teams: tuple[str, ...]
    auths: dict[str, str] = field(repr=False)

    @property
    def registries(self) -> list[str]:
        """Whom it is shown to."""
        return sorted(self.auths)

    def document(self) -> str:
        """As container engines read it, in one line."""
        auths = dict(self.auths)
        if HUB in auths:
            auths[DOCKERS_HUB] = auths[HUB]
        told = {"auths": {registry: {"auth": auth} for registry, auth in auths.items()}}
        return msgspec.json.encode(told).decode()

    def may_be_named_by(self, team: str) -> bool:
        """Whether jobs of this team may."""
        return not self.teams or team in self.teams

    def is_for(self, image: str) -> bool:
        """Whether the image lies on one of its registries."""
        return canonical(image).partition("/")[0] in self.auths


def folder() -> Path:
    """Where the secrets lie."""
    return Path(settings.REGISTRY_SECRETS_DIR)


def find(name: str) -> Secret:
    """The secret of this name; raises SecretMissing or SecretUnusable."""
    if NAME.fullmatch(name) is None:
        raise SecretMissing(name)
    try:
        told = msgspec.json.decode(private_files.read(folder() / name), type=_File)
    except FileNotFoundError as error:
        raise SecretMissing(name) from error
    except NotPrivate as error:
        raise SecretUnusable(str(error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # What a decoder says of a file may quote it.
        raise SecretUnusable("it is no secret of a registry; make it anew") from None
    return Secret(name, tuple(sorted(told.teams)), told.auths)


def names() -> list[str]:
    """The names of all secrets, sorted."""
    try:
        found = [path.name for path in folder().iterdir()]
    except FileNotFoundError:
        return []
    return sorted(name for name in found if NAME.fullmatch(name))


def make(name: str, *, registry: str, user: str, password: str, teams: Collection[str]) -> Secret:
    """A new secret. ValueError names what is wrong, FileExistsError a name that is taken."""
    if NAME.fullmatch(name) is None:
        raise ValueError("name: letters, digits, dots, dashes and underscores only")
    if REGISTRY.fullmatch(registry) is None:
        raise ValueError(
            "registry: its host, with a port where it has one, for example registry.example:5000"
        )
    if not user or ":" in user or not password:
        raise ValueError("user and password: neither may be empty, and the user holds no colon")
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    private_files.make(folder() / name, msgspec.json.encode(_File({registry: auth}, sorted(teams))))
    return find(name)


def remove(name: str) -> None:
    """Forget a secret; SecretMissing where there is none."""
    if NAME.fullmatch(name) is None:
        raise SecretMissing(name)
    try:
        (folder() / name).unlink()
    except FileNotFoundError as error:
        raise SecretMissing(name) from error


def note_use(image: str, secret: str) -> None:
    """An image is fetched with this secret from now on, also ahead of demand."""
    name = canonical(image)
    Image.objects.bulk_create([Image(name=name)], ignore_conflicts=True)
    Image.objects.filter(name=name).exclude(secret=secret).update(secret=secret)


def used_for(images: Collection[str]) -> dict[str, str]:
    """The secrets (name) of those of these images that are fetched with one."""
    rows = Image.objects.filter(name__in={canonical(image) for image in images}).exclude(secret="")
    known = dict(rows.values_list("name", "secret"))
    return {image: known[canonical(image)] for image in images if canonical(image) in known}
