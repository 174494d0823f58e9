"""How a job's devices are given to its container: by CDI name, by the vendor's variable, or as device nodes. Pure but
for the look at which nodes there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from agent.protocol import AssignedDevice, Vendor

CDI_KIND = "nvidia.com/gpu"
CDI_FOLDERS = ("etc/cdi", "var/run/cdi")


class NvidiaStyle(StrEnum):
    """How NVIDIA's container toolkit is asked."""

    CDI = "cdi"
    GPUS = "gpus"
    ENVIRONMENT = "environment"


@dataclass(frozen=True)
class Nodes:
    """A vendor's device nodes: `{n}` is the device's number. `control` ones are shared by all of its devices; `render`:
    the device is reached through its DRM render node; `driver` folders are mounted read-only.
    """

    each: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    render: bool = False
    driver: tuple[str, ...] = ()


NODES: Mapping[Vendor, Nodes] = {
    Vendor.ASCEND: Nodes(
        each=("/dev/davinci{n}",),
        control=("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"),
        driver=("/usr/local/Ascend/driver", "/usr/local/dcmi", "/etc/ascend_install.info"),
    ),
    Vendor.AMD: Nodes(control=("/dev/kfd",), render=True),
    Vendor.HYGON: Nodes(control=("/dev/kfd", "/dev/mkfd"), render=True, driver=("/opt/hyhal",)),
    Vendor.CAMBRICON: Nodes(
        each=("/dev/cambricon_dev{n}", "/dev/cambricon_ipcm{n}"), control=("/dev/cambricon_ctl",)
    ),
    Vendor.MTHREADS: Nodes(each=("/dev/mtgpu.{n}",), render=True),
    Vendor.ILUVATAR: Nodes(each=("/dev/iluvatar{n}",)),
    Vendor.METAX: Nodes(control=("/dev/mxcd",), render=True),
    Vendor.TENSTORRENT: Nodes(each=("/dev/tenstorrent/{n}",), driver=("/dev/hugepages-1G",)),
}


def nvidia_style(engine: str, root: Path = Path("/")) -> NvidiaStyle:
    """CDI where its specification names NVIDIA's devices, else what the engine's own way is."""
    for folder in CDI_FOLDERS:
        for path in sorted((root / folder).glob("*.*")):
            try:
                if CDI_KIND in path.read_text(encoding="utf-8", errors="replace"):
                    return NvidiaStyle.CDI
            except OSError:
                continue
    return NvidiaStyle.GPUS if engine == "docker" else NvidiaStyle.ENVIRONMENT


def device_options(
    devices: Sequence[AssignedDevice], style: NvidiaStyle, *, root: Path = Path("/")
) -> list[str]:
    """Options of `create` for these devices; FileNotFoundError where a device has no node here."""
    nvidia = [device for device in devices if device.vendor is Vendor.NVIDIA]
    options = _nvidia([device.uuid or str(device.index) for device in nvidia], style) if nvidia else []
    groups: set[int] = set()
    for vendor, own in _others(devices).items():
        options += _nodes(NODES[vendor], own, root, groups)
    return options + [f"--group-add={group}" for group in sorted(groups)]


def counted_anew(devices: Sequence[AssignedDevice]) -> list[AssignedDevice]:
    """The devices as numbered inside, where only the job's own exist and each vendor counts from 0."""
    seen: dict[Vendor, int] = {}
    found = []
    for device in sorted(devices, key=lambda device: device.index):
        number = seen.get(device.vendor, 0)
        seen[device.vendor] = number + 1
        found.append(
            AssignedDevice(
                vendor=device.vendor,
                index=number,
                uuid=device.uuid,
                pci_bus_id=device.pci_bus_id,
                memory_mib=device.memory_mib,
                compute_milli=device.compute_milli,
            )
        )
    return found


def _nvidia(names: Sequence[str], style: NvidiaStyle) -> list[str]:
    if style is NvidiaStyle.CDI:
        return [f"--device={CDI_KIND}={name}" for name in names]
    if style is NvidiaStyle.GPUS:
        return [f'--gpus="device={",".join(names)}"']
    return [
        f"--env=NVIDIA_VISIBLE_DEVICES={','.join(names)}",
        "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    ]


def _others(devices: Sequence[AssignedDevice]) -> dict[Vendor, list[AssignedDevice]]:
    found: dict[Vendor, list[AssignedDevice]] = {}
    for device in devices:
        if device.vendor in NODES:
            found.setdefault(device.vendor, []).append(device)
    return found


def _nodes(nodes: Nodes, devices: Sequence[AssignedDevice], root: Path, groups: set[int]) -> list[str]:
    def node(path: str) -> str:
        status = os.stat(root / path.lstrip("/"))
        if status.st_mode & 0o006 != 0o006 and status.st_gid != 0:
            groups.add(status.st_gid)
        return f"--device={path}"

    there: Callable[[str], bool] = lambda path: (root / path.lstrip("/")).exists()  # noqa: E731
    options = [node(path) for path in nodes.control if there(path)]
    for device in devices:
        # The first node is the device itself: without it there is nothing to start on.
        first, *more = [text.format(n=device.index) for text in nodes.each] or [_render(device, root)]
        options.append(node(first))
        options += [node(path) for path in more if there(path)]
        if nodes.render and nodes.each:
            options.append(node(_render(device, root)))
    return options + [
        f"--mount=type=bind,src={path},dst={path},readonly" for path in nodes.driver if there(path)
    ]


def _render(device: AssignedDevice, root: Path) -> str:
    link = root / f"dev/dri/by-path/pci-{device.pci_bus_id}-render"
    return f"/dev/dri/{os.path.basename(os.readlink(link))}"
