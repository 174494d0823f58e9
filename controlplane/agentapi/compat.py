"""Which protocol versions this server speaks; older ones are lifted to the present one here, once there are any."""

from __future__ import annotations

import msgspec
from django.utils.translation import gettext_lazy as _

from agent import protocol
from controlplane.base.problems import Problem, Text

_TOO_NEW: Text = _(
    "This server speaks protocol versions %(oldest)s to %(newest)s, not %(version)s. "
    "Upgrade the server before the agents."
)
_TOO_OLD: Text = _(
    "This server speaks protocol versions %(oldest)s to %(newest)s, not %(version)s. Upgrade the agent."
)


class _Envelope(msgspec.Struct):
    version: int


def check_version(body: bytes) -> None:
    """426 for a version that this server does not speak, naming those it does; bodies without one are judged later."""
    try:
        version = msgspec.json.decode(body, type=_Envelope).version
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    if protocol.OLDEST_SUPPORTED_VERSION <= version <= protocol.VERSION:
        return
    message = _TOO_NEW if version > protocol.VERSION else _TOO_OLD
    params = {"version": version, "oldest": protocol.OLDEST_SUPPORTED_VERSION, "newest": protocol.VERSION}
    raise Problem(426, "unsupported-version", message=message, params=params)
