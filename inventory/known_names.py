"""Names of device models and node sets that somebody gives: one that nothing has is told with those near it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import SequenceMatcher

from django.utils.translation import gettext as _

from controlplane.alerts.silences import know_subjects
from controlplane.policy import service
from controlplane.policy.contradictions import Path_
from controlplane.policy.document import PolicyDocument
from inventory.catalogue import entries
from inventory.models import Device, Node, NodeSet
from inventory.wiring import UPWARD

NEAR = 3
# As great a share of two names must be equal.
LIKELY = 0.6
# Of many node sets as many are told where none is near.
TOLD = 10


def connect() -> None:
    """Let a policy, and a silence, name only what is there."""
    service.check_with(unknown_names)
    know_subjects("node", lambda pk: Node.objects.filter(pk=pk).exists())
    know_subjects("device", lambda pk: Device.objects.filter(pk=pk).exists())


def unknown_names(document: PolicyDocument) -> Iterator[tuple[Path_, str]]:
    """Path and reason of each name in a policy that no device model or node set has. Where high bandwidth is
    (`cpu-policy`) may be said before the nodes are there. One query a name.
    """
    for i, queue in enumerate(document.queue_policy.queues):
        for model in queue.model_caps_ppm:
            if reason := no_such_model(model):
                yield ("queue-policy", "queues", i, "model-caps", model), reason
    for i, rule in enumerate(document.alert_rules):
        for j, name in enumerate(rule.models):
            if reason := no_such_model(name):
                yield ("alert-rules", i, "models", j), reason
        for j, name in enumerate(rule.node_sets):
            if reason := no_such_node_set(name):
                yield ("alert-rules", i, "node-sets", j), reason


def no_such_model(name: str) -> str | None:
    """Why no device is asked for by this name: neither a reported model nor one of the catalogue; None when one is."""
    reported = Device.objects.exclude(model=None).order_by().values_list("model", flat=True).distinct()
    shown = {model for model in reported if model is not None} | {entry.name for entry in entries()}
    models = shown | {known for entry in entries() for known in entry.names}
    serves = UPWARD.serves
    if name in models or serves is None or any(serves(name, model) for model in models):
        return None
    return _told(_("There is no device model %(name)s.") % {"name": name}, near(name, shown))


def no_such_node_set(name: str) -> str | None:
    """Why no node is in it; None when it is there."""
    sets = list(NodeSet.objects.order_by("name").values_list("name", flat=True))
    if name in sets:
        return None
    return _told(_("There is no node set %(name)s.") % {"name": name}, near(name, sets) or sets[:TOLD])


def near(name: str, known: Collection[str]) -> list[str]:
    """The known names that are, or have a word, most like this one, best first."""
    likeness = {one: _likeness(name.casefold(), one.casefold()) for one in known}
    likely = sorted((-share, one) for one, share in likeness.items() if share >= LIKELY)
    return [one for _share, one in likely[:NEAR]]


def _likeness(asked: str, known: str) -> float:
    return max(SequenceMatcher(None, asked, part).ratio() for part in (known, *known.split()))


def _told(reason: str, names: Collection[str]) -> str:
    if not names:
        return reason
    return reason + " " + _("Known are: %(names)s.") % {"names": ", ".join(names)}
