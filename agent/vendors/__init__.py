"""Accelerators of every vendor; one module or package each, listed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent.protocol import Vendor
from agent.vendors import amd, ascend, cambricon, cpu, hygon, iluvatar, metax, mthreads, nvidia, tenstorrent
from agent.vendors.base import CPU, Probe, Readout
from agent.vendors.reading.captures import tidied

PROBES: Mapping[Vendor, type[Probe]] = {
    Vendor.NVIDIA: nvidia.NvidiaProbe,
    Vendor.ASCEND: ascend.AscendProbe,
    Vendor.AMD: amd.AmdProbe,
    Vendor.CAMBRICON: cambricon.CambriconProbe,
    Vendor.HYGON: hygon.HygonProbe,
    Vendor.MTHREADS: mthreads.MthreadsProbe,
    Vendor.ILUVATAR: iluvatar.IluvatarProbe,
    Vendor.METAX: metax.MetaxProbe,
    Vendor.TENSTORRENT: tenstorrent.TenstorrentProbe,
}

# What reads captured text; the host's processors have a parser, too.
PARSERS: Mapping[str, Callable[[str], Readout]] = {
    **{vendor.value: tidied(probe.parse) for vendor, probe in PROBES.items()},
    CPU: tidied(cpu.parse),
}
