"""Which reported models a requested name takes."""

import pytest

from scheduling.engine.modelnames import matches

YES = [
    ("nvidia-a100", "NVIDIA A100-SXM4-80GB"),
    ("nvidia-a100", "NVIDIA A100 80GB PCIe"),
    ("nvidia-a100", "A100-SXM4-40GB"),
    ("A100", "NVIDIA A100-SXM4-80GB"),
    ("a100-80gb", "NVIDIA A100-SXM4-80GB"),
    ("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"),
    ("nvidia-v100", "Tesla V100-SXM2-32GB"),
    ("nvidia-t4", "Tesla T4"),
    ("huawei-ascend", "Ascend 910B3"),
    ("huawei-ascend", "910B3"),
    ("huawei-ascend", "Ascend910"),
    ("ascend-910b3", "Huawei Ascend 910B3"),
    ("ascend910b3", "Ascend 910B3"),
    ("nvidia", "NVIDIA A10"),
    ("nvidia", "Tesla T4"),
    ("cambricon-mlu370", "MLU370-X8"),
    ("mlu370x8", "MLU370-X8"),
    ("rtx-3090", "NVIDIA GeForce RTX3090"),
    ("a100-mig", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"),
    ("910b3-vnpu", "910B3 vNPU vir04"),
]
NO = [
    ("a10", "NVIDIA A100-SXM4-80GB"),
    ("a100", "NVIDIA A10"),
    ("v100", "V1000"),
    ("t4", "NVIDIA T400"),
    ("a100", "NVIDIA A1000"),
    ("910b3", "910B3 vNPU vir04"),
    ("mi300x", "AMD Instinct MI300X slice 2"),
    ("amd-a100", "NVIDIA A100-SXM4-80GB"),
    ("nvidia-a100", "Tesla V100-SXM2-32GB"),
    ("huawei-ascend", "NVIDIA A100-SXM4-80GB"),
    ("huawei", "MLU370-X8"),
    ("nvidia", "Ascend 910B3"),
    ("nvidia", "unheard-of"),
    ("ascend-910b", "Ascend 910B3"),
    ("a100-40gb", "NVIDIA A100-SXM4-80GB"),
    ("nvidia-a100", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"),
    ("nvidia-a100", None),
    ("", "NVIDIA A100"),
    ("---", "NVIDIA A100"),
]


@pytest.mark.parametrize(("requested", "reported"), YES)
def test_takes(requested: str, reported: str) -> None:
    assert matches(requested, reported)


@pytest.mark.parametrize(("requested", "reported"), NO)
def test_does_not_take(requested: str, reported: str | None) -> None:
    assert not matches(requested, reported)
