"""What operators order by hand: an image on these nodes now, or gone from them; each node with its own outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext_lazy as _

from controlplane.base.problems import Problem, Text
from controlplane.policy.active import active_policy
from inventory.images import pushes
from inventory.images.names import canonical, spellings
from inventory.models import ImagePush, Node, NodeState, PushState, PushWhy, RemoteHost


class ImageOrder(StrEnum):
    """What may be ordered."""

    WARM = "warm"
    PRUNE = "prune"


TEXTS: dict[str, Text] = {
    "no-such-node": _("There is no such node."),
    "takes-no-images": _("This node fetches none: it is not ready, only observed, simulated or without an engine."),
    "ssh-fetch-off": _("It has no agent, and nobody said that images may be fetched there over SSH."),
    "already-there": _("The image is there already."),
    "being-fetched": _("It is being fetched. Order again once that has ended."),
    "not-ours": _("Headrace did not fetch it here, so it stays."),
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of an order on one node; `code` says why nothing did."""

    node: int
    node_name: str | None
    changed: bool
    code: str | None = None

    @property
    def text(self) -> str | None:
        """The code in words."""
        return None if self.code is None else str(TEXTS[self.code])


def order(what: ImageOrder, image: str, nodes: Sequence[int]) -> list[Outcome]:
    """Carry out an order on nodes (ids), one outcome each; Problem 409 `warming-off` where the policy forbids it."""
    name = canonical(image)
    found = {node.pk: node for node in Node.objects.filter(pk__in=nodes)}
    if what is ImageOrder.WARM:
        return _warm(name, nodes, found)
    return _prune(name, nodes, found)


def _warm(name: str, nodes: Sequence[int], found: dict[int, Node]) -> list[Outcome]:
    if not active_policy().images.enabled:
        raise Problem(
            409, "warming-off", message=_("The policy lets no node fetch images ahead (images.enabled).")
        )
    going = ImagePush.objects.filter(node_id__in=nodes, image=name, stage=PushState.PRUNING)
    leaving = set(going.values_list("node_id", flat=True))
    closed = set(RemoteHost.objects.filter(fetches_images=False).values_list("node_id", flat=True))
    codes = {
        node: _why_not(found.get(node), name, leaving=node in leaving, closed=node in closed)
        for node in nodes
    }
    pushes.want([(node, name) for node in nodes if codes[node] is None], here={}, why=PushWhy.PERSON)
    return [_outcome(node, found, codes[node]) for node in nodes]


def _why_not(node: Node | None, name: str, *, leaving: bool, closed: bool) -> str | None:
    if node is None:
        return "no-such-node"
    takes = node.state == NodeState.READY and not node.observe_only and not node.simulated
    if not takes or not node.facts.get("runs_containers"):
        return "takes-no-images"
    if closed:
        return "ssh-fetch-off"
    here = set(node.facts.get("images", ()))
    return "already-there" if here & set(spellings(name)) and not leaving else None


def _prune(name: str, nodes: Sequence[int], found: dict[int, Node]) -> list[Outcome]:
    done = pushes.decline([node for node in nodes if node in found], name)
    running = ImagePush.objects.filter(node_id__in=nodes, image=name, stage=PushState.RUNNING)
    busy = set(running.values_list("node_id", flat=True))
    codes = {
        node: None if node in done else "being-fetched" if node in busy else "not-ours" for node in nodes
    }
    return [_outcome(node, found, codes[node] if node in found else "no-such-node") for node in nodes]


def _outcome(node: int, found: dict[int, Node], code: str | None) -> Outcome:
    row = found.get(node)
    return Outcome(node, row.name if row else None, changed=code is None, code=code)
