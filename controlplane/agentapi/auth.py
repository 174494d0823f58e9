"""Who an agent is: its node's token, compared by hash."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from controlplane.base.problems import Problem
from inventory.models import Node, NodeCredential
from inventory.tokens import NODE_PREFIX, digest


def bearer(request: HttpRequest) -> str:
    """The token of the Authorization header; 401 without one."""
    scheme, _sep, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Problem(401, "not-authenticated", headers={"WWW-Authenticate": "Bearer"})
    return token.strip()


def hash_of(request: HttpRequest) -> str:
    """The hash of the token of this request; 401 without one."""
    return digest(bearer(request))


def node_of(request: HttpRequest) -> Node:
    """The node that this request's token belongs to; 401 when it is unknown or revoked."""
    token = bearer(request)
    credential = None
    if token.startswith(NODE_PREFIX):
        # Facts are large, and few requests need them: they load when somebody looks.
        credentials = NodeCredential.objects.select_related("node").defer("node__facts", "node__labels")
        credential = credentials.filter(token_hash=digest(token)).first()
    if credential is None:
        raise Problem(
            401, "node-token-invalid", message=_("This node token is unknown. Enrol the node again.")
        )
    if credential.revoked_at is not None:
        raise Problem(
            401, "node-token-revoked", message=_("This node token was revoked. Enrol the node again.")
        )
    return credential.node
