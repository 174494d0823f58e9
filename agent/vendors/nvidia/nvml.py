"""NVML: the devices that NVIDIA's library sees, each asked apart, so that one that hangs or fails hides no other."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pynvml

from agent.notices import notice
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Link, Vendor
from agent.vendors.base import Reading, Readout, device_name, from_library
from agent.vendors.nvidia.nvml_links import read_links, read_ports
from agent.vendors.nvidia.nvml_reading import take_reading

DEVICE_TIMEOUT_S = 5.0


class Unavailable(Exception):
    """The library is not here or does not answer at all."""


class Device:
    """One handle; each question may fail for itself, and the failures that condemn the device are kept."""

    def __init__(self, library: Any, index: int) -> None:
        self.library = library
        self.index = index
        self.errors: list[Exception] = []
        self.handle = self._call("nvmlDeviceGetHandleByIndex", index)

    def ask(self, function: str, *arguments: Any) -> Any:
        """The library's answer to a question that every device answers, or None; a failure tells of the device."""
        return None if self.handle is None else self._call(function, self.handle, *arguments)

    def maybe(self, function: str, *arguments: Any, of: Any = None) -> Any:
        """The answer to a question that some devices do not know, or None; only a lost device's failure is kept."""
        if self.handle is None:
            return None
        kept, self.errors = self.errors, []
        answer = self._call(function, self.handle if of is None else of, *arguments)
        lost = (self.library.NVML_ERROR_GPU_IS_LOST, self.library.NVML_ERROR_RESET_REQUIRED)
        condemning = [error for error in self.errors if getattr(error, "value", None) in lost]
        self.errors = kept + condemning
        return answer

    def failed_with(self, *codes: int) -> Exception | None:
        """The first error with one of these codes."""
        return next((error for error in self.errors if getattr(error, "value", None) in codes), None)

    def _call(self, function: str, *arguments: Any) -> Any:
        call = getattr(self.library, function, None)
        if call is None:
            return None
        try:
            return call(*arguments)
        except Exception as error:  # of the library, or of the binding to one that is older or newer
            self.errors.append(error)
            return None


@dataclass
class _Look:
    """One device's answer, being waited for."""

    index: int
    device: Device | None = None
    reading: Reading | None = None
    thread: threading.Thread = field(default_factory=threading.Thread)


class Nvml:
    """The library, and the questions to it that still hang."""

    def __init__(self, library: Any = pynvml, *, timeout_s: float = DEVICE_TIMEOUT_S) -> None:
        self._library = library
        self._timeout_s = timeout_s
        self._hanging: dict[int, threading.Thread] = {}
        self._known: dict[int, DeviceFacts] = {}
        self._links: list[Link] = []

    def read(self) -> Readout:
        """All devices; raises Unavailable when the library itself fails."""
        library = self._library
        try:
            library.nvmlInit()
        except Exception as error:
            raise Unavailable(f"NVML: {error}") from error
        try:
            driver = from_library(library.nvmlSystemGetDriverVersion())
            count = int(library.nvmlDeviceGetCount())
            return self._read_devices(count, driver)
        except library.NVMLError as error:
            raise Unavailable(f"NVML: {error}") from error
        finally:
            self._forget_ended()
            if not self._hanging:  # closing the library below a question that hangs could crash it
                _quietly(library)

    def _read_devices(self, count: int, driver: str | None) -> Readout:
        looks = [self._start(index, driver) for index in range(count)]
        deadline = time.monotonic() + self._timeout_s
        for look in looks:
            if look.thread.ident is not None:
                look.thread.join(max(0.0, deadline - time.monotonic()))
            if look.thread.is_alive():
                self._hanging[look.index] = look.thread
        readings = [look.reading or self._silent(look.index) for look in looks]
        self._known |= {reading.facts.index: reading.facts for reading in readings if reading.facts.uuid}
        answered = [look.device for look in looks if look.reading is not None and look.device is not None]
        if len(answered) == len(looks):
            places = {reading.facts.index: reading.facts.pci_bus_id for reading in readings}
            self._links = read_links(answered, places)
        return Readout(
            vendor=Vendor.NVIDIA,
            driver_version=driver,
            readings=readings,
            links=self._links,
            warnings=[] if readings else [notice("no-devices", tool="NVML")],
        )

    def _start(self, index: int, driver: str | None) -> _Look:
        look = _Look(index)
        if index not in self._hanging:
            look.thread = threading.Thread(target=self._look, args=(look, driver), daemon=True)
            look.thread.start()
        return look

    def _look(self, look: _Look, driver: str | None) -> None:
        device = Device(self._library, look.index)
        reading = take_reading(device, driver)
        look.device = device
        look.reading = msgspec.structs.replace(reading, ports=read_ports(device))

    def _silent(self, index: int) -> Reading:
        facts = self._known.get(index) or DeviceFacts(vendor=Vendor.NVIDIA, index=index)
        name = device_name(facts)
        check = Check(
            device=name,
            result=CheckResult.FAILED,
            code="driver-timeout",
            evidence=f"NVML gave no answer about this device within {self._timeout_s:g} s",
        )
        return Reading(facts=facts, sample=DeviceSample(device=name), check=check)

    def _forget_ended(self) -> None:
        ended = [index for index, thread in self._hanging.items() if not thread.is_alive()]
        for index in ended:
            del self._hanging[index]


def _quietly(library: Any) -> None:
    try:
        library.nvmlShutdown()
    except library.NVMLError:
        return
