"""What a job sees of the accelerators: every vendor's variable, in the form that the vendor's runtime reads."""

import pytest

from agent.protocol import AssignedDevice, Vendor
from agent.runners.environment import ALL_NAMES, VISIBLE, visible_devices

ROCM = "GPU-5d1a2b3c4d5e6f70,GPU-02150e7d042a1124"


def device(vendor: Vendor, index: int, uuid: str | None = None) -> AssignedDevice:
    return AssignedDevice(vendor, index, uuid, f"0000:{index:02x}:00.0", 1024, 1000)


@pytest.mark.parametrize(
    ("vendor", "uuids", "variable", "value"),
    [
        (Vendor.NVIDIA, ("GPU-a", "MIG-b"), "CUDA_VISIBLE_DEVICES", "GPU-a,MIG-b"),
        (Vendor.NVIDIA, ("GPU-a", None), "CUDA_VISIBLE_DEVICES", "5,2"),  # never numbers among identities
        (Vendor.ASCEND, (None, None), "ASCEND_RT_VISIBLE_DEVICES", "2,5"),  # rising, or the rest is not read
        (Vendor.AMD, ("0x5D1A2B3C4D5E6F70", "0x2150e7d042a1124"), "ROCR_VISIBLE_DEVICES", ROCM),
        (Vendor.AMD, ("11ff74a5-0000-1000-80aa-bbccddeeff00", None), "ROCR_VISIBLE_DEVICES", "5,2"),
        (Vendor.CAMBRICON, ("91827364-5500", None), "MLU_VISIBLE_DEVICES", "5,2"),
        (Vendor.HYGON, ("7200fb8866900001", "7200fb8866900002"), "HIP_VISIBLE_DEVICES", "5,2"),
        (Vendor.MTHREADS, ("aa97d6e5", "bb97d6e5"), "MUSA_VISIBLE_DEVICES", "5,2"),
        (Vendor.ILUVATAR, ("GPU-a", "GPU-b"), "CUDA_VISIBLE_DEVICES", "5,2"),
        (Vendor.METAX, ("GPU-a", "GPU-b"), "MACA_VISIBLE_DEVICES", "5,2"),
        (Vendor.TENSTORRENT, ("01", "02"), "TT_VISIBLE_DEVICES", "5,2"),
    ],
)
def test_each_vendors_variable(
    vendor: Vendor, uuids: tuple[str | None, str | None], variable: str, value: str
) -> None:
    seen = visible_devices([device(vendor, 5, uuids[0]), device(vendor, 2, uuids[1])])
    assert seen[variable] == value
    assert all(text == "" for name, text in seen.items() if name not in VISIBLE[vendor])


@pytest.mark.parametrize(
    ("vendor", "unset"),
    [
        (Vendor.AMD, {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}),
        (Vendor.HYGON, {"ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}),
        (Vendor.METAX, {"CUDA_VISIBLE_DEVICES"}),
        (Vendor.NVIDIA, set()),
    ],
)
def test_no_variable_hides_the_jobs_own_devices(vendor: Vendor, unset: set[str]) -> None:
    assert ALL_NAMES - set(visible_devices([device(vendor, 0)])) == unset


def test_a_job_without_devices_sees_none() -> None:
    assert visible_devices([]) == dict.fromkeys(ALL_NAMES, "")
