"""Tells a reboot from a second live machine with the same identity."""

from __future__ import annotations

from enum import StrEnum

from inventory.models import Node, NodeContact, RetiredBoot
from inventory.node_states import quarantine_duplicate


class Boot(StrEnum):
    """What the boot id of a report says."""

    SAME = "same"
    NEW = "new"
    DUPLICATE = "duplicate"


def meet_boot(node: Node, contact: NodeContact, boot_id: str) -> Boot:
    """Compares a report's boot id with the node's; `contact` is locked.

    A retired boot that speaks again quarantines the node.
    """
    if boot_id == contact.boot_id:
        return Boot.SAME
    if RetiredBoot.objects.filter(node=node, boot_id=boot_id).exists():
        quarantine_duplicate(node, {"boots": sorted([boot_id, contact.boot_id])})
        return Boot.DUPLICATE
    if contact.boot_id:
        RetiredBoot.objects.get_or_create(node=node, boot_id=contact.boot_id)
    contact.boot_id, contact.seq = boot_id, 0
    return Boot.NEW


def forget_boots(node: Node) -> None:
    """After a release the next machine that reports is the node; should both still live, they are noticed again."""
    RetiredBoot.objects.filter(node=node).delete()
    NodeContact.objects.filter(node=node).update(boot_id="", seq=0)
