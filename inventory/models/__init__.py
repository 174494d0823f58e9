"""What exists: nodes, devices, links and their last readings."""

from inventory.models.device import Device, DeviceHealth, DeviceLink, DeviceReading
from inventory.models.node import (
    EnrolmentToken,
    Node,
    NodeContact,
    NodeCredential,
    NodeReading,
    NodeSet,
    NodeState,
    RetiredBoot,
)

__all__ = [
    "Device",
    "DeviceHealth",
    "DeviceLink",
    "DeviceReading",
    "EnrolmentToken",
    "Node",
    "NodeContact",
    "NodeCredential",
    "NodeReading",
    "NodeSet",
    "NodeState",
    "RetiredBoot",
]
