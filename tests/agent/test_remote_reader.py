"""What was printed over SSH, read as the node itself would: host, devices, and what is remembered between looks."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from agent.protocol import CheckResult, CommandOutput, RemoteAnswer, RemoteRound, Vendor
from agent.remote import reader
from agent.remote.reader import BOARDS, HOST, KERNEL_LOG, LIVE, read_round
from agent.vendors import PARSERS

SAMPLES = Path(__file__).parent / "samples"
BOOT = "0d15ea5e-0000-4000-8000-000000000001"
LIVE_TEXT = """#clock 1750000000.250000000
/etc/machine-id:c0ffee00c0ffee00c0ffee00c0ffee00
/proc/sys/kernel/random/boot_id:{boot}
/proc/uptime:1000.50 3000.00
/proc/loadavg:1.25 0.80 0.40 2/300 4242
/proc/meminfo:MemTotal:       65536000 kB
/proc/meminfo:MemAvailable:   32768000 kB
/proc/stat:cpu  {busy} 0 0 {idle} 0 0 0 0 0 0
/proc/stat:cpu0 1 0 0 1 0 0 0 0 0 0
/proc/stat:cpu1 1 0 0 1 0 0 0 0 0 0
#tool nvidia-smi
#whole
"""
HOST_TEXT = """#arch aarch64
/etc/os-release:NAME="Some"
/etc/os-release:PRETTY_NAME="Some Linux 7"
/proc/sys/kernel/osrelease:6.6.0-some
/proc/sys/kernel/hostname:edge-7
/proc/mounts:/dev/sda1 / ext4 rw 0 0
/proc/mounts:nas:/data /data nfs4 rw 0 0
/proc/cpuinfo:processor\t: 0
/proc/cpuinfo:model name\t: Some CPU @ 2.0 GHz
/sys/devices/system/cpu/present:0-3
/sys/devices/system/cpu/online:0-2
/sys/devices/system/cpu/cpu0/topology/core_id:0
/sys/devices/system/cpu/cpu1/topology/core_id:0
/sys/devices/system/cpu/cpu2/topology/core_id:1
/sys/devices/system/cpu/cpu0/topology/physical_package_id:0
/sys/devices/system/cpu/cpu1/topology/physical_package_id:0
/sys/devices/system/cpu/cpu2/topology/physical_package_id:0
/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq:3100000
/sys/devices/system/node/node0/cpulist:0-1
/sys/devices/system/node/node1/cpulist:2-3
/sys/devices/system/node/node0/distance:10 21
/sys/devices/system/node/node1/distance:21 10
/sys/devices/system/node/node0/meminfo:Node 0 MemTotal:       32768000 kB
/sys/bus/pci/devices/0000:41:00.0/numa_node:1
/sys/bus/pci/devices/0000:41:00.0/local_cpulist:2-3
/../../tmp/escape:x
/sys/bus/pci/devices/../../../../tmp/escape:x
#runtime podman podman version 4.9.1
#whole
"""
GPU = """<nvidia_smi_log><driver_version>570.1</driver_version>{gpus}</nvidia_smi_log>"""
ONE = """<gpu id="00000000:{slot}:00.0"><product_name>NVIDIA L40S</product_name><uuid>GPU-{slot}</uuid>
<minor_number>{index}</minor_number><fb_memory_usage><total>46068 MiB</total><used>10 MiB</used></fb_memory_usage>
<utilization><gpu_util>1 %</gpu_util></utilization><temperature><gpu_temp>40 C</gpu_temp></temperature></gpu>"""
TWO_GPUS = GPU.format(gpus=ONE.format(slot="41", index=0) + ONE.format(slot="42", index=1))
ONE_GPU = GPU.format(gpus=ONE.format(slot="41", index=0))


def live(*, boot=BOOT, busy=100, idle=100, **changes):
    data = LIVE_TEXT.format(boot=boot, busy=busy, idle=idle).encode()
    times = {"sent_at_us": 1_750_000_000_000_000, "received_at_us": 1_750_000_000_100_000}
    return CommandOutput(LIVE, data, **(times | changes))


def host():
    return CommandOutput(HOST, HOST_TEXT.encode())


def said(text, *, name="nvidia-smi -q -x", vendor=Vendor.NVIDIA, problem=""):
    data = text if isinstance(text, bytes) else text.encode()
    return CommandOutput(name, data, problem=problem, vendor=vendor)


def logged(text):
    return said(f"{text}#whole\n", name=KERNEL_LOG)


def ask(*outputs, memory=""):
    return read_round(RemoteRound(list(outputs), memory))


def results(answer):
    return {check.device: (check.result.value, check.code) for check in answer.report.checks}


def ascend(name):
    return (SAMPLES / "ascend" / name).read_text()


def boards(*, errors=2, whole=True):
    ecc = ascend("ecc-910b.txt").replace(
        "Double Bit Error Count               : 2", f"Double Bit Error Count : {errors}"
    )
    text = f"#templates\n#board 0\n{ecc}#chip 0 0\n{ascend('vnpu-two-slices.txt')}#chip 0 1\n"
    return said(text + "#whole\n" * whole, name=BOARDS, vendor=Vendor.ASCEND)


def test_slices_and_errors_of_boards_are_told_with_the_facts_and_kept_between():
    asked = [
        said(ascend("910b2-four-healths.txt"), name="npu-smi info", vendor=Vendor.ASCEND),
        said(ascend("mapping-910b.txt"), name="npu-smi info -m", vendor=Vendor.ASCEND),
    ]
    first = ask(live(), host(), *asked, boards())
    slices = [part.uuid for part in first.report.facts.devices[0].partitions]
    assert slices == ["0000:c1:00.0/vnpu132", "0000:c1:00.0/vnpu133"]
    assert first.report.facts.devices[1].partitions == []
    assert results(first)["0000:c1:00.0"] == ("ok", "")
    second = ask(live(), *asked, memory=first.memory)
    assert not second.want_host and {sample.device for sample in second.report.samples} >= set(slices)
    third = ask(live(), host(), *asked, boards(errors=3, whole=False), memory=second.memory)
    assert results(third)["0000:c1:00.0"] == ("failed", "ecc-uncorrectable")
    for told, left in (
        ("#chip 0 0\n| Total number of vnpu: 0 |\n#chip 0 1\n| Total number of vnpu: 0 |\n#whole\n", 0),
        ("#chip 0 0\n#whole\n", 2),
        ("#chip 0 0\nthe driver is busy\n#whole\n", 2),
        (f"#chip 0 0\n{ascend('vnpu-two-slices.txt').partition('  133 ')[0]}\n", 2),
        ("#whole\n", 2),
        ("", 2),
    ):
        said_now = said(f"#templates\n#board 0\n{told}", name=BOARDS, vendor=Vendor.ASCEND)
        facts = ask(live(), host(), *asked, said_now, memory=third.memory).report.facts
        assert len(facts.devices[0].partitions) == left, told
        assert len(facts.devices) == len(first.report.facts.devices)


def test_the_host_is_read_as_the_agent_reads_it():
    answer = ask(live(), host())
    facts = answer.report.facts
    assert (facts.machine_id, facts.hostname) == ("c0ffee00" * 4, "edge-7")
    assert (facts.arch, facts.os, facts.kernel) == ("aarch64", "Some Linux 7", "6.6.0-some")
    assert [(cpu.id, cpu.core, cpu.numa, cpu.online) for cpu in facts.cpus] == [
        (0, 0, 0, True),
        (1, 0, 0, True),
        (2, 1, 1, True),
        (3, 2, 1, False),
    ]
    assert facts.cpus[0].max_mhz == 3100 and facts.cpu_model == "Some CPU @ 2.0 GHz"
    assert [(numa.id, numa.memory_mib, numa.distances) for numa in facts.numa] == [
        (0, 32000, [10, 21]),
        (1, None, [21, 10]),
    ]
    assert [(mount.path, mount.total_mib) for mount in facts.mounts] == [("/", None), ("/data", None)]
    assert [(one.name, one.version) for one in facts.runtimes] == [("podman", "4.9.1")]
    assert not Path("/tmp/escape").exists()


def test_use_and_clock_are_measured_between_and_around_looks():
    first = ask(live(), host())
    assert first.report.node.cpu_used_milli is None and first.report.node.memory_used_mib == 32000
    second = ask(live(busy=175, idle=125), memory=first.memory)
    assert second.report.node.cpu_used_milli == 1500 and second.report.node.load1_milli == 1250
    assert (first.report.clock.offset_us, first.report.clock.uncertainty_us) == (200_000, 50_000)


def test_facts_are_asked_for_again_only_where_devices_changed():
    first = ask(live(), host(), said(TWO_GPUS))
    assert [device.numa_node for device in first.report.facts.devices] == [1, None]
    assert first.report.facts.devices[0].cpu_affinity == [2, 3]
    second = ask(live(), said(TWO_GPUS), memory=first.memory)
    assert second.report.facts is None and second.report.facts_digest == first.report.facts_digest
    assert ask(live(), said(TWO_GPUS)).want_host


def test_a_device_that_is_no_longer_listed_has_dropped_until_the_next_boot():
    first = ask(live(), host(), said(TWO_GPUS))
    second = ask(live(), said(ONE_GPU), memory=first.memory)
    assert results(second) == {"GPU-41": ("ok", ""), "GPU-42": ("fatal", "card-dropped")}
    rebooted = ask(live(boot=BOOT[:-1] + "2"), host(), said(ONE_GPU), memory=second.memory)
    assert results(rebooted) == {"GPU-41": ("ok", "")}


@pytest.mark.parametrize(
    "output",
    [
        said("", problem="nvidia-smi -q -x: no answer within 8 s"),
        said("bash: nvidia-smi: command not found", problem="exit status 127"),
        said("Segmentation fault"),
        said(b"\x00" * 4096),
        None,
    ],
    ids=["hangs", "absent", "nonsense", "no text", "tool is gone"],
)
def test_a_tool_that_does_not_answer_leaves_known_devices_unknown(output):
    first = ask(live(), host(), said(TWO_GPUS))
    second = ask(*filter(None, [live(), output]), memory=first.memory)
    assert set(results(second).values()) == {("unknown", "probe-failed")} and len(results(second)) == 2


def test_the_log_tells_a_fault_once_and_nothing_older_than_two_minutes():
    log = "[  100.000000] NVRM: Xid (PCI:0000:42:00): 79, GPU has fallen off the bus\n"
    first = ask(live(), host(), said(TWO_GPUS), logged(log))
    assert {result for result, _ in results(first).values()} == {"ok"}
    log += "[ 1001.500000] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus\n"
    second = ask(live(), said(TWO_GPUS), logged(log), memory=first.memory)
    assert results(second)["GPU-41"] == ("fatal", "xid-79") and results(second)["GPU-42"] == ("ok", "")
    third = ask(live(), said(TWO_GPUS), logged(log), memory=second.memory)
    assert {result for result, _ in results(third).values()} == {"ok"}


def test_a_fault_is_read_however_shortly_after_the_last_line_it_was_logged():
    lines = [
        "[ 1000.200000] NVRM: Xid (PCI:0000:42:00): 31, pid=1, name=x, Ch 00",
        "[ 1000.900000] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus",
        "[ 1000.900000] NVRM: Xid (PCI:0000:42:00): 48, DBE",
        "[ 1000.850000] NVRM: Xid (PCI:0000:42:00): 79, GPU has fallen off the bus",
    ]
    answer = ask(live(), host(), said(TWO_GPUS), logged(lines[0] + "\n"))
    found = []
    for count in (2, 3, 4, 4):
        log = "\n".join(lines[:count]) + "\n"
        answer = ask(live(), said(TWO_GPUS), logged(log), memory=answer.memory)
        found.append({name: code for name, (_, code) in results(answer).items() if code})
    assert found == [{"GPU-41": "xid-79"}, {"GPU-42": "xid-48"}, {"GPU-42": "xid-79"}, {}]


def test_a_line_without_a_time_belongs_to_the_message_above_it():
    log = "[ 1000.900000] NVRM: The NVIDIA GPU 0000:41:00.0\n              NVRM: has fallen off the bus\n"
    answer = ask(live(), host(), said(TWO_GPUS), logged(log))
    assert results(answer)["GPU-41"][0] == "fatal"


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (logged("NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus\n"), "no time stamps"),
        (said("[ 1000.900000] NVRM: Xid (PCI:0000:41:00): 7", name=KERNEL_LOG), "end is missing"),
        (said("#whole\n", name=KERNEL_LOG, problem="kernel-log: exit status 137"), "exit status 137"),
    ],
    ids=["no times", "cut off", "killed"],
)
def test_a_log_that_cannot_be_read_says_so_and_is_read_the_next_time(log, words):
    answer = ask(live(), host(), said(TWO_GPUS), log)
    assert any(words in str(one.params) for one in answer.report.facts.notices)
    line = "[ 1000.900000] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus\n"
    again = ask(live(), said(TWO_GPUS), logged(line), memory=answer.memory)
    assert results(again)["GPU-41"] == ("fatal", "xid-79")


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.iterdir() if path.name != "cpu"))
def test_one_output_says_of_health_what_the_parser_says(name):
    """Never more: what no look recognises is unknown, not well."""
    for file in sorted((SAMPLES / name).iterdir()):
        answer = ask(live(), host(), CommandOutput("x", file.read_bytes(), vendor=Vendor(name)))
        parsed = PARSERS[name](file.read_text(errors="replace"))
        well = {one.sample.device for one in parsed.readings if one.check.result is CheckResult.OK}
        assert sum(check.result is CheckResult.OK for check in answer.report.checks) <= len(well), file.name


def test_answers_of_no_machine_are_refused():
    assert ask(CommandOutput(LIVE, b"", problem="live: no answer")).problem == "live: no answer"
    assert "not recognised" in ask(CommandOutput(LIVE, b"Welcome!\n")).problem
    without = live()
    nameless = CommandOutput(LIVE, without.data.replace(b"c0ffee00" * 4, b"uninitialized"))
    assert ask(nameless).problem == "no-machine-id"


@pytest.mark.parametrize("end", [BOOT[:8], BOOT, "c0ffee00", "/proc/uptime", "#tool", "#whol"])
def test_half_an_answer_is_none(end):
    data = live().data
    half = data[: data.index(end.encode()) + len(end)]
    answer = ask(CommandOutput(LIVE, half), host())
    assert answer.report is None and "not recognised" in answer.problem
    answer = ask(live(problem="live: exit status 137"), host())
    assert answer.report is None and answer.problem == "live: exit status 137"


@pytest.mark.parametrize(
    ("whole", "half", "problem"),
    [
        (BOOT, BOOT[:8], "not recognised"),
        (BOOT, f"{BOOT}/proc/uptime:1.0 1.0", "not recognised"),
        ("c0ffee00" * 4, "c0", "no-machine-id"),
        ("c0ffee00" * 4, "c0ffee00" * 5, "no-machine-id"),
        ("/etc/machine-id:" + "c0ffee00" * 4, f"/sys/class/dmi/id/product_uuid:{BOOT[:-3]}", "no-machine-id"),
    ],
)
def test_half_an_identity_is_none(whole, half, problem):
    answer = ask(CommandOutput(LIVE, live().data.replace(whole.encode(), half.encode())), host())
    assert answer.report is None and problem in answer.problem


def test_half_of_the_facts_is_no_facts():
    cut = CommandOutput(HOST, HOST_TEXT.removesuffix("#whole\n").encode())
    answer = ask(live(), cut)
    assert answer.report.facts is None and answer.want_host


def test_damaged_answers_raise_nothing_and_memory_of_another_kind_is_none():
    dice = random.Random(7)
    whole = [live(), host(), said(TWO_GPUS), logged("[1.0] NVRM: x\n")]
    for _ in range(60):
        outputs = []
        for output in whole:
            data = bytearray(output.data)
            for _ in range(dice.randrange(1, 60)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            cut = bytes(data[: dice.randrange(len(data))])
            outputs.append(CommandOutput(output.name, cut, vendor=output.vendor))
        answer = ask(*outputs, memory=dice.choice(["", "{}", "[]", "x", '{"boot_id": 3}']))
        assert answer.report is not None or answer.problem


def test_what_no_message_can_hold_is_the_fault_of_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = RemoteAnswer(problem="\ud800")
    monkeypatch.setattr(reader, "read_round", lambda _asked: odd)
    asked = msgspec.json.encode(RemoteRound(outputs=[]))
    assert b"UnicodeEncodeError" in reader.answer_of(asked)
