"""Accelerators of every vendor; one module or package each, listed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent.protocol import Vendor
from agent.vendors import nvidia
from agent.vendors.base import Probe, Readout

PROBES: Mapping[Vendor, type[Probe]] = {Vendor.NVIDIA: nvidia.NvidiaProbe}

# What reads captured text; the host's processors have a parser, too.
PARSERS: Mapping[str, Callable[[str], Readout]] = {
    **{vendor.value: probe.parse for vendor, probe in PROBES.items()},
}
