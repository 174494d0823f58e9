"""What operators do with ways to nodes without an agent: add, confirm a new host key, look now, remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from controlplane.accounts.models import User
from controlplane.alerts.service import clear_alert
from controlplane.base import clock
from controlplane.base.problems import Fault, Problem, invalid
from inventory.models import NodeSet, RemoteHost, RemoteProblem
from inventory.remote import keys, ssh
from inventory.remote.hosts import HOST_KEY_ALERT
from inventory.remote.problems import TEXTS
from inventory.revisions import node_changed


def scan(address: str, port: int) -> dict[str, str]:
    """The host key that is shown at an address, for a person to compare. Raises Problem."""
    try:
        key = ssh.scan(address, port)
    except ssh.Unreached as error:
        code = f"ssh-{error.problem.value}"
        raise Problem(409, code, message=TEXTS[error.problem], params={"detail": error.detail}) from error
    return {"host_key": keys.public_line(key), "fingerprint": keys.fingerprint(key)}


def add(creator: User | None, values: Mapping[str, Any]) -> RemoteHost:
    """A new way to a node; its host key was confirmed by whoever calls. Raises Problem."""
    node_set = values.get("node_set")
    try:
        with transaction.atomic():
            return RemoteHost.objects.create(
                address=values["address"],
                port=values["port"],
                user=values["user"],
                key=_known_key(values["key"]),
                host_key=_host_key(values["host_key"]),
                node_set=NodeSet.objects.get_or_create(name=node_set)[0] if node_set else None,
                fetches_images=bool(values.get("fetches_images")),
                created_by=creator,
            )
    except IntegrityError as error:
        message = _("There is an entry for this address and port already.")
        raise Problem(409, "remote-host-exists", message=message) from error


def confirm(host: RemoteHost, host_key: str) -> None:
    """A person says that this is the node's host key now; the next look is due at once. Raises Problem."""
    columns = {"host_key": _host_key(host_key), "due_at": clock.now(), "claim": ""}
    with transaction.atomic():
        RemoteHost.objects.filter(pk=host.pk).update(**columns)
        if host.node_id is not None:
            clear_alert(HOST_KEY_ALERT, subject_type="node", subject_id=host.node_id)


def remove(host: RemoteHost) -> None:
    """Nobody looks there any more. The node stays, and will be silent unless an agent enrols on it."""
    with transaction.atomic():
        node_id = host.node_id
        host.delete()
        if node_id is not None:
            clear_alert(HOST_KEY_ALERT, subject_type="node", subject_id=node_id)
            node_changed(node_id)


def _known_key(name: str) -> str:
    try:
        keys.load(name)
    except keys.KeyMissing:
        raise invalid("key", Fault.NOT_FOUND, message=_("The server has no SSH key of this name.")) from None
    except keys.KeyUnusable:
        raise invalid("key", Fault.INVALID, message=TEXTS[RemoteProblem.KEY_UNUSABLE]) from None
    return name


def _host_key(line: str) -> str:
    try:
        return keys.public_line(keys.parse_host_key(line.strip()))
    except ValueError:
        message = _("Not a public host key: type and base64, as the scan shows it.")
        raise invalid("host_key", Fault.FORMAT, message=message) from None
