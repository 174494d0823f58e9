"""From the outputs of one look over SSH to the report that an agent on that node would send."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import msgspec

from agent.captures import UnreadableCapture, decode
from agent.host import cpus, machine, memory, mounts, numa
from agent.host.files import read_text
from agent.host.images import Images, listed_images
from agent.host.runtimes import parse_version
from agent.known_devices import check_of, facts_of, fit, samples_of, unknown_checks
from agent.notices import notice
from agent.protocol import (
    VERSION,
    Check,
    ClockSample,
    CommandOutput,
    DeviceFacts,
    DeviceSample,
    Facts,
    Link,
    Notice,
    RemoteAnswer,
    RemoteRound,
    Report,
    Runtime,
    StoredImage,
    Vendor,
)
from agent.remote.devices import LogPlace, Said, new_log_lines, read_devices
from agent.remote.tree import laid_out, printed_files, printed_words
from agent.vendors.base import ProbeError, Readout, with_vendor
from agent.vendors.command import complete
from agent.vendors.error_counts import ErrorCounts

# Names of outputs that are not answers of a vendor's tool.
LIVE, HOST, KERNEL_LOG, BOARDS = "live", "host", "kernel-log", "npu-smi boards"
IMAGES = " images"
# The last word of a script of ours: nothing of its answer is missing.
WHOLE = "whole"
RECENT_S = 120
NOT_RECOGNISED = "what a Linux machine says of itself was not recognised"
_CLOCK = re.compile(r"(\d{9,11})\.(\d{6})\d{0,3}", re.ASCII)


class Memory(msgspec.Struct):
    """What has to be known of earlier looks; good for one boot. `log` is how far the kernel's log was read."""

    boot_id: str = ""
    digest: str = ""
    devices: dict[str, list[DeviceFacts]] = {}
    errors: dict[str, int] = {}
    ticks: tuple[int, int, int] | None = None
    log: LogPlace | None = None


class Look:
    """One look: the outputs laid out, and what is found in them."""

    def __init__(self, outputs: list[CommandOutput], root: Path, words: dict[str, list[str]]) -> None:
        self._outputs = outputs
        self._root = root
        self._words = words
        self.memory = Memory()
        self.samples: list[DeviceSample] = []
        self.checks: list[Check] = []
        self._devices: dict[str, list[DeviceFacts]] = {}
        self._links: list[Link] = []
        self._notices: list[Notice] = []

    def answer(self, machine_id: str, boot_id: str, kept: Memory) -> RemoteAnswer:
        """The report; facts of the host are in it where they were read now."""
        self.memory = kept if kept.boot_id == boot_id else Memory(boot_id=boot_id)
        meter = memory.UsageMeter(self._root, last=self.memory.ticks)
        node, self.memory.ticks = meter.sample(), meter.last
        self._read_vendors()
        whole = any(output.name == HOST and _is_whole(output) for output in self._outputs)
        facts = self._facts(machine_id) if whole else None
        if facts is not None:
            self.memory.devices = self._devices
            self.memory.digest = hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:32]
        report = Report(
            version=VERSION,
            boot_id=boot_id,
            seq=0,
            sent_at_ms=0,
            facts_digest=self.memory.digest,
            facts=facts,
            node=node,
            samples=self.samples,
            checks=self.checks,
            clock=self._clock(),
        )
        changed = self._devices != self.memory.devices
        return RemoteAnswer(
            report=report,
            machine_id=machine_id,
            want_host=not whole and (changed or not self.memory.digest),
            memory=msgspec.json.encode(self.memory).decode(),
        )

    def _read_vendors(self) -> None:
        counts = ErrorCounts(self.memory.errors)
        asked = {output.vendor.value for output in self._outputs if output.vendor is not None}
        for name in sorted(asked | set(self.memory.devices)):
            vendor, known = Vendor(name), self.memory.devices.get(name, [])
            try:
                if name not in asked:
                    raise ProbeError("its tool is gone")
                self._take(vendor, known, complete(self._ask(vendor, known), self._root, counts))
            except ProbeError as error:
                self._devices[name] = known
                self._notices.append(notice("probe-failed", vendor=vendor, problem=error))
                self.checks += unknown_checks(known, str(error))
        self.memory.errors = counts.last

    def _ask(self, vendor: Vendor, known: list[DeviceFacts]) -> Readout:
        """The readout of what the vendor's tools said, with what is new in the kernel's log."""
        of_vendor = [output for output in self._outputs if output.vendor is vendor]
        answers = [_said(output) for output in of_vendor if output.name != KERNEL_LOG]
        logged = next((output for output in of_vendor if output.name == KERNEL_LOG), None)
        if not answers:
            raise ProbeError("its tools were not asked")
        lines = self._new_log_lines(vendor, logged) if logged is not None else ""
        return read_devices(vendor, [*answers, Said(lines)] if lines else answers, known)

    def _new_log_lines(self, vendor: Vendor, logged: CommandOutput) -> str:
        """What is new in the kernel's log; of one that is not whole nothing is read, so that nothing is passed over."""
        text, problem = _said(logged).text, ""
        if not _is_whole(logged):
            problem = logged.problem or f"{KERNEL_LOG}: its end is missing"
        elif KERNEL_LOG in printed_words(text):
            problem = "the kernel log is not readable for this user: Xids are not seen"
        else:
            log = "\n".join(line for line in text.split("\n") if line.strip() != f"#{WHOLE}")
            lines, place = new_log_lines(log, self._log_place())
            if place is not None:
                self.memory.log = place
                return lines
            if log.strip():
                problem = "the kernel log has no time stamps (printk.time=0): Xids are not seen"
        if problem:
            self._notices.append(notice("tool-failed", vendor=vendor, problem=problem))
        return ""

    def _log_place(self) -> LogPlace:
        if self.memory.log is not None:
            return self.memory.log
        uptime = re.match(r"\d{1,12}", read_text(self._root / "proc/uptime") or "")
        return LogPlace((int(uptime.group()) - RECENT_S) * 1_000_000 if uptime else 0)

    def _take(self, vendor: Vendor, known: list[DeviceFacts], readout: Readout) -> None:
        whole = all(said.code != "output-damaged" for said in readout.warnings)
        readings = fit(readout.readings, known, whole=whole)
        self._devices[vendor.value] = [facts_of(reading) for reading in readings]
        self._links += readout.links
        self._notices += [with_vendor(said, vendor) for said in readout.warnings]
        self.samples += [sample for reading in readings for sample in samples_of(reading)]
        self.checks += [check_of(reading) for reading in readings]

    def _facts(self, machine_id: str) -> Facts:
        root = self._root
        images = self._images()
        named = any((root / name).exists() for name in ("etc/os-release", "usr/lib/os-release"))
        return Facts(
            machine_id=machine_id,
            hostname=read_text(root / "proc/sys/kernel/hostname") or "",
            agent_version="",
            arch=self._word("arch"),
            os=machine.operating_system(root) if named else "",
            kernel=read_text(root / "proc/sys/kernel/osrelease") or "",
            cpu_model=cpus.cpu_model(root),
            cpus=cpus.read_cpus(root),
            numa=numa.read_numa(root),
            memory_mib=memory.memory_mib(root),
            mounts=mounts.read_mounts(root),
            images=images.names(),
            stored_images=list(images.images),
            runtimes=[_runtime(said) for said in self._words.get("runtime", ())],
            devices=[device for name in sorted(self._devices) for device in self._devices[name]],
            links=self._links,
            notices=self._notices,
        )

    def _images(self) -> Images:
        """What the engines have that this user's commands reach; one that did not answer is a notice."""
        found: dict[str, StoredImage] = {}
        for output in self._outputs:
            if not output.name.endswith(IMAGES):
                continue
            said = _said(output)
            if said.problem:
                engine = output.name.removesuffix(IMAGES)
                self._notices.append(notice("images-unread", source=engine, problem=said.problem))
                continue
            for image in listed_images(said.text):
                found.setdefault(image.name, image)
        return Images(tuple(found[name] for name in sorted(found)))

    def _word(self, name: str) -> str:
        return next(iter(self._words.get(name, ())), "")

    def _clock(self) -> ClockSample | None:
        """The node's clock was read somewhere between the question and its answer."""
        match = _CLOCK.fullmatch(self._word("clock"))
        live = next(output for output in self._outputs if output.name == LIVE)
        if match is None or not live.sent_at_us <= live.received_at_us:
            return None
        there_us = int(match.group(1)) * 1_000_000 + int(match.group(2))
        return ClockSample(
            offset_us=there_us - (live.sent_at_us + live.received_at_us) // 2,
            uncertainty_us=(live.received_at_us - live.sent_at_us + 1) // 2,
        )


def read_round(asked: RemoteRound) -> RemoteAnswer:
    """What one look says; a `problem` where it does not even say whose machine that is."""
    live = next((output for output in asked.outputs if output.name == LIVE), None)
    if live is None or not _is_whole(live):
        return RemoteAnswer(problem=(_said(live).problem if live is not None else "") or NOT_RECOGNISED)
    told = [output for output in asked.outputs if output.name in (LIVE, HOST) and _is_whole(output)]
    printed = "\n".join(_said(output).text for output in told)
    with laid_out(printed_files(printed)) as root:
        boot_id, machine_id = machine.told_boot_id(root), machine.told_machine_id(root)
        if boot_id is None:
            return RemoteAnswer(problem=NOT_RECOGNISED)
        if machine_id is None:
            return RemoteAnswer(problem="no-machine-id")
        look = Look(asked.outputs, root, printed_words(printed))
        return look.answer(machine_id, boot_id, _memory(asked))


def serve() -> None:
    """An empty line at the start, then one answer per line of input, until there is none."""
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(answer_of(line) + b"\n")
        sys.stdout.buffer.flush()


def answer_of(line: bytes) -> bytes:
    """JSON, whatever was said: a parser's fault, or what no message can hold, is that of one node's answer."""
    try:
        return msgspec.json.encode(read_round(msgspec.json.decode(line, type=RemoteRound)))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:500]
    return msgspec.json.encode(RemoteAnswer(problem=problem.encode("utf-8", "replace").decode()))


def _memory(asked: RemoteRound) -> Memory:
    """Of another version of this program nothing is remembered."""
    try:
        return msgspec.json.decode(asked.memory, type=Memory) if asked.memory else Memory()
    except msgspec.MsgspecError:
        return Memory()


def _is_whole(output: CommandOutput) -> bool:
    return not output.problem and WHOLE in printed_words(_said(output).text)


def _said(output: CommandOutput) -> Said:
    try:
        return Said(decode(output.data).text, output.problem)
    except UnreadableCapture as error:
        return Said("", output.problem or f"{output.name}: the answer {error}")


def _runtime(said: str) -> Runtime:
    name, _, version = said.partition(" ")
    return Runtime(name=name, version=parse_version(version))


if __name__ == "__main__":
    serve()
