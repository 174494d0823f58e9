"""How large images are: told by the nodes that have them, asked by whoever would send a job to one that has not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from inventory.images.names import canonical
from inventory.models import Image


def note_sizes(stored: Iterable[Mapping[str, Any]]) -> None:
    """Keep the sizes of a node's images (`stored_images` of its facts); of one that nodes tell differently the
    largest.
    """
    told: dict[str, int | None] = {}
    for image in stored:
        name, size_mib = canonical(image["name"]), image["size_mib"]
        told[name] = max(told.get(name) or 0, size_mib or 0) or None
    known = dict(Image.objects.filter(name__in=told).values_list("name", "size_mib"))
    news = [
        Image(name=name, size_mib=told[name])
        for name in sorted(told)  # the order in which transactions lock them
        if name not in known or (told[name] or 0) > (known[name] or 0)
    ]
    if news:
        Image.objects.bulk_create(
            news, update_conflicts=True, unique_fields=["name"], update_fields=["size_mib"]
        )


def sizes_of(names: Collection[str]) -> dict[str, int]:
    """Known sizes in MiB, by the names as they were asked; no query without names."""
    if not names:
        return {}
    asked = {name: canonical(name) for name in names}
    rows = Image.objects.filter(name__in=set(asked.values())).values_list("name", "size_mib")
    known = {name: size_mib for name, size_mib in rows if size_mib is not None}
    return {name: known[full] for name, full in asked.items() if full in known}
