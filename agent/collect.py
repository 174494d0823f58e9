"""Asks host and vendors what is, each apart and with a time-out; one that hangs is its own failure and nobody
else's.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import msgspec

import agent
from agent.config import Config
from agent.host import cpus, machine, memory, mounts, numa, runtimes
from agent.host.datasets import DatasetFolders
from agent.host.images import Images, read_images
from agent.known_devices import (
    KnownDevices,
    check_of,
    facts_of,
    fit,
    memories_of,
    samples_of,
    unknown_checks,
)
from agent.notices import notice
from agent.protocol import (
    Check,
    DeviceSample,
    Facts,
    Link,
    NodeSample,
    Notice,
    Runtime,
    Vendor,
)
from agent.runners.memory import DeviceMemory
from agent.vendors import PROBES
from agent.vendors.base import Probe, Readout, with_vendor
from agent.vendors.worker import Answer

logger = logging.getLogger("headrace.agent.collect")
PROBE_TIMEOUT_S = 8.0
FIRST_PROBE_TIMEOUT_S = 20.0
HOST_FACTS_AGE_S = 60.0
RUNTIMES_AGE_S = 600.0
STORED_AGE_S = 60.0
DISK_AGE_S = 10.0


@dataclass(frozen=True)
class Readings:
    """What one round of measuring gave."""

    node: NodeSample | None = None
    samples: tuple[DeviceSample, ...] = ()
    checks: tuple[Check, ...] = ()
    memories: Mapping[str, DeviceMemory] = field(default_factory=dict)

    def after(self, waiting: Readings | None) -> Readings:
        """This round in the place of one that no report held, with that one's worse checks: a fault that is told once
        is not lost.
        """
        if waiting is None:
            return self
        worst = {check.device: check for check in self.checks}
        for check in waiting.checks:
            now = worst.get(check.device)
            if now is None or check.result.severity > now.result.severity:
                worst[check.device] = check
        return replace(self, checks=tuple(worst.values()))


class Collector(Protocol):
    """What the agent asks of whatever knows the node; simulated nodes have one of their own."""

    def start(self, on_ready: Callable[[], None]) -> None:
        """Get ready; `on_ready` is called after every round."""

    def facts(self) -> Facts:
        """What the node is, as last seen."""

    def begin(self) -> None:
        """Start a round of measuring; returns at once."""

    def take(self) -> Readings | None:
        """The readings of the last finished round, once; None if there was no new one."""

    def close(self) -> None:
        """Stop."""


class VendorWorker:
    """A vendor's probe in its own process. While one hangs that cannot be killed, no second one is started."""

    def __init__(self, vendor: Vendor, root: Path, *, timeout_s: float = PROBE_TIMEOUT_S) -> None:
        self.vendor = vendor
        self._root = root
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._stuck: subprocess.Popen[bytes] | None = None
        self._fresh = True

    def read(self) -> Answer:
        """One look; never raises and never takes longer than the time-out."""
        if self._stuck is not None and self._stuck.poll() is None:
            return Answer(problem="the probe still hangs and cannot be killed; no other is started")
        self._stuck = None
        timeout_s = FIRST_PROBE_TIMEOUT_S if self._fresh else self._timeout_s
        timeout_s = min(timeout_s, self._timeout_s * 4)
        try:
            process = self._process or self._launch()
            line = self._exchange(process, timeout_s)
        except OSError as error:
            self._kill()
            return Answer(problem=f"the probe died: {error}")
        if line is None:
            self._kill()
            return Answer(problem=f"the probe gave no answer within {timeout_s:g} s")
        self._fresh = False
        try:
            return msgspec.json.decode(line, type=Answer)
        except msgspec.MsgspecError as error:
            self._kill()
            return Answer(problem=f"the probe's answer is unreadable: {error}")

    def close(self) -> None:
        """End the probe's process."""
        self._kill()

    def _launch(self) -> subprocess.Popen[bytes]:
        home = str(Path(agent.__file__).resolve().parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agent.vendors.worker", self.vendor.value, str(self._root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
            cwd="/",
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")])),
            },
        )
        self._fresh = True
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], timeout_s: float) -> bytes | None:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"read\n")
        deadline, parts = time.monotonic() + timeout_s, []
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                if not selector.select(left):
                    continue
                part = os.read(process.stdout.fileno(), 1 << 20)
                if not part:
                    raise BrokenPipeError("it ended without an answer")
                parts.append(part)
                if part.endswith(b"\n"):
                    return b"".join(parts)
        return None

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self._stuck = process


class HostCollector:
    """The real thing: this machine, measured by a thread of its own."""

    def __init__(
        self,
        config: Config,
        *,
        root: Path = Path("/"),
        isolates_users: bool = False,
        runner_warnings: tuple[Notice, ...] = (),
        runs_containers: Callable[[], bool] = lambda: False,
        disks: Callable[[], list[Notice]] = list,
        probes: Mapping[Vendor, type[Probe]] = PROBES,
        probe_timeout_s: float = PROBE_TIMEOUT_S,
    ) -> None:
        self._config = config
        self._root = root
        self._state_dir = Path(config.state_dir)
        self._isolates_users = isolates_users
        self._runner_warnings = runner_warnings
        self._runs_containers = runs_containers
        self._disks = disks
        self._disk_notices: list[Notice] = []
        self._probes = probes
        self._probe_timeout_s = probe_timeout_s
        self._known = KnownDevices(self._state_dir, machine.boot_id(root))
        self._workers: dict[Vendor, VendorWorker] = {}
        self._folders = DatasetFolders(config.dataset_folders)
        self._meter = memory.UsageMeter(root)
        self._runtimes: list[Runtime] = []
        self._images = Images()
        self._datasets: list[str] = []
        self._stored_notices: list[Notice] = []
        self._links: dict[Vendor, list[Link]] = {}
        self._memories: dict[str, DeviceMemory] = {}
        self._vendor_warnings: dict[Vendor, list[Notice]] = {}
        self._host: Facts | None = None
        self._host_at_s = -HOST_FACTS_AGE_S
        self._readings: Readings | None = None
        self._lock = threading.Lock()
        self._trigger = threading.Event()
        self._first = threading.Event()
        self._closed = False
        self._on_ready: Callable[[], None] = lambda: None

    def start(self, on_ready: Callable[[], None]) -> None:
        """Start measuring; container runtimes are asked apart, since their tools may be slow."""
        self._on_ready = on_ready
        threading.Thread(target=self._run, name="collect", daemon=True).start()
        for name, look, age_s in (
            ("runtimes", self._look_at_runtimes, RUNTIMES_AGE_S),
            ("stored", self._look_at_stored, STORED_AGE_S),
            ("disks", self._look_at_disks, DISK_AGE_S),
        ):
            threading.Thread(
                target=self._keep, args=(look,), kwargs={"age_s": age_s}, name=name, daemon=True
            ).start()
        self._trigger.set()

    def facts(self) -> Facts:
        """See `Collector`; complete after the first round."""
        with self._lock:
            host = self._host or self._read_host()
            devices = [device for vendor in self._probes for device in self._known.of(vendor)]
            notices = [
                *self._runner_warnings,
                *self._disk_notices,
                *(said for of_vendor in self._vendor_warnings.values() for said in of_vendor),
                *self._stored_notices,
            ]
            links = [link for links in self._links.values() for link in links]
            return msgspec.structs.replace(
                host,
                runtimes=list(self._runtimes),
                images=self._images.names(),
                stored_images=list(self._images.images),
                datasets=list(self._datasets),
                devices=devices,
                links=links,
                notices=notices,
            )

    def begin(self) -> None:
        """Ask for a round; while one still runs, that one counts."""
        self._trigger.set()

    def take(self) -> Readings | None:
        """See `Collector`."""
        with self._lock:
            readings, self._readings = self._readings, None
            return readings

    def close(self) -> None:
        """Stop the thread and the probes."""
        self._closed = True
        self._trigger.set()

    def _run(self) -> None:
        while True:
            self._trigger.wait()
            self._trigger.clear()
            if self._closed:
                break
            try:
                self._round()
            except Exception:
                logger.exception("measuring failed")
            self._first.set()
            self._on_ready()
        self._first.set()
        for worker in self._workers.values():
            worker.close()

    def _round(self) -> None:
        self._memories = {}
        results = [self._read_vendor(vendor, probe) for vendor, probe in self._probes.items()]
        node = self._meter.sample()
        host = None
        if time.monotonic() - self._host_at_s >= HOST_FACTS_AGE_S:
            host, self._host_at_s = self._read_host(), time.monotonic()
        readings = Readings(
            node=node,
            samples=tuple(sample for samples, _ in results for sample in samples),
            checks=tuple(check for _, checks in results for check in checks),
            memories=dict(self._memories),
        )
        with self._lock:
            self._host = host or self._host
            self._readings = readings.after(self._readings)
        self._known.save()

    def _read_vendor(self, vendor: Vendor, probe: type[Probe]) -> tuple[list[DeviceSample], list[Check]]:
        known = self._known.of(vendor)
        if not probe.present(self._root):
            self._warn(vendor, [notice("driver-gone", vendor=vendor)] if known else [])
            return [], unknown_checks(known, "driver and tools are gone")
        worker = self._workers.setdefault(
            vendor, VendorWorker(vendor, self._root, timeout_s=self._probe_timeout_s)
        )
        answer = worker.read()
        if answer.readout is None:
            self._warn(vendor, [notice("probe-failed", vendor=vendor, problem=answer.problem)])
            return [], unknown_checks(known, answer.problem)
        return self._take_readout(vendor, answer.readout)

    def _take_readout(self, vendor: Vendor, readout: Readout) -> tuple[list[DeviceSample], list[Check]]:
        whole = all(said.code != "output-damaged" for said in readout.warnings)
        readings = fit(readout.readings, self._known.of(vendor), whole=whole)
        with self._lock:
            self._known.see(vendor, [facts_of(reading) for reading in readings])
            self._links[vendor] = list(readout.links)
            self._vendor_warnings[vendor] = [with_vendor(said, vendor) for said in readout.warnings]
            self._memories |= {name: seen for one in readings for name, seen in memories_of(one).items()}
        samples = [sample for reading in readings for sample in samples_of(reading)]
        return samples, [check_of(reading) for reading in readings]

    def _warn(self, vendor: Vendor, warnings: list[Notice]) -> None:
        with self._lock:
            self._vendor_warnings[vendor] = warnings

    def _read_host(self) -> Facts:
        config, root = self._config, self._root
        return Facts(
            machine_id=config.machine_id or machine.machine_id(root, self._state_dir),
            hostname=config.hostname or machine.hostname(),
            agent_version=agent.__version__,
            arch=os.uname().machine,
            os=machine.operating_system(root),
            kernel=machine.kernel(root),
            cpu_model=cpus.cpu_model(root),
            cpus=cpus.read_cpus(root, allowed=cpus.allowed_cpus() if root == Path("/") else None),
            numa=numa.read_numa(root),
            memory_mib=memory.memory_mib(root),
            mounts=mounts.read_mounts(root),
            labels=dict(config.labels),
            node_set=config.node_set,
            reserved_cpus=sorted(set(config.reserved_cpus)),
            observe_only=config.observe_only,
            isolates_users=self._isolates_users,
            runs_containers=self._runs_containers(),
        )

    def _keep(self, look: Callable[[], bool], *, age_s: float) -> None:
        """Look again and again, apart from everything else: what is dead, slow or broken there holds up only this."""
        self._first.wait()
        while not self._closed:
            try:
                if look():
                    self._on_ready()
            except Exception:
                logger.exception("%s failed", look.__name__)
            self._rest(age_s)

    def _rest(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._closed and time.monotonic() < deadline:
            time.sleep(1.0)

    def _look_at_stored(self) -> bool:
        """Images and datasets; whether they changed."""
        images = read_images(self._root, users=self._config.image_users)
        datasets, unread = self._folders.read()
        with self._lock:
            changed = (self._images, self._datasets) != (images, datasets)
            self._images, self._datasets = images, datasets
            self._stored_notices = [*images.notices, *unread]
        return changed

    def _look_at_disks(self) -> bool:
        """Room for jobs; a folder of a network that hangs holds up nothing else."""
        found = self._disks()
        with self._lock:
            changed, self._disk_notices = self._disk_notices != found, found
        return changed

    def _look_at_runtimes(self) -> bool:
        found = runtimes.read_runtimes()
        with self._lock:
            changed, self._runtimes = self._runtimes != found, found
        return changed
