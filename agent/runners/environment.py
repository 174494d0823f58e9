"""The environment a job starts with: nothing of the agent's own, the facts of its placement, and only its
devices visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from agent.protocol import AssignedDevice, Assignment, Vendor

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# NVIDIA's own identities; ROCm's runtime knows a device as GPU- and the 16 digits of its unique id.
UUIDS: Mapping[Vendor, re.Pattern[str]] = {
    Vendor.NVIDIA: re.compile(r"((?:GPU|MIG)-\S+)"),
    Vendor.AMD: re.compile(r"(?:GPU-|0x)([0-9a-fA-F]{1,16})|([0-9a-fA-F]{16})"),
}
VISIBLE: Mapping[Vendor, tuple[str, ...]] = {
    Vendor.NVIDIA: ("CUDA_VISIBLE_DEVICES",),
    Vendor.ASCEND: ("ASCEND_RT_VISIBLE_DEVICES",),
    Vendor.AMD: ("ROCR_VISIBLE_DEVICES",),
    Vendor.CAMBRICON: ("MLU_VISIBLE_DEVICES",),
    Vendor.HYGON: ("HIP_VISIBLE_DEVICES",),
    Vendor.MTHREADS: ("MUSA_VISIBLE_DEVICES",),
    Vendor.ILUVATAR: ("CUDA_VISIBLE_DEVICES",),
    Vendor.METAX: ("MACA_VISIBLE_DEVICES",),
    Vendor.TENSTORRENT: ("TT_VISIBLE_DEVICES", "TT_METAL_VISIBLE_DEVICES"),
}
# What a vendor's runtime, or frameworks built for it, read beside the vendor's own: an empty list there hides the
# devices that the vendor's own variable shows, and a list of numbers would count among these.
ALSO_READ: Mapping[Vendor, tuple[str, ...]] = {
    Vendor.AMD: ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    Vendor.HYGON: ("ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    Vendor.METAX: ("CUDA_VISIBLE_DEVICES",),
}
ALL_NAMES = frozenset(name for names in VISIBLE.values() for name in names)


def job_environment(
    assignment: Assignment, *, home: str, devices: Sequence[AssignedDevice] | None = None
) -> dict[str, str]:
    """What the job asked for over a fixed base; facts and visible devices cannot be overridden by it. `devices` = as
    they are numbered where the job runs.
    """
    base = {
        "PATH": PATH,
        "HOME": home,
        "TMPDIR": f"{home}/tmp",
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    own = {name: value for name, value in assignment.env.items() if name not in ALL_NAMES}
    seen = assignment.devices if devices is None else devices
    return base | own | visible_devices(seen) | facts(assignment)


def visible_devices(devices: Iterable[AssignedDevice]) -> dict[str, str]:
    """Every vendor's variable, empty where the job has no such device, so that it sees none of them; one that would
    hide the job's own devices is left out.
    """
    by_vendor: dict[Vendor, list[AssignedDevice]] = {}
    for device in devices:
        by_vendor.setdefault(device.vendor, []).append(device)
    unset = {name for vendor in by_vendor for name in ALSO_READ.get(vendor, ())}
    shown = dict.fromkeys(sorted(ALL_NAMES - unset), "")
    for vendor, own in by_vendor.items():
        shown |= dict.fromkeys(VISIBLE[vendor], ",".join(_labels(vendor, own)))
    return shown


def _labels(vendor: Vendor, devices: list[AssignedDevice]) -> list[str]:
    """Identities where the vendor's runtime takes them and all devices have one, otherwise numbers; never mixed.

    Ascend reads its list only as far as the numbers rise.
    """
    known = UUIDS.get(vendor)
    matches = [known.fullmatch(device.uuid or "") if known else None for device in devices]
    if all(matches):
        names = [match.group(match.lastindex or 0) for match in matches if match]
        return [f"GPU-{name.lower():0>16}" for name in names] if vendor is Vendor.AMD else names
    numbers = [device.index for device in devices]
    return [str(number) for number in (sorted(numbers) if vendor is Vendor.ASCEND else numbers)]


def facts(assignment: Assignment) -> dict[str, str]:
    """HEADRACE_* variables; lists are comma-separated, unknown is left out."""
    loader = sorted(assignment.loader_cpus)
    values = {
        "HEADRACE_JOB": str(assignment.job),
        "HEADRACE_ATTEMPT": str(assignment.attempt),
        "HEADRACE_PLACEMENT": str(assignment.placement),
        "HEADRACE_CPUS": join(cpu for cpu in sorted(assignment.cpus) if cpu not in loader),
        "HEADRACE_LOADER_CPUS": join(loader),
        "HEADRACE_DEVICES": join(
            device.uuid or device.pci_bus_id or device.index for device in assignment.devices
        ),
        "HEADRACE_DEVICE_MEMORY_MIB": join(device.memory_mib for device in assignment.devices),
    }
    if assignment.memory_mib is not None:
        values["HEADRACE_MEMORY_MIB"] = str(assignment.memory_mib)
    return values


def join(values: Iterable[object]) -> str:
    """Comma-separated."""
    return ",".join(str(value) for value in values)
