"""Tells a reboot from a second live machine with the same identity, and a late report from another life."""

from __future__ import annotations

from enum import StrEnum

from inventory.models import Node, NodeContact, RetiredBoot
from inventory.node_states import quarantine_duplicate

# A report within so many of the last one was merely long under way.
LATE_REPORTS = 100


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
    contact.boot_id, contact.seq, contact.late_seq = boot_id, 0, None
    return Boot.NEW


def is_news(contact: NodeContact, seq: int) -> bool:
    """Whether a report of the same boot says something new; `contact` is locked, and saved by the caller.

    Numbers grow over restarts of the agent, so one far below the last is either a very late report, which no second
    one follows, or another life of the machine, such as a restored snapshot, which goes on from there and is heard
    from its second report on.
    """
    far_below = seq <= contact.seq - LATE_REPORTS
    another_life = far_below and contact.late_seq is not None and contact.late_seq < seq
    if seq > contact.seq or another_life:
        contact.late_seq = None
        return True
    if far_below:
        contact.late_seq = seq
    return False


def forget_boots(node: Node) -> None:
    """After a release the next machine that reports is the node; should both still live, they are noticed again."""
    RetiredBoot.objects.filter(node=node).delete()
    NodeContact.objects.filter(node=node).update(boot_id="", seq=0, late_seq=None)
