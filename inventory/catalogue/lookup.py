"""Reads the catalogue and finds the entry of a reported model."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import msgspec
import yaml

from agent.protocol import Vendor

FILE = Path(__file__).with_name("models.yaml")


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model. `names` are what drivers call it; `tflops` are dense peaks by precision; null where unknown."""

    name: str
    vendor: Vendor
    names: list[str]
    source: str
    memory_mib: int | None = None
    compute_units: int | None = None
    tdp_w: int | None = None
    tflops: dict[str, float] = {}
    interconnect: str | None = None


@functools.cache
def entries() -> tuple[CatalogueEntry, ...]:
    """All models."""
    return tuple(msgspec.convert(yaml.safe_load(FILE.read_text(encoding="utf-8")), list[CatalogueEntry]))


def find(vendor: str, model: str | None) -> CatalogueEntry | None:
    """The entry with the whole reported name, apart from case and blanks; None for an unknown model."""
    return None if model is None else _by_name().get((vendor, _normal(model)))


@functools.cache
def _by_name() -> Mapping[tuple[str, str], CatalogueEntry]:
    return {(entry.vendor.value, _normal(name)): entry for entry in entries() for name in entry.names}


def _normal(name: str) -> str:
    return " ".join(name.casefold().split())
