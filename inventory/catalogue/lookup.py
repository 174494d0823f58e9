"""Reads the catalogue and finds the entry of a reported model."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import yaml

from agent.protocol import Vendor

FILE = Path(__file__).with_name("models.yaml")
_WORD = re.compile(r"[a-z0-9]+")
_MARKS = re.compile(r"\((?:r|tm)\)")
_BRACKETS = re.compile(r"\[([^\]]+)\]")
_CUT_OFF = re.compile(r"(.*?)\s*(?:\.{2,}|\u2026)")
_MAKERS = frozenset(
    {
        "nvidia",
        "tesla",
        "huawei",
        "ascend",
        "amd",
        "ati",
        "instinct",
        "cambricon",
        "hygon",
        "dcu",
        "moore",
        "threads",
    }
    | {"iluvatar", "corex", "metax", "tenstorrent"}
)
# What drivers add to a model's name that tells nothing of the model.
_NOISE: Mapping[str, frozenset[str]] = {
    Vendor.NVIDIA: frozenset({"grid"}),
    Vendor.AMD: frozenset({"radeontm", "oam", "ac", "mba", "mcm", "vf"}),
    Vendor.TENSTORRENT: frozenset({"wormhole", "blackhole", "grayskull"}),
}


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model. `names` are what drivers call it; `tflops` are dense peaks by precision, as models.yaml says; null
    where unknown.
    """

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
    """The entry of a reported name, None for an unknown model or a name that several share.

    Names are compared without case, blanks, punctuation, makers' words and what a driver adds about form; of
    `chip [model]` the brackets count as well, and of a name that a tool cut off (`NVIDIA A100-SXM...`) its beginning.
    """
    return None if model is None else _find(vendor, model)


@functools.lru_cache(maxsize=4096)
def _find(vendor: str, model: str) -> CatalogueEntry | None:
    known = _by_name().get(vendor, {})
    for name in (model, *_BRACKETS.findall(model)):
        for key in _keys(vendor, name):
            if key in known:
                return known[key]
    cut_off = _CUT_OFF.fullmatch(model.strip())
    return None if cut_off is None else _only(known, _keys(vendor, cut_off.group(1))[-1])


def _only(known: Mapping[str, CatalogueEntry], start: str) -> CatalogueEntry | None:
    """The entry whose names alone begin like this."""
    found = {entry.name: entry for name, entry in known.items() if start and name.startswith(start)}
    return next(iter(found.values())) if len(found) == 1 else None


@functools.cache
def _by_name() -> Mapping[str, Mapping[str, CatalogueEntry]]:
    known: dict[str, dict[str, CatalogueEntry]] = {}
    for entry in entries():
        for name in entry.names:
            known.setdefault(entry.vendor, {})[_normal(entry.vendor, name)] = entry
    return known


def _normal(vendor: str, name: str) -> str:
    words = _WORD.findall(_MARKS.sub("", name.casefold()))
    noise = _MAKERS | _NOISE.get(vendor, frozenset())
    return "".join(word for word in words if word not in noise)


def _keys(vendor: str, name: str) -> tuple[str, ...]:
    """What to look for: of an Ascend first the whole, as `Ascend910` is another chip than `910A`, then its number."""
    whole = _normal(vendor, name)
    return (whole, whole.removeprefix("ascend")) if vendor == Vendor.ASCEND else (whole,)
