"""Device models: what their makers say of them, and what devices of unknown ones report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Max

from inventory import catalogue
from inventory.catalogue.lookup import CatalogueEntry
from inventory.models import Device, DeviceHealth


def device_models(*, vendor: str | None = None, present: bool = False) -> list[dict[str, Any]]:
    """Every model of the catalogue and every other that devices here report, by vendor and name. One query."""
    counts: Counter[str] = Counter()
    unknown: list[dict[str, Any]] = []
    for row in _reported():
        entry = catalogue.find(row["vendor"], row["model"])
        if entry is None:
            unknown.append(_measured(row))
        else:
            counts[entry.name] += row["devices"]
    known = [_described(entry, counts[entry.name]) for entry in catalogue.entries()]
    found = [
        model
        for model in [*known, *unknown]
        if vendor in (None, model["vendor"]) and (model["devices"] or not present)
    ]
    return sorted(found, key=lambda model: (model["vendor"], model["name"]))


def _reported() -> Sequence[Mapping[str, Any]]:
    rows = Device.objects.filter(parent=None, model__isnull=False).exclude(health=DeviceHealth.MISSING)
    return list(
        rows.order_by()
        .values("vendor", "model")
        .annotate(devices=Count("id"), memory_mib=Max("memory_total_mib"), compute_units=Max("compute_units"))
    )


def _described(entry: CatalogueEntry, devices: int) -> dict[str, Any]:
    return {
        "name": entry.name,
        "vendor": entry.vendor.value,
        "names": list(entry.names),
        "memory_mib": entry.memory_mib,
        "compute_units": entry.compute_units,
        "tdp_w": entry.tdp_w,
        "tflops": dict(entry.tflops),
        "interconnect": entry.interconnect,
        "source": entry.source,
        "devices": devices,
    }


def _measured(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": row["model"],
        "vendor": row["vendor"],
        "names": [row["model"]],
        "memory_mib": row["memory_mib"],
        "compute_units": row["compute_units"],
        "tdp_w": None,
        "tflops": {},
        "interconnect": None,
        "source": None,
        "devices": row["devices"],
    }
