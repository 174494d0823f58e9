"""The policy in force: its number is read on every use, its document parsed once per number."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from controlplane.policy.document import PolicyDocument
from controlplane.policy.models import PolicyVersion
from controlplane.policy.reading import read_document

# A document that leaves everything to the defaults.
NOTHING_SAID = "scheduler: {}\n"


@dataclass(frozen=True, slots=True)
class ActivePolicy:
    """The active version; number 0 with all defaults while no version was ever activated."""

    number: int
    document: PolicyDocument


def active_policy() -> PolicyDocument:
    """The active document, complete with defaults. One query."""
    return active_version().document


def active_version() -> ActivePolicy:
    """The active document with its number. One query."""
    row = PolicyVersion.objects.filter(active=True).values_list("pk", "number").first()
    return ActivePolicy(row[1], _document(row[0])) if row else ActivePolicy(0, _document(None))


def active_text() -> tuple[int, str]:
    """Number and text of the active version; 0 and a document that says nothing while there is none. One query."""
    row = PolicyVersion.objects.filter(active=True).values_list("number", "document").first()
    return row or (0, NOTHING_SAID)


def document_of(key: int | None) -> PolicyDocument:
    """The document of the version with this primary key; the defaults for None. No query once it was read."""
    return _document(key)


@functools.lru_cache(maxsize=8)
def _document(key: int | None) -> PolicyDocument:
    # A version is never edited, so its key is enough.
    if key is None:
        return read_document(NOTHING_SAID)
    return read_document(PolicyVersion.objects.values_list("document", flat=True).get(pk=key))
