"""Secrets of nodes: made here, kept only as SHA-256 (they are 256 random bits, so no slow hash is needed)."""

from __future__ import annotations

import hashlib
import secrets

ENROLMENT_PREFIX = "hre_"
NODE_PREFIX = "hrn_"


def new_enrolment_secret() -> str:
    """A one-time enrolment token, to be shown once."""
    return ENROLMENT_PREFIX + secrets.token_urlsafe(32)


def new_node_secret() -> str:
    """A node's own token, to be shown once."""
    return NODE_PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
