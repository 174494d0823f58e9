"""NVIDIA's library, in this process: facts, figures, slices, and failures of single devices."""

import time
from pathlib import Path

import pytest

from agent.notices import notice
from agent.protocol import CheckResult, Link
from agent.vendors.base import Reading
from agent.vendors.nvidia import NvidiaProbe, nvml
from tests.agent.fake_nvml import GIB, FakeNvml, Gpu, Slice

OK, FAILED, FATAL, UNKNOWN = CheckResult.OK, CheckResult.FAILED, CheckResult.FATAL, CheckResult.UNKNOWN


def read(*gpus: Gpu) -> list[Reading]:
    return nvml.Nvml(FakeNvml(*gpus), timeout_s=0.3).read().readings


def probe(library: FakeNvml, root: Path) -> NvidiaProbe:
    """A probe on a made-up library and root."""
    (root / "dev").mkdir(exist_ok=True)
    (root / "dev/kmsg").touch()
    made = NvidiaProbe(root)
    made._nvml = nvml.Nvml(library, timeout_s=0.3)
    return made


def log(root: Path, text: str) -> None:
    """The kernel writes a line."""
    with (root / "dev/kmsg").open("a") as file:
        file.write(f"4,1,{int(time.monotonic() * 1_000_000)},-;{text}\n SUBSYSTEM=pci\n")


def test_the_library_gives_facts_figures_and_links() -> None:
    readout = nvml.Nvml(FakeNvml(Gpu(0), Gpu(1, util=4294967295))).read()
    first, second = readout.readings
    facts, sample = first.facts, first.sample
    assert (facts.uuid, facts.pci_bus_id, facts.memory_reserved_mib) == ("GPU-0", "0000:3b:00.0", 400)
    assert (facts.compute_units, facts.memory_total_mib) == (82, 24576)
    assert (sample.memory_used_mib, sample.utilization_pct, sample.power_mw) == (1024, 55, 70_500)
    assert second.sample.utilization_pct is None  # a sentinel
    assert readout.links == [Link(0, 1, "NV", 2)] and first.check.result is OK
    assert [port.active for port in first.ports] == [True, True]


@pytest.mark.parametrize(
    ("error", "result", "code"),
    [
        (15, FATAL, "lost"),
        (16, FATAL, "reset-required"),
        (999, FAILED, "error-state"),
        (10, FAILED, "driver-timeout"),
        (3, UNKNOWN, "no-reading"),
    ],
)
def test_a_broken_device_is_reported_beside_healthy_ones(error: int, result: CheckResult, code: str) -> None:
    good, bad = read(Gpu(0), Gpu(1, broken=error))
    assert good.check.result is OK
    assert (bad.check.result, bad.check.code) == (result, code) and bad.facts.uuid == "GPU-1"
    assert bad.sample.memory_used_mib is None


@pytest.mark.parametrize(
    ("change", "result", "code"),
    [
        ({"action": 1}, FATAL, "reset-required"),
        ({"action": 4}, FAILED, "drain-recommended"),
        ({"clocks": 0x40}, FAILED, "over-temperature"),
        ({"temperature": 96}, FAILED, "over-temperature"),
        ({"remap_failed": 1}, FAILED, "row-remap-failed"),
        ({"remap_pending": 1}, FAILED, "row-remap-pending"),
        ({"pages_pending": 1}, FAILED, "page-retirement-pending"),
        ({"fabric": (3, 999)}, FAILED, "fabric-failed"),
        ({"fabric": (2, 0)}, UNKNOWN, "fabric-not-ready"),
        ({"fabric": (3, 0)}, OK, ""),
        ({"sram_exceeded": 1}, FAILED, "sram-errors-exceeded"),
        ({"sram_exceeded": 1, "errors": {"sram": 3}}, OK, ""),
        ({"clocks": 0x4}, OK, ""),
        ({"errors": {"nvlink": 999, "fabric": 999, "ecc": 999}}, OK, ""),
        ({"errors": {"nvlink": 15}}, OK, ""),
        ({"errors": {"ecc": 15}}, FATAL, "lost"),
    ],
)
def test_conditions_of_a_device_that_answers(
    change: dict[str, object], result: CheckResult, code: str
) -> None:
    (reading,) = read(Gpu(0, **change))  # type: ignore[arg-type]
    assert (reading.check.result, reading.check.code) == (result, code)


def test_one_question_that_fails_hides_no_other_answer() -> None:
    (reading,) = read(Gpu(0, errors={"power": 3, "temperature": 3}))
    assert (reading.sample.power_mw, reading.sample.temperature_c) == (None, None)
    assert reading.sample.memory_used_mib == 1024 and reading.check.result is OK


def test_a_device_that_hangs_hides_no_other_and_is_not_asked_again() -> None:
    gpus = [Gpu(0), Gpu(1), Gpu(2)]
    library = FakeNvml(*gpus)
    reader = nvml.Nvml(library, timeout_s=0.3)
    before = reader.read()
    gpus[1].hangs = True
    for _ in range(2):
        started_s = time.monotonic()
        first, stuck, third = reader.read().readings
        assert time.monotonic() - started_s < 2
        assert (first.check.result, third.check.result) == (OK, OK)
        assert (stuck.check.code, stuck.facts.uuid) == ("driver-timeout", "GPU-1")
    assert library.shut_down == 1 and len(reader._hanging) == 1
    assert reader.read().links == before.links  # known from before


def test_a_lost_handle_keeps_its_place() -> None:
    good, lost = read(Gpu(0), Gpu(1, handle_error=15))
    assert good.check.result is OK
    assert (lost.facts.index, lost.facts.uuid, lost.check.code) == (1, None, "lost")


def test_no_library_is_no_crash() -> None:
    with pytest.raises(nvml.Unavailable):
        nvml.Nvml(FakeNvml(init=12)).read()
    library = FakeNvml()
    library.gpus = []
    assert nvml.Nvml(library).read().warnings == [notice("no-devices", tool="NVML")]


def test_slices_have_their_shares_and_share_memory() -> None:
    parts = [
        Slice(2, 0, 40448, slices=1, name="1c.3g.40gb"),
        Slice(2, 1, 40448, slices=2, name="2c.3g.40gb"),
        Slice(9, 0, 9984),
    ]
    (reading,) = read(Gpu(0, total=80 * GIB, mig=parts))
    told = [
        (part.name, part.uuid, part.memory_group, part.compute_instance, part.compute_milli)
        for part in reading.partitions
    ]
    assert told == [
        ("1c.3g.40gb", "MIG-2-0", 2, 0, 142),
        ("2c.3g.40gb", "MIG-2-1", 2, 1, 285),
        ("1g.10gb", "MIG-9-0", 9, 0, 142),
    ]


def test_processes_have_names_and_memory_where_known(tmp_path: Path) -> None:
    (tmp_path / "proc/71").mkdir(parents=True)
    (tmp_path / "proc/71/comm").write_text("python3\n")
    library = FakeNvml(Gpu(0, processes=[(71, 2 * GIB), (72, None)]))
    (reading,) = probe(library, tmp_path).read().readings
    told = [(process.pid, process.name, process.memory_used_mib) for process in reading.processes]
    assert told == [(71, "python3", 2048), (72, None, None)]


def test_only_new_uncorrectable_errors_count(tmp_path: Path) -> None:
    gpu = Gpu(0, ecc=40)
    prober = probe(FakeNvml(gpu), tmp_path)
    assert prober.read().readings[0].check.result is OK  # a lifetime total says nothing
    gpu.ecc = 42
    check = prober.read().readings[0].check
    assert (check.result, check.code) == (FAILED, "ecc-uncorrectable") and "2 new" in check.evidence
    assert prober.read().readings[0].check.result is OK
    gpu.ecc = 0  # the driver was loaded anew
    assert prober.read().readings[0].check.result is OK


def test_an_xid_counts_once_at_its_device(tmp_path: Path) -> None:
    prober = probe(FakeNvml(Gpu(0), Gpu(1)), tmp_path)
    old_us = int((time.monotonic() - 3600) * 1_000_000)
    (tmp_path / "dev/kmsg").write_text(
        f"4,1,{max(0, old_us)},-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off\n"
    )
    if old_us > 0:
        assert [reading.check.result for reading in prober.read().readings] == [OK, OK]
    prober = probe(FakeNvml(Gpu(0), Gpu(1)), tmp_path)
    (tmp_path / "dev/kmsg").write_text("")
    prober.read()
    log(tmp_path, "NVRM: Xid (PCI:0000:3c:00): 31, pid=9, name=python, MMU Fault")
    log(tmp_path, "NVRM: Xid (PCI:0000:3c:00): 94, pid=9, Contained")
    log(tmp_path, "NVRM: Xid (PCI:0000:3c:00): 94, pid=9, Contained")
    first, second = prober.read().readings
    assert first.check.result is OK
    assert (second.check.result, second.check.code, second.facts.uuid) == (FAILED, "xid-94", "GPU-1")
    assert [reading.check.result for reading in prober.read().readings] == [OK, OK]


def test_an_xid_of_a_device_that_the_library_forgot_brings_it_back(tmp_path: Path) -> None:
    prober = probe(FakeNvml(Gpu(0)), tmp_path)
    prober.read()
    log(
        tmp_path,
        "NVRM: Xid (PCI:0000:aa:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    )
    _, lost = prober.read().readings
    assert (lost.facts.pci_bus_id, lost.check.result) == ("0000:aa:00.0", FATAL)


def test_an_unreadable_kernel_log_is_said_and_nothing_more(tmp_path: Path) -> None:
    prober = probe(FakeNvml(Gpu(0)), tmp_path)
    (tmp_path / "dev/kmsg").unlink()
    readout = prober.read()
    assert readout.readings[0].check.result is OK
    assert [said.code for said in readout.warnings] == ["tool-failed"]
