"""Which cores a job gets, and which of them its data loaders keep."""

from dataclasses import replace

from scheduling.engine.types import CpuClass, CpuInfo, Placed, Request
from tests.engine.build import POLICY, cpus, decide, device, node

SMT = cpus(16, numas=2, smt=True)
DEVICE_ON_1 = [device(1, numa=1)]


def place(layout: tuple[CpuInfo, ...], request: Request, **fields: object) -> Placed:
    return decide([node(1, DEVICE_ON_1, cpus=layout, **fields)], [request]).placed[0]


def test_cores_lie_in_the_numa_node_of_the_device() -> None:
    assert place(cpus(16, numas=2), Request(devices=1, cores=4)).cpus == (8, 9, 10, 11)


def test_the_numa_node_is_found_from_the_cpu_affinity() -> None:
    near = [device(1, cpu_affinity=(8, 9, 10))]
    placed = decide([node(1, near, cpus=cpus(16, numas=2))], [Request(devices=1, cores=2)]).placed[0]
    assert placed.cpus == (8, 9)


def test_siblings_stay_together() -> None:
    assert place(SMT, Request(devices=1, cores=4)).cpus == (4, 5, 12, 13)


def test_a_core_whose_sibling_is_booked_is_the_last_choice() -> None:
    layout = tuple(replace(c, booked=c.cpu == 12) for c in SMT)
    assert place(layout, Request(devices=1, cores=4)).cpus == (5, 6, 13, 14)


def test_an_odd_rest_splits_a_core_only_when_it_must() -> None:
    layout = (*cpus(4, smt=True), replace(cpus(1)[0], cpu=4, core=9))
    assert place(layout, Request(cores=3)).cpus == (0, 2, 4)
    assert place(cpus(4, smt=True), Request(cores=3)).cpus == (0, 1, 2)


def test_compute_takes_fast_cores_and_data_leaves_them() -> None:
    hybrid = tuple(replace(c, max_mhz=5000 if c.cpu >= 6 else 2000) for c in cpus(8))
    assert place(hybrid, Request(cores=2, cpu_class=CpuClass.COMPUTE)).cpus == (6, 7)
    assert place(hybrid, Request(cores=2, cpu_class=CpuClass.DATA)).cpus == (0, 1)
    assert place(hybrid, Request(cores=2, cpu_class=CpuClass.AUTO)).cpus == (6, 7)


def test_a_cpu_job_fills_the_tightest_numa_node_that_holds_it() -> None:
    layout = tuple(replace(c, booked=c.cpu in (8, 9, 10, 11)) for c in cpus(16, numas=2))
    assert place(layout, Request(cores=4)).cpus == (12, 13, 14, 15)
    assert place(layout, Request(cores=6)).cpus == (0, 1, 2, 3, 4, 5)
    assert place(layout, Request(cores=9)).cpus == (0, 1, 2, 3, 4, 5, 6, 7, 12)


def test_offline_and_reserved_cores_are_never_given() -> None:
    layout = tuple(replace(c, online=c.cpu != 8, reserved=c.cpu == 9) for c in cpus(16, numas=2))
    assert place(layout, Request(devices=1, cores=2)).cpus == (10, 11)


def test_loaders_get_a_quarter_and_half_for_data_work() -> None:
    training = place(cpus(16, numas=2), Request(devices=1, cores=8))
    assert (training.cpus, training.loader_cpus) == (tuple(range(8, 16)), (14, 15))
    data = place(cpus(16, numas=2), Request(devices=1, cores=8, cpu_class=CpuClass.DATA))
    assert data.loader_cpus == (12, 13, 14, 15)


def test_loaders_keep_whole_physical_cores() -> None:
    placed = place(SMT, Request(devices=1, cores=8))
    assert placed.loader_cpus == (7, 15)


def test_no_loader_cores_for_cpu_jobs_single_cores_or_against_the_policy() -> None:
    assert place(cpus(8), Request(cores=4)).loader_cpus == ()
    assert place(cpus(8), Request(devices=1, cores=1)).loader_cpus == ()
    together = replace(POLICY, isolate_data_loader=False)
    assert decide([node(1, DEVICE_ON_1)], [Request(devices=1, cores=4)], together).placed[0].loader_cpus == ()


def test_a_job_may_ask_for_no_core() -> None:
    assert place(cpus(8), Request(devices=1, cores=0)).cpus == ()
