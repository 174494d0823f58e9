"""The catalogue of device models, and how a reported name finds its entry."""

from __future__ import annotations

from collections import Counter

import pytest

from agent.protocol import Vendor
from inventory import catalogue
from inventory.catalogue.lookup import _normal

PRECISIONS = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4"}


def name_of(vendor: str, model: str | None) -> str | None:
    entry = catalogue.find(vendor, model)
    return None if entry is None else entry.name


def test_every_vendor_has_models_and_every_model_a_source():
    assert {entry.vendor for entry in catalogue.entries()} == set(Vendor)
    assert len(catalogue.entries()) >= 100
    assert all(len(entry.source) > 10 and entry.names for entry in catalogue.entries())


def test_no_two_models_answer_to_one_name():
    names = Counter(
        (entry.vendor, _normal(entry.vendor, name)) for entry in catalogue.entries() for name in entry.names
    )
    assert [name for name, count in names.items() if count > 1] == []
    assert max(Counter(entry.name for entry in catalogue.entries()).values()) == 1


def test_every_model_is_found_by_each_of_its_names():
    for entry in catalogue.entries():
        for name in entry.names:
            assert catalogue.find(entry.vendor, name) == entry, name


def test_figures_can_be_true():
    for entry in catalogue.entries():
        assert set(entry.tflops) <= PRECISIONS, entry.name
        assert all(value > 0 for value in entry.tflops.values()), entry.name
        assert entry.memory_mib is None or 4096 <= entry.memory_mib <= 512 * 1024, entry.name
        assert entry.tdp_w is None or 5 <= entry.tdp_w <= 2000, entry.name
        halves = [entry.tflops[name] for name in ("fp16", "fp8", "fp4") if name in entry.tflops]
        assert halves == sorted(halves), entry.name


@pytest.mark.parametrize(
    ("vendor", "reported", "name"),
    [
        ("nvidia", "nvidia  a100-sxm4-80gb", "NVIDIA A100 SXM4 80 GB"),
        ("nvidia", "A100-SXM4-40GB", "NVIDIA A100 SXM4 40 GB"),
        ("nvidia", "Tesla T4", "NVIDIA T4"),
        ("nvidia", "GeForce RTX 3090", "NVIDIA GeForce RTX 3090"),
        ("nvidia", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("nvidia", "NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM 80 GB"),
        ("nvidia", "NVIDIA GeForce RTX 2080 S...", "NVIDIA GeForce RTX 2080 SUPER"),
        ("ascend", "Ascend910B3", "Huawei Ascend 910B3 64 GB"),
        ("ascend", "910PremiumA", "Huawei Ascend 910 32 GB"),
        ("amd", "AMD INSTINCT MI250 (MCM) OAM AC MBA", "AMD Instinct MI250 (one of two dies)"),
        ("amd", "Arcturus GL-XL [Instinct MI100]", "AMD Instinct MI100"),
        ("amd", "Instinct MI50 32GB", "AMD Instinct MI50 32 GB"),
        ("cambricon", "MLU370X8", "Cambricon MLU370-X8"),
        ("hygon", "K100_AI", "Hygon DCU K100-AI"),
        ("iluvatar", "Iluvatar MR-V100", "Iluvatar MR-V100"),
        ("metax", "MXC500", "MetaX C500"),
        ("mthreads", "MTT S4000", "Moore Threads MTT S4000"),
        ("tenstorrent", "Wormhole n300 L", "Tenstorrent Wormhole n300 (one of two chips)"),
    ],
)
def test_names_are_found_as_drivers_and_tools_spell_them(vendor, reported, name):
    assert name_of(vendor, reported) == name


@pytest.mark.parametrize(
    ("vendor", "reported"),
    [
        ("nvidia", None),
        ("nvidia", ""),
        ("nvidia", "..."),
        ("nvidia", "A100"),
        ("nvidia", "NVIDIA A100-SXM..."),
        ("nvidia", "NVIDIA A100-SXM4-80GB MIG 3g.40gb"),
        ("nvidia", "NVIDIA A1000"),
        ("amd", "Tesla T4"),
        # A 910A of older firmware calls itself so, too.
        ("ascend", "910B"),
    ],
)
def test_what_is_unknown_or_could_be_several_is_not_guessed(vendor, reported):
    assert name_of(vendor, reported) is None
