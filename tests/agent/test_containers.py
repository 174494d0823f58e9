"""Jobs in containers: the agent as a process, a real podman, an image made here."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent import protocol
from agent.fact_files import number, read_facts
from agent.protocol import Assignment, CheckpointWay, ExitReason, TaskPhase, Want
from agent.runners.usage import descendants, process_table
from tests.agent.conftest import AgentProcess
from tests.agent.containers import (
    IMAGE,
    engine_command,
    make_image,
    one_file,
    programs,
    run,
    why_no_containers,
)
from tests.agent.server import ControlPlane, assignment
from tests.registry import Registry, serving
from tests.waiting import eventually

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(bool(why_no_containers()), reason=why_no_containers() or "-"),
]
PATIENCE_S = 25.0


@dataclass(frozen=True)
class Engine:
    """podman on a store of this module's."""

    command: list[str]
    folder: Path

    def names(self) -> list[str]:
        return run(self.command, "ps", "--all", "--format={{.Names}}").split()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    folder = Path(tempfile.mkdtemp(prefix="hr-podman-"))
    command = engine_command(folder)
    try:
        make_image(command, folder)
        yield Engine(command, folder)
        run(command, "rm", "--all", "--force")
    finally:
        subprocess.run([*command, "unshare", "true"], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def node(engine: Engine, agent: AgentProcess) -> AgentProcess:
    """An agent that runs containers, started."""
    agent.options = ("--container-engine", " ".join(engine.command), "--container-networks", "none,host")
    agent.options += ("--container-mounts", f"{agent.folder}/open,{agent.folder}/shown:ro")
    agent.options += ("--container-pull-options=--tls-verify=false",)
    for name in ("open", "shown", "closed"):
        (agent.folder / name).mkdir()
        (agent.folder / name).chmod(0o777)
    return agent.start()


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serving() as found:
        yield found


def contained(placement: int, *command: str, **changes: Any) -> Assignment:
    return assignment(placement, *command, image=changes.pop("image", IMAGE), **changes)


def sh(script: str) -> tuple[str, str, str]:
    return "sh", "-c", script


def test_a_container_runs_as_the_jobs_user_without_rights_on_its_cores(
    server: ControlPlane, node: AgentProcess, engine: Engine
) -> None:
    cpu = max(os.sched_getaffinity(0))
    script = "id -u; nproc; cat /proc/self/status; env; echo $$; exit 7"
    server.want(contained(1, *sh(script), cpus=[cpu], memory_mib=64, env={"MY_OWN": "a b  c"}))
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert (state.exit_code, state.reason, state.message) == (7, ExitReason.EXITED, "")
    assert state.uid is not None and 61184 <= state.uid <= 65519
    eventually(lambda: len(server.log(1)) == state.log_bytes)
    lines = server.log(1).decode().splitlines()
    assert lines[:2] == [str(state.uid), "1"]
    for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in lines
    assert {"MY_OWN=a b  c", "HEADRACE_JOB=1001", f"HEADRACE_CPUS={cpu}", "CUDA_VISIBLE_DEVICES="} <= set(
        lines
    )
    assert engine.names() == []


def test_the_pull_of_an_image_that_is_nowhere_fails_the_start_and_says_why(
    server: ControlPlane, node: AgentProcess
) -> None:
    server.want(contained(1, "true", image="localhost:1/no/such:1"))
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert (state.reason, state.exit_code) == (ExitReason.START_FAILED, None)
    assert "could not be fetched" in state.message and "localhost:1" in state.message
    assert state.pull is not None and not state.pull.done and state.pull.image == "localhost:1/no/such:1"


def test_a_pull_is_a_phase_of_its_own_that_outlives_the_agent(
    server: ControlPlane, node: AgentProcess, registry: Registry
) -> None:
    image = registry.put("team/steps:1", programs(), one_file("fact", b"known\n"))
    registry.open.clear()
    server.want(contained(1, *sh("cat /fact"), image=image))
    eventually(
        lambda: (s := server.task(1, TaskPhase.PREPARING)) and s.pull and s.pull.layers == 2,
        within_s=PATIENCE_S,
        what=lambda: str(server.reports[-1:]),
    )
    node.end(signal.SIGKILL)
    node.start()
    eventually(lambda: (s := server.task(1, TaskPhase.PREPARING)) and s.adopted, within_s=PATIENCE_S)
    pulling = server.wait_task(1, TaskPhase.PREPARING).pull
    assert pulling is not None and not pulling.done and pulling.image == image
    registry.open.set()
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert (state.exit_code, state.message) == (0, "")
    assert state.pull is not None and state.pull.done and (state.pull.ms or 0) >= (pulling.ms or 0)
    eventually(lambda: server.log(1) == b"known\n")
    sent = len(registry.sent)
    server.want(contained(2, *sh("cat /fact"), image=image))
    assert server.wait_task(2, TaskPhase.ENDED, PATIENCE_S).pull is None and len(registry.sent) == sent


def holding(text: bytes, folder: Path) -> list[Path]:
    """Files that hold a text."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if text in path.read_bytes()]


def told_to_processes(text: bytes) -> bool:
    """Whether any process has a text among its arguments or variables."""
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                if int(process.name) != os.getpid() and text in (process / name).read_bytes():
                    return True
    return False


def test_a_private_registry_gets_its_secret_and_nobody_else_does(
    server: ControlPlane, node: AgentProcess
) -> None:
    password = "wAlrus-44-tusk"
    with serving(user="robot", password=password) as registry:
        image = registry.put("team/model:1", programs(), one_file("weights", b"secret"))
        server.secrets["team-a"] = {registry.host: registry.wants}
        registry.open.clear()
        server.want(contained(1, *sh("env; echo done"), image=image, image_secret="team-a"))
        eventually(
            lambda: (s := server.task(1, TaskPhase.PREPARING)) and s.pull and s.pull.layers,
            within_s=PATIENCE_S,
        )
        (kept,) = holding(registry.wants.encode(), node.folder)
        assert kept.stat().st_mode & 0o777 == 0o600 and kept.stat().st_uid == 0
        assert kept.parent.stat().st_mode & 0o777 == 0o700
        for text in (registry.wants.encode(), password.encode()):
            assert not told_to_processes(text)
        registry.open.set()
        state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
        assert (state.exit_code, state.message) == (0, "") and not kept.exists()
        eventually(lambda: b"done\n" in server.log(1))
        assert "REGISTRY" not in server.log(1).decode() and server.secrets_asked == ["team-a"]

        sent = len(registry.sent)
        server.want(contained(2, "true", image=image))
        state = server.wait_task(2, TaskPhase.ENDED, PATIENCE_S)
        assert state.reason is ExitReason.START_FAILED and "could not be fetched" in state.message
        server.want(contained(3, *sh("exit 0"), image=image, image_secret="team-a"))
        state = server.wait_task(3, TaskPhase.ENDED, PATIENCE_S)
        assert (state.exit_code, state.pull) == (0, None) and len(registry.sent) == sent
        server.want(contained(4, "true", image=image, image_secret="team-b"))
        state = server.wait_task(4, TaskPhase.ENDED, PATIENCE_S)
        assert state.reason is ExitReason.START_FAILED and state.message.startswith("image_secret: team-b")
    for secret in (registry.wants, password):
        assert holding(secret.encode(), node.folder) == [] and secret not in node.log()
        assert all(secret.encode() not in protocol.encode(report) for report in server.reports)


@pytest.mark.parametrize("command", [("/no/such/program",), ("cat", "/no/such/file")])
def test_a_command_that_the_image_lacks_is_a_failed_start_and_a_failing_one_is_not(
    server: ControlPlane, node: AgentProcess, command: tuple[str, ...]
) -> None:
    server.want(contained(1, *command))
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    if command[0] == "cat":
        assert (state.reason, state.exit_code) == (ExitReason.EXITED, 1)
    else:
        assert state.reason is ExitReason.START_FAILED and "/no/such/program" in state.message


def test_a_container_over_its_memory_ends_with_that_reason(server: ControlPlane, node: AgentProcess) -> None:
    server.want(contained(1, *sh("x=0123456789abcdef; while :; do x=$x$x; done"), memory_mib=48))
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert state.reason is ExitReason.MEMORY_LIMIT and "limit of 48 MiB" in state.message


def test_cores_and_memory_of_a_container_are_walls_not_wishes(
    server: ControlPlane, node: AgentProcess
) -> None:
    cpu = max(os.sched_getaffinity(0))
    server.want(contained(1, "sleep", "1000", cpus=[cpu], memory_mib=64))
    running = server.wait_task(1, TaskPhase.RUNNING, PATIENCE_S)
    assert running.pid is not None and list(running.cpus) == [cpu]
    # Whatever an affinity is set to, the set of the group stands above it.
    os.sched_setaffinity(running.pid, os.sched_getaffinity(0))
    assert os.sched_getaffinity(running.pid) == {cpu}
    assert memory_limit_of(running.pid) == 64 << 20


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two sets of cores need two cores")
def test_loaders_in_a_container_get_their_own_cores(server: ControlPlane, node: AgentProcess) -> None:
    work, loader = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    script = "(printf pt_data_worker > /proc/self/comm; sleep 1000; :) & sleep 1000 & wait"
    server.want(contained(1, *sh(script), cpus=[work, loader], loader_cpus=[loader]))
    running = server.wait_task(1, TaskPhase.RUNNING, PATIENCE_S)
    first = running.pid
    assert first is not None

    # The loader's shell and its program; the job's own shell and program, and what starts both.
    def sides() -> list[set[int]]:
        own = descendants(process_table(), first) | {first}
        return [os.sched_getaffinity(pid) for pid in own]

    eventually(
        lambda: (now := sides()).count({loader}) == 2 and now.count({work}) == len(now) - 2 >= 2,
        within_s=PATIENCE_S,
        what=lambda: f"{work} and {loader} apart: {sides()}",
    )


def memory_limit_of(pid: int) -> int:
    """What the kernel lets the group of a process have, in bytes."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return int(Path(f"/sys/fs/cgroup/memory{path}/memory.limit_in_bytes").read_text())
        if not controllers and (limit := Path(f"/sys/fs/cgroup{path}/memory.max")).exists():
            return int(limit.read_text())
    raise AssertionError("it is in no group that limits memory")


@pytest.mark.parametrize("network", ["none", "host"])
def test_a_container_sees_nothing_of_the_node_nor_of_another_job(
    server: ControlPlane, node: AgentProcess, network: str
) -> None:
    neighbour = contained(1, *sh("umask 0; echo secret > $HOME/mine; echo ready; sleep 1000"))
    server.want(neighbour)
    eventually(lambda: server.log(1) == b"ready\n", within_s=PATIENCE_S)
    theirs = next((node.folder / "jobs").glob("1-*/mine"))
    with socket.socket(socket.AF_UNIX) as database:
        database.bind(str(node.folder / "closed/.s.PGSQL.5432"))
        database.listen()
        assert node.process is not None
        paths = [
            node.state / "node.json",
            theirs,
            node.folder / "closed/.s.PGSQL.5432",
            *node.state.glob("tasks/1-*/log"),
            Path(f"/proc/{node.process.pid}/environ"),
            Path("/etc/shadow"),
        ]
        assert all(path.exists() for path in paths) and len(paths) == 6
        script = "".join(f"[ -e {path} ] && cat {path}; " for path in paths) + "echo end"
        server.want(neighbour, contained(2, *sh(script), network=network))
        assert server.wait_task(2, TaskPhase.ENDED, PATIENCE_S).exit_code == 0
    eventually(lambda: b"end\n" in server.log(2))
    assert server.log(2) == b"end\n"


def test_shared_memory_has_the_asked_size(server: ControlPlane, node: AgentProcess) -> None:
    server.want(contained(1, *sh("df -m /dev/shm"), shared_memory_mib=33))
    assert server.wait_task(1, TaskPhase.ENDED, PATIENCE_S).exit_code == 0
    eventually(lambda: server.log(1).split()[-5:-4] == [b"33"], what=server.log(1).decode())


def test_mounts_are_those_that_the_node_gives(server: ControlPlane, node: AgentProcess) -> None:
    (node.folder / "shown/fact").write_text("known\n")
    mounts = [f"{node.folder}/open:/data/in", f"{node.folder}/shown:/shown"]
    server.want(
        contained(1, *sh("cat /shown/fact; echo made > /data/in/made; echo no > /shown/no"), mounts=mounts)
    )
    assert server.wait_task(1, TaskPhase.ENDED, PATIENCE_S).exit_code != 0
    assert (node.folder / "open/made").read_text() == "made\n" and not (node.folder / "shown/no").exists()
    (node.folder / "open/way-out").symlink_to(node.folder / "closed")
    for number_, path in ((2, "closed"), (3, "open/way-out"), (4, "open/../closed")):
        server.want(contained(number_, "true", mounts=[f"{node.folder}/{path}:/data"]))
        state = server.wait_task(number_, TaskPhase.ENDED, PATIENCE_S)
        assert state.reason is ExitReason.START_FAILED and state.message.startswith("mounts: ")


def test_a_network_that_the_node_does_not_give_is_refused(server: ControlPlane, node: AgentProcess) -> None:
    server.want(contained(1, "true", network="bridge"))
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert state.reason is ExitReason.START_FAILED and "none, host" in state.message


def test_a_container_that_ignores_the_polite_signal_is_killed(
    server: ControlPlane, node: AgentProcess, engine: Engine
) -> None:
    wanted = contained(1, *sh("trap '' TERM; echo ready; while :; do sleep 0.1; done"))
    server.want(wanted)
    running = server.wait_task(1, TaskPhase.RUNNING, PATIENCE_S)
    assert running.pid is not None and Path(f"/proc/{running.pid}").exists()
    eventually(lambda: server.log(1) == b"ready\n")
    server.want(contained(1, *wanted.command, want=Want.STOP))
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert (state.reason, state.signal) == (ExitReason.STOPPED, signal.SIGKILL)
    assert not Path(f"/proc/{running.pid}").exists() and engine.names() == []


def test_a_container_heeds_the_polite_signal(server: ControlPlane, node: AgentProcess) -> None:
    wanted = contained(
        1, *sh("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.1; done"), grace_s=30
    )
    server.want(wanted)
    eventually(lambda: server.log(1) == b"ready\n", within_s=PATIENCE_S)
    server.want(contained(1, *wanted.command, want=Want.STOP))
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert (state.reason, state.exit_code) == (ExitReason.STOPPED, 5)
    eventually(lambda: server.log(1) == b"ready\nbye\n")


def test_a_time_limit_holds_for_containers(server: ControlPlane, node: AgentProcess) -> None:
    server.want(contained(1, "sleep", "1000", time_limit_s=1))
    assert server.wait_task(1, TaskPhase.ENDED, PATIENCE_S).reason is ExitReason.TIME_LIMIT


def test_a_killed_agent_finds_its_container_again(server: ControlPlane, node: AgentProcess) -> None:
    gate = node.folder / "open/gate"
    script = "echo one; while [ ! -e /data/gate ]; do sleep 0.1; done; echo two; exit 5"
    server.want(contained(1, *sh(script), mounts=[f"{gate.parent}:/data"]))
    running = server.wait_task(1, TaskPhase.RUNNING, PATIENCE_S)
    assert running.memory_used_mib is None or running.memory_used_mib < 64
    node.end(signal.SIGKILL)
    node.start()
    eventually(lambda: (s := server.task(1, TaskPhase.RUNNING)) and s.adopted, within_s=PATIENCE_S)
    adopted = server.wait_task(1, TaskPhase.RUNNING)
    assert (adopted.pid, adopted.started_at_ms) == (running.pid, running.started_at_ms)
    gate.touch()
    assert server.wait_task(1, TaskPhase.ENDED, PATIENCE_S).exit_code == 5
    eventually(lambda: server.log(1) == b"one\ntwo\n")


def test_a_container_whose_supervisor_was_killed_is_removed_and_reported_once(
    server: ControlPlane, node: AgentProcess, engine: Engine
) -> None:
    server.want(contained(1, "sleep", "1000"))
    running = server.wait_task(1, TaskPhase.RUNNING, PATIENCE_S)
    node.end(signal.SIGKILL)
    pid = number(read_facts(next(node.state.glob("tasks/1-*/start"))).get("pid"))
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert Path(f"/proc/{running.pid}").exists()
    node.start()
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert state.reason is ExitReason.LOST_PROCESS
    eventually(lambda: not Path(f"/proc/{running.pid}").exists(), within_s=PATIENCE_S)
    assert engine.names() == []


def test_containers_of_no_known_task_are_removed_at_the_start(
    server: ControlPlane, node: AgentProcess, engine: Engine
) -> None:
    server.want(contained(1, "sleep", "1000"))
    running = server.wait_task(1, TaskPhase.RUNNING, PATIENCE_S)
    node.end(signal.SIGKILL)
    folder = next(node.state.glob("tasks/1-*"))
    pid = number(read_facts(folder / "start").get("pid"))
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)
    server.want()
    node.start()
    eventually(lambda: engine.names() == [], within_s=PATIENCE_S)
    assert not Path(f"/proc/{running.pid}").exists()


def test_a_flood_of_output_is_capped_and_stops_nothing(server: ControlPlane, node: AgentProcess) -> None:
    began_s = time.monotonic()
    server.want(contained(1, *sh("head -c 90000000 /dev/zero; exit 3")))
    state = server.wait_task(1, TaskPhase.ENDED, PATIENCE_S)
    assert state.exit_code == 3 and (64 << 20) <= state.log_bytes < (64 << 20) + 200
    assert time.monotonic() - began_s < PATIENCE_S


def test_a_client_that_loses_its_engine_comes_back(server: ControlPlane, node: AgentProcess) -> None:
    """As when the engine restarts: its client is gone, the container is not."""
    server.want(contained(1, *sh("i=0; while :; do echo tick $i; i=$((i + 1)); sleep 0.2; done")))
    before = server.wait_task(1, TaskPhase.RUNNING, PATIENCE_S)
    eventually(lambda: b"tick 1\n" in server.log(1), within_s=PATIENCE_S)
    (start,) = node.state.glob("tasks/*/start")
    supervisor = read_facts(start)["pid"]
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children")
    clients = eventually(lambda: children.read_text().split())
    for client in clients:
        os.kill(int(client), signal.SIGKILL)
    seen = len(server.log(1))
    eventually(lambda: len(server.log(1)) > seen + 50, within_s=PATIENCE_S)
    assert server.wait_task(1, TaskPhase.RUNNING).pid == before.pid
    server.want()
    eventually(lambda: not server.reports[-1].tasks, within_s=PATIENCE_S)


def test_a_container_makes_a_checkpoint_and_a_later_one_goes_on_from_there(
    server: ControlPlane, node: AgentProcess
) -> None:
    way = CheckpointWay(signal="USR1", timeout_s=20)
    script = 'echo ready; trap "echo 5 > $HEADRACE_CHECKPOINT_DONE" USR1; while :; do sleep 0.1; done'
    server.want(contained(1, *sh(script), checkpoint=way))
    eventually(lambda: server.log(1) == b"ready\n", within_s=PATIENCE_S)
    server.want(contained(1, *sh(script), checkpoint=way, checkpoint_asked=1))
    eventually(lambda: (s := server.task(1)) and s.checkpoint and s.checkpoint.asked)
    state = server.wait_task(1, TaskPhase.RUNNING)
    assert state.checkpoint is not None and state.checkpoint.problem == ""
    path = state.checkpoint.path
    assert (Path(path) / "complete").read_text() == "5\n"
    more = {"fence": 2, "attempt": 2, "checkpoint": way, "resume_from": path}
    server.want(contained(1, *sh("cat $HEADRACE_RESUME_DIR/complete"), **more))
    eventually(lambda: server.log(1) == b"ready\n5\n", within_s=PATIENCE_S, what=str(server.logs))
