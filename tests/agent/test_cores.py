"""Data loaders on the loader set, the rest on the work set: real processes, real affinity, real CPU time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.journal import Journal
from agent.protocol import AssignedDevice, CpuUse, TaskPhase, Vendor
from agent.runners.cores import CoreWatch
from agent.runners.memory import DeviceMemory
from agent.runners.process import ProcessRunner
from agent.runners.usage import descendants, process_table
from agent.task import Record
from tests.agent.conftest import AgentProcess, end_supervisors
from tests.agent.server import ControlPlane, assignment
from tests.waiting import eventually

USABLE = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(USABLE) < 2, reason="two sets of cores need two cores")
WORK, LOADER = USABLE[0], USABLE[-1]
SETS = {"cpus": [WORK, LOADER], "loader_cpus": [LOADER]}
WHOLE = AssignedDevice(Vendor.NVIDIA, 0, "GPU-1", None, 1000, 1000)
NAMED = "open('/proc/self/comm', 'w').write('pt_data_worker')"
# A worker with a thread of its own, both idle, beside a main process with another one.
TRAINING = f"""
import os, threading, time
def idle():
    threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
if os.fork() == 0:
    {NAMED}
    idle()
    open("worker", "w").write(str(os.getpid()))
    time.sleep(300)
idle()
open("main", "w").write(str(os.getpid()))
time.sleep(300)
"""
BURNING = f"""
import os, time
if os.fork() == 0:
    {NAMED}
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        pass
    os._exit(0)
open("main", "w").write(str(os.getpid()))
os.wait()
"""


@pytest.fixture
def runner(folder: Path) -> Iterator[ProcessRunner]:
    made = ProcessRunner(Journal(folder / "state"), jobs_dir=folder / "jobs")
    yield made
    made.close()
    end_supervisors(folder / "state")
    for live in made._live.values():
        assert live.process is not None and live.process.wait(timeout=20) is not None


def started(runner: ProcessRunner, *command: str, **changes: object) -> Record:
    wanted = assignment(1, *command, **{**SETS, **changes})
    record = Record(wanted, boot_id="b", created_at_ms=1, uid=runner.reserve(wanted))
    runner._journal.folder(record.key).mkdir()
    runner.start(record)
    eventually(lambda: runner.progress(record).phase is TaskPhase.RUNNING)
    return record


def pid_in(file: Path) -> int:
    return int(eventually(lambda: file.read_text() if file.exists() else None))


def cores_of(pid: int) -> list[set[int]]:
    """Of every thread."""
    return [os.sched_getaffinity(int(name)) for name in os.listdir(f"/proc/{pid}/task")]


def below(record: Record, folder: Path) -> dict[str, set[int]]:
    """Cores of the job's processes by the last word of their command."""
    supervisor = int((folder / "state/tasks" / record.key.folder / "start").read_text().split()[0][4:])
    found = {}
    for pid in descendants(process_table(), supervisor):
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        found[words[-2]] = os.sched_getaffinity(pid)
    return found


def test_workers_of_pytorch_and_all_their_threads_go_to_the_loader_cores(
    runner: ProcessRunner, folder: Path
) -> None:
    started(runner, "python3", "-c", TRAINING)
    main, worker = pid_in(folder / "jobs/1-1/main"), pid_in(folder / "jobs/1-1/worker")
    eventually(lambda: len(cores_of(main)) == len(cores_of(worker)) == 2)
    assert cores_of(main) == cores_of(worker) == [{WORK, LOADER}] * 2
    runner.measure()
    assert (cores_of(main), cores_of(worker)) == ([{WORK}] * 2, [{LOADER}] * 2)


def test_a_shell_job_sends_its_loader_there_itself_and_the_rest_makes_room(
    runner: ProcessRunner, folder: Path
) -> None:
    script = "taskset -c $HEADRACE_LOADER_CPUS sh -c 'sleep 301; :' & sleep 302 & wait"
    record = started(runner, "sh", "-c", script)
    eventually(lambda: below(record, folder).keys() >= {"301", "302"})
    runner.measure()
    assert {word: cores for word, cores in below(record, folder).items() if word.isdigit()} == {
        "301": {LOADER},
        "302": {WORK},
    }


def test_a_job_that_shows_no_loader_keeps_all_its_cores(runner: ProcessRunner, folder: Path) -> None:
    record = started(runner, "sh", "-c", "sleep 301 & sleep 302 & wait")
    eventually(lambda: below(record, folder).keys() >= {"301", "302"})
    runner.measure()
    assert set(map(frozenset, below(record, folder).values())) == {frozenset({WORK, LOADER})}


def test_what_is_forked_after_the_split_belongs_to_its_set_too(runner: ProcessRunner, folder: Path) -> None:
    script = (
        f"import os, time\nif os.fork() == 0:\n    {NAMED}\n    time.sleep(300)\n"
        "while not os.path.exists('go'): time.sleep(0.02)\n"
        "if os.fork() == 0:\n    open('late', 'w').write(str(os.getpid()))\n"
        f"    {NAMED}\n    time.sleep(300)\n"
        "time.sleep(300)\n"
    )
    started(runner, "python3", "-c", script)
    late = folder / "jobs/1-1/late"

    def looked(pids: list[int], cores: set[int]) -> bool:
        runner.measure()
        return cores in [os.sched_getaffinity(pid) for pid in pids]

    eventually(lambda: looked(python_pids(folder), {WORK}))
    (folder / "jobs/1-1/go").touch()
    worker = pid_in(late)
    assert os.sched_getaffinity(worker) == {WORK}
    eventually(lambda: looked([worker], {LOADER}))


def python_pids(folder: Path) -> list[int]:
    (start,) = (folder / "state/tasks").glob("*/start")
    supervisor = int(start.read_text().split()[0][4:])
    return sorted(descendants(process_table(), supervisor))


def spent(runner: ProcessRunner, record: Record, enough: Callable[[CpuUse], bool]) -> CpuUse:
    def look() -> CpuUse | None:
        runner.measure()
        use = runner.progress(record).cpu_use
        return use if use is not None and enough(use) else None

    return eventually(look)


def test_a_burning_loader_fills_its_set_and_is_told_apart(runner: ProcessRunner, folder: Path) -> None:
    record = started(runner, "python3", "-c", BURNING, devices=[WHOLE])
    pid_in(folder / "jobs/1-1/main")
    runner.guard(None, {"GPU-1": DeviceMemory(utilization_pct=30)})
    use = spent(runner, record, lambda use: use.seconds >= 3)
    assert use.device_pct == 30
    # Other programs of the machine may want the core, too.
    assert 300 <= (use.loader_milli or 0) <= use.used_milli <= 1200


def test_what_was_used_is_told_at_the_end(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    code = BURNING.replace("+ 60", "+ 4")
    server.want(assignment(1, "python3", "-c", code, **SETS))
    assert server.wait_task(1, TaskPhase.RUNNING).cpu_use is None
    use = server.wait_task(1, TaskPhase.ENDED).cpu_use
    assert use is not None and use.seconds >= 1 and use.device_pct is None
    assert use.loader_milli is not None and use.loader_milli <= use.used_milli + 50


def test_a_task_without_cores_or_with_one_look_has_no_figures() -> None:
    watch = CoreWatch()
    bare, bound = (
        Record(assignment(number, cpus=cpus), boot_id="b", created_at_ms=1)
        for number, cpus in ((1, []), (2, [WORK]))
    )
    for record in (bare, bound):
        watch.follow(record)
    watch.look({bare.key: [os.getpid()], bound.key: [os.getpid()]})
    assert watch.use(bare.key) is None and watch.use(bound.key) is None
    watch.look({bare.key: [os.getpid()], bound.key: [os.getpid()]})
    use = watch.use(bound.key)
    assert watch.use(bare.key) is None
    assert use is not None and use.loader_milli is None and use.device_pct is None
    watch.forget(bound.key)
    assert watch.use(bound.key) is None


def test_devices_count_only_while_all_are_known() -> None:
    watch = CoreWatch()
    two = [WHOLE, AssignedDevice(Vendor.NVIDIA, 1, "GPU-2", None, 1000, 1000)]
    record = Record(assignment(1, cpus=[WORK], devices=two), boot_id="b", created_at_ms=1)
    watch.follow(record)
    for second in (None, 50, 50):
        watch.see({"GPU-1": DeviceMemory(utilization_pct=10), "GPU-2": DeviceMemory(utilization_pct=second)})
        watch.look({record.key: [os.getpid()]})
    use = watch.use(record.key)
    assert use is not None and use.device_pct == 30
