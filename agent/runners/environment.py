"""The environment a job starts with: nothing of the agent's own, the facts of its placement, and only its
devices visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent.protocol import AssignedDevice, Assignment, Vendor

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BY_UUID = frozenset({Vendor.NVIDIA, Vendor.ILUVATAR})
VISIBLE: Mapping[Vendor, tuple[str, ...]] = {
    Vendor.NVIDIA: ("CUDA_VISIBLE_DEVICES",),
    Vendor.ASCEND: ("ASCEND_RT_VISIBLE_DEVICES",),
    Vendor.AMD: ("ROCR_VISIBLE_DEVICES",),
    Vendor.CAMBRICON: ("MLU_VISIBLE_DEVICES",),
    Vendor.HYGON: ("HIP_VISIBLE_DEVICES",),
    Vendor.MTHREADS: ("MUSA_VISIBLE_DEVICES",),
    Vendor.ILUVATAR: ("CUDA_VISIBLE_DEVICES",),
    Vendor.METAX: ("MACA_VISIBLE_DEVICES",),
    Vendor.TENSTORRENT: ("TT_VISIBLE_DEVICES",),
}


def job_environment(assignment: Assignment, *, home: str) -> dict[str, str]:
    """What the job asked for over a fixed base; facts and visible devices cannot be overridden by it."""
    base = {
        "PATH": PATH,
        "HOME": home,
        "TMPDIR": f"{home}/tmp",
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    return base | assignment.env | visible_devices(assignment.devices) | facts(assignment)


def visible_devices(devices: Iterable[AssignedDevice]) -> dict[str, str]:
    """Every vendor's variable, empty where the job has no such device, so that it sees none of them."""
    shown: dict[str, list[str]] = {name: [] for names in VISIBLE.values() for name in names}
    for device in devices:
        label = device.uuid if device.vendor in BY_UUID and device.uuid else str(device.index)
        for name in VISIBLE[device.vendor]:
            shown[name].append(label)
    return {name: ",".join(labels) for name, labels in shown.items()}


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
