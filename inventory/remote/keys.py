"""SSH keys: the server's own, as files of a private folder, and the host keys that people confirmed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import stat
from pathlib import Path

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from django.conf import settings

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
MOST_BYTES = 32 * 1024
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class KeyMissing(Exception):
    """There is no key of this name."""


class KeyUnusable(Exception):
    """The file of a key is not as it must be; the text says how."""


def folder() -> Path:
    """Where the server's private keys lie: readable for nobody else."""
    return Path(settings.SSH_KEYS_DIR)


def load(name: str) -> paramiko.PKey:
    """The private key of this name; raises KeyMissing or KeyUnusable."""
    path = folder() / name
    if NAME.fullmatch(name) is None:
        raise KeyMissing(name)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError as error:
        raise KeyMissing(name) from error
    except OSError as error:
        raise KeyUnusable(error.strerror or str(error)) from error
    with os.fdopen(handle, "rb"):
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & _OTHERS:
            raise KeyUnusable("the file must be readable for its owner only (chmod 600)")
    try:
        return paramiko.PKey.from_path(path)
    except (ValueError, TypeError, UnsupportedAlgorithm, paramiko.SSHException, OSError) as error:
        raise KeyUnusable("it is no private key without a passphrase") from error


def make(name: str) -> str:
    """A new Ed25519 key of this name; returns its public half as a line for authorized_keys. FileExistsError where the
    name is taken.
    """
    if NAME.fullmatch(name) is None:
        raise ValueError(name)
    fresh = ed25519.Ed25519PrivateKey.generate()
    secret = fresh.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder() / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secret)
    return public_line(load(name))


def names() -> list[str]:
    """The names of all keys, sorted."""
    try:
        found = [path.name for path in folder().iterdir()]
    except FileNotFoundError:
        return []
    return sorted(name for name in found if NAME.fullmatch(name) and not name.endswith(".pub"))


def public_half(name: str) -> str | None:
    """The line for authorized_keys; None where the key cannot be used."""
    try:
        return public_line(load(name))
    except (KeyMissing, KeyUnusable):
        return None


def public_line(key: paramiko.PKey) -> str:
    """Type and base64 of the public half."""
    return f"{key.get_name()} {key.get_base64()}"


def parse_host_key(line: str) -> paramiko.PKey:
    """A public key as type and base64; ValueError for anything else."""
    kind, _, encoded = line.partition(" ")
    if len(line) > MOST_BYTES:
        raise ValueError("too long")
    try:
        data = base64.b64decode(encoded.strip(), validate=True)
        key = paramiko.PKey.from_type_string(kind, data)
    except (binascii.Error, ValueError, IndexError, UnsupportedAlgorithm, paramiko.SSHException) as error:
        raise ValueError("no public key") from error
    if key.get_name() != kind or key.asbytes() != data:
        raise ValueError("no public key")
    return key


def fingerprint(key: paramiko.PKey) -> str:
    """As `ssh-keygen -l` writes it."""
    digest = hashlib.sha256(key.asbytes()).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"
