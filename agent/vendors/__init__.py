"""Accelerators of every vendor; one module or package each, listed here."""

from __future__ import annotations

from collections.abc import Mapping

from agent.protocol import Vendor
from agent.vendors import nvidia
from agent.vendors.base import Probe

PROBES: Mapping[Vendor, type[Probe]] = {Vendor.NVIDIA: nvidia.NvidiaProbe}
