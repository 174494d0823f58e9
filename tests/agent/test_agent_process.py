"""The agent as a process against a control plane on a real socket."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.protocol import ExitReason, TaskPhase, Want
from agent.runners.usage import start_ticks
from tests.agent.conftest import CLONE, AgentProcess
from tests.agent.server import ControlPlane, assignment
from tests.waiting import eventually

pytestmark = pytest.mark.acceptance
PYTHON = "/usr/bin/python3"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give jobs users of their own")
SAMPLES = Path(__file__).parent / "samples"
IGNORES_TERM = "trap '' TERM; echo ready; while :; do sleep 0.1; done"


def test_a_job_runs_on_its_cores_and_its_exit_code_and_log_arrive(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    cpu = max(os.sched_getaffinity(0))
    code = "import os; e = os.environ; print(sorted(os.sched_getaffinity(0)), e['HEADRACE_JOB'],"
    code += " os.getcwd() == e['HOME'])"
    server.want(assignment(1, PYTHON, "-c", f"{code}; raise SystemExit(7)", cpus=[cpu]))
    state = server.wait_task(1, TaskPhase.ENDED)
    assert (state.exit_code, state.reason, state.cpus) == (7, ExitReason.EXITED, [cpu])
    eventually(lambda: server.log(1) == f"[{cpu}] 1001 True\n".encode(), what=f"log {server.log(1)!r}")
    assert state.log_bytes == len(server.log(1))
    server.want()
    eventually(lambda: not server.reports[-1].tasks)
    eventually(lambda: not list(agent.state.glob("spool/*")) and not list((agent.folder / "jobs").iterdir()))


def test_the_first_report_says_what_the_node_is(server: ControlPlane, agent: AgentProcess) -> None:
    agent.options = ("--labels", "rack=9", "--node-set", "lab", "--reserved-cpus", "0")
    agent.start()
    eventually(lambda: server.reports)
    report = server.reports[0]
    facts = report.facts
    assert facts is not None and facts.cpus and facts.memory_mib
    assert "cores-not-enforced" in [said.code for said in facts.notices]
    assert (facts.labels, facts.node_set, facts.reserved_cpus) == ({"rack": "9"}, "lab", [0])
    assert facts.isolates_users == (os.geteuid() == 0)
    assert server.enrolments[0].machine_id == facts.machine_id
    eventually(
        lambda: len(server.reports) > 3 and server.reports[-1].facts is None
    )  # sent again only when changed
    assert server.reports[-1].clock is not None and server.reports[-1].node is not None
    server.want_facts = True
    seen = server.facts_seen
    eventually(lambda: server.facts_seen > seen)


@needs_root
def test_every_job_has_an_unprivileged_user_of_its_own(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    code = (
        "import os; s = open('/proc/self/status').read().split('\\n');"
        "print(os.getuid(), os.getgid(), os.getgroups(), os.umask(0),"
        " [l.split()[1] for l in s if l[:7] in ('CapEff:', 'CapBnd:', 'NoNewPr')], sorted(os.listdir('/proc/self/fd')))"
    )
    server.want(*[assignment(number, PYTHON, "-c", code) for number in (1, 2)])
    states = [server.wait_task(number, TaskPhase.ENDED) for number in (1, 2)]
    uids = {state.uid for state in states}
    assert len(uids) == 2 and all(uid is not None and 61184 <= uid <= 65519 for uid in uids)
    none = "0000000000000000"
    for number, state in zip((1, 2), states, strict=True):
        expected = f"{state.uid} {state.uid} [] 63 ['{none}', '{none}', '1'] ['0', '1', '2', '3']\n"
        eventually(lambda n=number, e=expected: server.log(n).decode() == e, what=server.log(number).decode())  # type: ignore[misc]


@needs_root
def test_a_job_cannot_read_the_agents_secrets(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(assignment(1, "cat", str(agent.state / "node.json")))
    assert server.wait_task(1, TaskPhase.ENDED).exit_code == 1
    eventually(lambda: b"Permission denied" in server.log(1))


def test_a_killed_agent_finds_its_job_again_and_its_exit_code(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    gate = agent.folder / "gate"
    script = f"echo one; while [ ! -e {gate} ]; do sleep 0.05; done; echo two; exit 5"
    server.want(assignment(1, "sh", "-c", script))
    running = server.wait_task(1, TaskPhase.RUNNING)
    agent.end(signal.SIGKILL)
    agent.start()
    eventually(lambda: (s := server.task(1, TaskPhase.RUNNING)) and s.adopted)
    adopted = server.wait_task(1, TaskPhase.RUNNING)
    assert (adopted.pid, adopted.started_at_ms) == (running.pid, running.started_at_ms)
    gate.touch()
    ended = server.wait_task(1, TaskPhase.ENDED)
    assert (ended.exit_code, ended.started_at_ms) == (5, running.started_at_ms)
    eventually(lambda: server.log(1) == b"one\ntwo\n")


def test_a_job_that_ends_while_no_agent_runs_keeps_its_result(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    gate = agent.folder / "gate"
    server.want(assignment(1, "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; echo late; exit 9"))
    server.wait_task(1, TaskPhase.RUNNING)
    agent.end(signal.SIGKILL)
    gate.touch()
    eventually(lambda: list(agent.state.glob("tasks/*/exit")))
    agent.start()
    assert server.wait_task(1, TaskPhase.ENDED).exit_code == 9
    eventually(lambda: server.log(1) == b"late\n")


def test_a_fault_that_never_reached_the_server_outlives_a_killed_agent(
    server: ControlPlane, agent: AgentProcess
) -> None:
    tool = agent.folder / "tt-smi"
    said = agent.folder / "said.json"
    tool.write_text(f"#!/bin/sh\ncat {said}\n")
    tool.chmod(0o755)
    said.write_text((SAMPLES / "tenstorrent/sick.json").read_text())
    agent.path = f"{agent.folder}:{os.environ['PATH']}"
    agent.start()
    eventually(lambda: any(report.checks for report in server.reports))
    bad = [check for check in server.reports[-1].checks if check.result in ("failed", "fatal")]
    server.report_refusal = (503, {"code": "down", "detail": "", "status": 503})
    untold = agent.state / "untold"
    eventually(lambda: untold.is_file() and b"failed" in untold.read_bytes(), what=agent.log)
    agent.end(signal.SIGKILL)
    said.write_text("{}")
    server.reports.clear()
    server.report_refusal = None
    agent.start()
    eventually(lambda: server.reports)
    told = {check.device: check.code for check in server.reports[0].checks}
    assert len(bad) == 3 and told.items() >= {(check.device, check.code) for check in bad}


def test_a_job_that_ignores_the_polite_signal_is_killed_with_all_it_started(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    mark = agent.folder / "pids"
    mark.touch(mode=0o666)
    mark.chmod(0o666)
    runaway = f"setsid sh -c 'echo $$ > {mark}; {IGNORES_TERM.replace(chr(39), chr(34))}' &"
    wanted = assignment(1, "sh", "-c", f"{runaway} {IGNORES_TERM}")
    server.want(wanted)
    server.wait_task(1, TaskPhase.RUNNING)
    runaway_pid = int(eventually(lambda: mark.read_text().strip()))
    server.want(assignment(1, *wanted.command, want=Want.STOP))
    state = server.wait_task(1, TaskPhase.ENDED)
    assert (state.reason, state.signal) == (ExitReason.STOPPED, signal.SIGKILL)
    assert not Path(f"/proc/{runaway_pid}").exists()


def test_what_a_job_leaves_behind_dies_with_it(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(assignment(1, "sh", "-c", "setsid sleep 600 & echo $!; exit 0"))
    assert server.wait_task(1, TaskPhase.ENDED).exit_code == 0
    pid = int(eventually(lambda: server.log(1)))
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        (["no-such-command"], 127, "command not found: no-such-command"),
        (["/etc/passwd"], 126, "cannot run /etc/passwd"),
        ([], 126, "no command"),
    ],
)
def test_a_command_that_cannot_run_is_a_failed_start(
    server: ControlPlane, agent: AgentProcess, command: list[str], code: int, text: str
) -> None:
    agent.start()
    wanted = assignment(1)
    server.want(
        type(wanted)(
            **{name: getattr(wanted, name) for name in wanted.__struct_fields__} | {"command": command}
        )
    )
    state = server.wait_task(1, TaskPhase.ENDED)
    assert (state.reason, state.exit_code) == (ExitReason.START_FAILED, code) and text in state.message


def test_the_time_limit_ends_a_job(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(assignment(1, "sleep", "600", time_limit_s=1))
    state = server.wait_task(1, TaskPhase.ENDED)
    assert (state.reason, state.signal) == (ExitReason.TIME_LIMIT, signal.SIGTERM) and "1 s" in state.message


def test_cores_that_are_not_here_fail_the_start(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(assignment(1, "true", cpus=[min(os.sched_getaffinity(0)), 4000]))
    state = server.wait_task(1, TaskPhase.ENDED)
    assert state.reason is ExitReason.START_FAILED and "4000" in state.message


def test_a_killed_supervisor_takes_its_job_along_and_that_is_said(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    server.want(assignment(1, "sleep", "600"))
    running = server.wait_task(1, TaskPhase.RUNNING)
    (start,) = agent.state.glob("tasks/*/start")
    supervisor = int(start.read_text().split("pid=")[1].split()[0])
    os.kill(supervisor, signal.SIGKILL)
    state = server.wait_task(1, TaskPhase.ENDED)
    assert state.reason is ExitReason.LOST_PROCESS
    eventually(lambda: not Path(f"/proc/{running.pid}").exists())


def test_while_the_server_is_away_jobs_run_on_and_nothing_is_lost(folder: Path) -> None:
    plane = ControlPlane()
    agent = AgentProcess(plane.url, folder).start()
    try:
        gate = folder / "gate"
        script = f"echo before; while [ ! -e {gate} ]; do sleep 0.05; done; echo after; exit 4"
        plane.want(assignment(1, "sh", "-c", script))
        plane.wait_task(1, TaskPhase.RUNNING)
        eventually(lambda: plane.log(1) == b"before\n")
        plane.close()
        gate.touch()
        eventually(lambda: list(agent.state.glob("tasks/*/exit")))
        returned = ControlPlane(port=plane.server_port)
        returned.epoch, returned.desired, returned.logs = plane.epoch, plane.desired, dict(plane.logs)
        assert returned.wait_task(1, TaskPhase.ENDED, timeout_s=30).exit_code == 4
        eventually(lambda: returned.log(1) == b"before\nafter\n", what=str(returned.logs))
        returned.close()
    finally:
        agent.end(signal.SIGKILL)


def test_foreign_older_and_unauthoritative_replies_change_nothing(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    server.want(assignment(1, "sleep", "600"))
    before = server.wait_task(1, TaskPhase.RUNNING)
    for change in ({"cluster_id": "other", "epoch": 99}, {"epoch": 0}, {"authoritative": False, "epoch": 99}):
        kept = {name: getattr(server, name) for name in ("cluster_id", "epoch", "authoritative", "desired")}
        vars(server).update(change | {"desired": []})
        seen = len(server.reports)
        eventually(lambda seen=seen: len(server.reports) > seen + 2)  # type: ignore[misc]
        vars(server).update(kept)
    state = server.wait_task(1, TaskPhase.RUNNING)
    assert state.pid == before.pid and Path(f"/proc/{state.pid}").exists()


def test_a_superseded_attempt_ends_before_its_successor_starts(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    server.want(assignment(1, "sleep", "600"))
    old = server.wait_task(1, TaskPhase.RUNNING)
    server.want(assignment(1, "sleep", "600", attempt=2, fence=2))
    eventually(lambda: (s := server.task(1, TaskPhase.RUNNING)) and s.fence == 2)
    assert not Path(f"/proc/{old.pid}").exists()
    ended = [
        s for report in server.reports for s in report.tasks if s.fence == 1 and s.phase is TaskPhase.ENDED
    ]
    assert ended and ended[0].reason is ExitReason.STOPPED


def test_an_observer_never_runs_anything(server: ControlPlane, agent: AgentProcess) -> None:
    agent.options = ("--observe-only",)
    agent.start()
    mark = agent.folder / "ran"
    server.want(assignment(1, "touch", str(mark)))
    state = server.wait_task(1, TaskPhase.ENDED)
    assert state.reason is ExitReason.START_FAILED and "observe-only" in state.message and not mark.exists()


def test_the_log_goes_on_where_the_server_stands(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    gate = agent.folder / "gate"
    script = f"{PYTHON} -c 'print(\"x\" * 99999)'; while [ ! -e {gate} ]; do sleep 0.05; done; echo end"
    server.want(assignment(1, "sh", "-c", script))
    eventually(lambda: len(server.log(1)) == 100_000)
    server.logs[1, 1, 1] = server.logs[1, 1, 1][:50_000]  # a server that lost the tail
    gate.touch()
    server.wait_task(1, TaskPhase.ENDED)
    eventually(lambda: server.log(1) == b"x" * 99_999 + b"\nend\n")


def test_a_revoked_token_stops_no_job(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    server.want(assignment(1, "sleep", "600"))
    state = server.wait_task(1, TaskPhase.RUNNING)
    server.report_refusal = (401, {"code": "token-revoked", "detail": "revoked"})
    eventually(lambda: "token-revoked" in agent.log())
    assert Path(f"/proc/{state.pid}").exists() and "node-token" not in agent.log()


def test_a_refused_enrolment_says_what_to_do(server: ControlPlane, agent: AgentProcess) -> None:
    server.enrol_refusal = (409, {"code": "duplicate-machine", "detail": "node 3 is alive"})
    agent.start()
    assert agent.process is not None and agent.process.wait(timeout=20) == 2
    assert "machine-id" in agent.log() and "node 3 is alive" in agent.log()


def test_a_second_agent_on_the_same_state_is_refused(server: ControlPlane, agent: AgentProcess) -> None:
    agent.start()
    eventually(lambda: server.reports)
    second = AgentProcess(agent.url, agent.folder).start()
    assert second.process is not None and second.process.wait(timeout=20) == 2
    assert "another agent" in agent.log()


def test_the_agent_stops_at_once_and_leaves_its_jobs_or_ends_them_if_told(
    server: ControlPlane, agent: AgentProcess
) -> None:
    agent.start()
    server.want(assignment(1, "sleep", "600"))
    pid = server.wait_task(1, TaskPhase.RUNNING).pid
    began_s = time.monotonic()
    assert agent.end() == 0 and time.monotonic() - began_s < 5
    assert Path(f"/proc/{pid}").exists()
    agent.options = ("--stop-jobs-on-exit",)
    seen = len(server.reports)
    agent.start()
    eventually(lambda: len(server.reports) > seen)
    assert agent.end() == 0
    assert not Path(f"/proc/{pid}").exists()


def test_a_hanging_tool_costs_unknown_checks_and_one_process(
    server: ControlPlane, agent: AgentProcess
) -> None:
    """C32."""
    tools = agent.folder / "bin"
    tools.mkdir()
    tool = tools / "nvidia-smi"
    memory = "<fb_memory_usage><total>100 MiB</total><used>1 MiB</used></fb_memory_usage>"
    gpu = f'<gpu id="00000000:3B:00.0"><uuid>GPU-a</uuid>{memory}</gpu>'
    tool.write_text(
        f"#!/bin/sh\n[ -e {agent.folder}/hang ] && echo $$ >> {agent.folder}/hanging && exec sleep 600\n"
        f"[ \"$1\" = topo ] && exit 0\necho '<nvidia_smi_log>{gpu}</nvidia_smi_log>'\n"
    )
    tool.chmod(0o755)
    agent.path = f"{tools}:{os.environ['PATH']}"
    agent.start()
    eventually(lambda: server.reports and [c.result for c in server.reports[-1].checks] == ["ok"])
    (agent.folder / "hang").touch()
    report = eventually(
        lambda: next((r for r in server.reports if [c.result for c in r.checks] == ["unknown"]), None),
        within_s=40,
    )
    assert report.checks[0].device == "GPU-a" and "no answer" in report.checks[0].evidence
    facts = eventually(
        lambda: next((r.facts for r in server.reports if r.facts and r.facts.notices[-1:]), None)
    )
    assert [device.uuid for device in facts.devices] == ["GPU-a"]

    def asked() -> list[str]:
        return (agent.folder / "hanging").read_text().split()

    eventually(lambda: len(asked()) > 1, within_s=60)
    assert sum(start_ticks(int(pid)) != 0 for pid in asked()) <= 1


def test_parse_and_version_on_the_command_line(folder: Path) -> None:
    sample = folder / "lost.txt"
    sample.write_text("Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.\n")
    argv = [sys.executable, "-m", "agent", "parse", "nvidia", str(sample), str(sample)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=CLONE, check=True)
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first == second and first["devices"][0]["health"] == "unhealthy"
    missing = subprocess.run([*argv[:5], "/no/file"], capture_output=True, text=True, cwd=CLONE)
    assert missing.returncode == 1 and "/no/file" in missing.stderr
