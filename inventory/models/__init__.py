"""What exists: nodes, devices, links and their last readings."""

from inventory.models.device import Device, DeviceEvent, DeviceHealth, DeviceLink, DeviceReading
from inventory.models.image import Image, ImagePush, ImageStart, PushState, PushWhy
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
from inventory.models.remote import RemoteHost, RemoteProblem
from inventory.models.silence import ProbeBeat, UncountedCause, UncountedTime

__all__ = [
    "Device",
    "DeviceEvent",
    "DeviceHealth",
    "DeviceLink",
    "DeviceReading",
    "EnrolmentToken",
    "Image",
    "ImagePush",
    "ImageStart",
    "Node",
    "NodeContact",
    "NodeCredential",
    "NodeReading",
    "NodeSet",
    "NodeState",
    "ProbeBeat",
    "PushState",
    "PushWhy",
    "RemoteHost",
    "RemoteProblem",
    "RetiredBoot",
    "UncountedCause",
    "UncountedTime",
]
