"""What people read of a look over SSH that gave no report."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from controlplane.base.problems import Text
from inventory.models.remote import RemoteProblem

TEXTS: Mapping[RemoteProblem, Text] = {
    RemoteProblem.UNREACHABLE: _("The address does not answer."),
    RemoteProblem.TIMED_OUT: _("The node did not answer in time."),
    RemoteProblem.NOT_SSH: _("What answers there does not speak SSH, or broke off before it did."),
    RemoteProblem.HOST_KEY_CHANGED: _(
        "The node shows another host key than the one that was confirmed. Nothing was sent to it. "
        "If it was reinstalled, check its new key and confirm it; else somebody may pretend to be this node."
    ),
    RemoteProblem.KEY_MISSING: _("There is no such key in the server's folder of SSH keys."),
    RemoteProblem.KEY_UNUSABLE: _(
        "The server's SSH key cannot be used: others can read its file, it has a passphrase, "
        "or it is no private key."
    ),
    RemoteProblem.KEY_REFUSED: _("The node refused the key for this user."),
    RemoteProblem.CONNECTION_LOST: _("The connection was closed in the middle of the look."),
    RemoteProblem.TOO_MUCH_OUTPUT: _("The node sent far more than any answer is long; it was cut off."),
    RemoteProblem.NOT_UNDERSTOOD: _("What the node answered is not what a Linux machine says of itself."),
    RemoteProblem.NO_MACHINE_ID: _(
        "The machine has no identity: give it an /etc/machine-id (systemd-machine-id-setup)."
    ),
    RemoteProblem.MACHINE_CHANGED: _("Another machine answers at this address than before."),
    RemoteProblem.SAME_MACHINE: _("Another entry already leads to this machine."),
    RemoteProblem.HAS_AGENT: _("An agent is enrolled on this machine, and it is the agent that reports."),
}


def problem_text(problem: str) -> str:
    """The sentence of a problem in the language now active; empty where there is none."""
    return str(TEXTS[RemoteProblem(problem)]) if problem else ""
