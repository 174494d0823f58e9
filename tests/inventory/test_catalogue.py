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
        assert entry.tdp_w is None or "(one of" not in entry.name, entry.name
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
        ("cambricon", "MLU370X8", "Cambricon MLU370-X8 (one of two chips)"),
        ("hygon", "K100_AI", "Hygon DCU K100-AI"),
        ("iluvatar", "Iluvatar MR-V100", "Iluvatar MR-V100"),
        ("metax", "MXC500", "MetaX C500"),
        ("mthreads", "MTT S4000", "Moore Threads MTT S4000"),
        ("tenstorrent", "Wormhole n300 L", "Tenstorrent Wormhole n300 (one of two chips)"),
        ("nvidia", "NVIDIA B200", "NVIDIA B200 SXM 180 GB"),
        ("nvidia", "NVIDIA B300 SXM6 AC", "NVIDIA B300 SXM 288 GB"),
        ("nvidia", "NVIDIA GB200", "NVIDIA GB200 186 GB"),
        ("nvidia", "NVIDIA GB300", "NVIDIA GB300 279 GB"),
        ("nvidia", "NVIDIA H200", "NVIDIA H200 SXM 141 GB"),
        ("nvidia", "NVIDIA H200 NVL", "NVIDIA H200 NVL 141 GB"),
        ("nvidia", "NVIDIA H100 PCIe", "NVIDIA H100 PCIe 80 GB"),
        ("nvidia", "NVIDIA H20", "NVIDIA H20 96 GB"),
        ("nvidia", "NVIDIA H20-3e", "NVIDIA H20 141 GB"),
        ("nvidia", "NVIDIA L20", "NVIDIA L20"),
        ("nvidia", "NVIDIA A10G", "NVIDIA A10G"),
        ("nvidia", "NVIDIA A800-SXM4-80GB", "NVIDIA A800 SXM4 80 GB"),
        ("nvidia", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 6000 Blackwell Server"),
        (
            "nvidia",
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            "NVIDIA RTX PRO 6000 Blackwell Workstation",
        ),
        ("nvidia", "NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX 6000 Ada"),
        ("nvidia", "Quadro RTX 6000", "NVIDIA Quadro RTX 6000"),
        ("nvidia", "NVIDIA GeForce RTX 5090 D", "NVIDIA GeForce RTX 5090 D"),
        ("ascend", "910B4", "Huawei Ascend 910B4 32 GB"),
        ("ascend", "910B4-1", "Huawei Ascend 910B4-1 64 GB"),
        ("ascend", "Ascend910B4-1", "Huawei Ascend 910B4-1 64 GB"),
        ("ascend", "Ascend 910B2", "Huawei Ascend 910B2 64 GB"),
        ("ascend", "Ascend910", "Huawei Ascend 910C (one of two dies)"),
        ("ascend", "910_9362", "Huawei Ascend 910C (one of two dies)"),
        ("ascend", "Ascend910_9392", "Huawei Ascend 910C (one of two dies)"),
        ("ascend", "310P3", "Huawei Ascend 310P3"),
        ("ascend", "Ascend310", "Huawei Ascend 310"),
        ("amd", "AMD Instinct MI300X VF", "AMD Instinct MI300X"),
        ("amd", "Aqua Vanjaram [Instinct MI300X]", "AMD Instinct MI300X"),
        ("amd", "0x74a1", "AMD Instinct MI300X"),
        ("amd", "0x74B5", "AMD Instinct MI300X"),
        ("amd", "AMD Instinct MI300A", "AMD Instinct MI300A"),
        ("amd", "AMD Instinct MI325X", "AMD Instinct MI325X"),
        ("amd", "AMD Instinct MI350X", "AMD Instinct MI350X"),
        ("amd", "AMD Instinct MI355X", "AMD Instinct MI355X"),
        ("amd", "AMD Instinct MI210", "AMD Instinct MI210"),
        ("amd", "0x740f", "AMD Instinct MI210"),
        ("amd", "Radeon RX 7900 XTX", "AMD Radeon RX 7900 XTX"),
        ("cambricon", "MLU370-X4", "Cambricon MLU370-X4"),
        ("cambricon", "MLU290-M5", "Cambricon MLU290-M5"),
        ("cambricon", "MLU590-M9", "Cambricon MLU590-M9"),
        ("hygon", "K100", "Hygon DCU K100"),
        ("hygon", "BW1000", "Hygon DCU BW1000"),
        ("iluvatar", "Iluvatar BI-V150", "Iluvatar BI-V150 (one of two chips)"),
        ("iluvatar", "BI-V100", "Iluvatar BI-V100"),
        ("metax", "MXC550", "MetaX C550"),
        ("metax", "MetaX C500", "MetaX C500"),
        ("mthreads", "MTT S5000", "Moore Threads MTT S5000"),
        ("mthreads", "MTT S80", "Moore Threads MTT S80"),
        ("tenstorrent", "n300 L", "Tenstorrent Wormhole n300 (one of two chips)"),
        ("tenstorrent", "n300", "Tenstorrent Wormhole n300"),
        ("tenstorrent", "n150 L", "Tenstorrent Wormhole n150"),
        ("tenstorrent", "p150a", "Tenstorrent Blackhole p150"),
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
        ("ascend", "910"),
        ("ascend", "Ascend"),
        ("ascend", "910B2C"),
        ("ascend", "310P1"),
        ("nvidia", "NVIDIA H20-4e"),
        ("nvidia", "NVIDIA L200"),
        ("nvidia", "NVIDIA RTX 6000"),
        ("nvidia", "NVIDIA RTX PRO 6000 Blackwell"),
        ("nvidia", "NVIDIA RTX PRO 6000 Bl..."),
        ("nvidia", "ERR!"),
        ("amd", "0x1002"),
        ("amd", "0x740c"),
        ("amd", "Vega 20"),
        ("amd", "AMD Instinct MI60 / MI50"),
        ("amd", "Aldebaran/MI200 [Instinct MI250X/MI250]"),
        ("amd", "AMD Radeon Graphics"),
        ("amd", "AMD Instinct MI308X"),
        ("cambricon", "MLU370"),
        ("cambricon", "MLU590-H8"),
        ("hygon", "BW"),
        ("hygon", "BW1100"),
        ("iluvatar", "BI-V150S"),
        ("metax", "MXC600"),
        ("mthreads", "MTT S90"),
        ("mthreads", "S4000"),
        ("tenstorrent", "n300 M"),
        ("tenstorrent", "p300c L"),
        ("tenstorrent", "Blackhole"),
    ],
)
def test_what_is_unknown_or_could_be_several_is_not_guessed(vendor, reported):
    assert name_of(vendor, reported) is None
