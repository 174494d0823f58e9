"""Looks over SSH at a real sshd: what comes of a good one, and of all that can go wrong."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agent.vendors import PROBES
from agent.vendors.command import CommandProbe
from controlplane.alerts.models import Alert
from controlplane.policy.active import active_policy
from inventory import streams
from inventory.models import Device, DeviceHealth, Node, NodeContact, NodeState, RemoteHost
from inventory.remote import commands, hosts, keys, looking, ssh
from inventory.remote.probing import probe
from tests.inventory.sshd import END_SESSION, listening, nvidia_smi
from tests.waiting import eventually

pytestmark = pytest.mark.django_db
SAMPLES = Path(__file__).parents[1] / "agent/samples"


def look_again() -> RemoteHost:
    """One tick at everything, due or not."""
    RemoteHost.objects.update(due_at="2020-01-01T00:00Z")
    probe(active_policy().health)
    return RemoteHost.objects.get()


@pytest.fixture
def quick(monkeypatch):
    """Nobody waits seconds for what hangs."""
    short = {"limit_s": 1}
    monkeypatch.setattr(commands, "OF_TOOLS", [replace(one, **short) for one in commands.OF_TOOLS])
    monkeypatch.setattr(ssh, "HANDSHAKE_LIMIT_S", 0.6)


def test_a_node_is_found_with_its_devices_and_is_ready(machine, valkey_url):
    machine.tool("nvidia-smi", nvidia_smi(0, 1))
    machine.host()
    before = streams.waiting()
    host = look_again()
    assert (host.problem, host.failures, host.claim) == ("", 0, "")
    node = host.node
    assert node.state == NodeState.READY and node.machine_id == "5ca1ab1e" * 4
    assert node.cpu_count and node.memory_mib and node.agent_version == ""
    devices = list(node.devices.order_by("index"))
    assert [device.health for device in devices] == [DeviceHealth.HEALTHY] * 2
    assert {device.model for device in devices} == {"NVIDIA L40S"}
    contact = node.contact
    assert contact.received_at and contact.checks_at and contact.address == "127.0.0.1"
    assert abs(contact.clock_offset_us) < 60_000_000 and contact.clock_uncertainty_us > 0
    assert streams.waiting() == before + 1


def test_the_next_look_changes_nothing_that_scheduling_sees(machine):
    machine.tool("nvidia-smi", nvidia_smi(0))
    machine.host()
    look_again()
    before = Node.objects.get()
    contact = NodeContact.objects.get()
    host = look_again()
    after = Node.objects.get()
    assert (after.revision, after.facts_digest) == (before.revision, before.facts_digest)
    assert NodeContact.objects.get().received_at > contact.received_at and host.problem == ""


def test_a_device_that_was_there_and_is_no_longer_is_quarantined(machine):
    machine.tool("nvidia-smi", nvidia_smi(0, 1))
    machine.host()
    look_again()
    machine.tool("nvidia-smi", nvidia_smi(0))
    look_again()
    stayed, dropped = Device.objects.order_by("index")
    assert stayed.health == DeviceHealth.HEALTHY
    assert (dropped.health, dropped.health_reason) == (DeviceHealth.QUARANTINED, "card-dropped")


def test_new_memory_errors_count_and_old_ones_do_not(machine):
    machine.tool("nvidia-smi", nvidia_smi(0, errors=7))
    machine.host()
    look_again()
    assert Device.objects.get().health == DeviceHealth.HEALTHY
    machine.tool("nvidia-smi", nvidia_smi(0, errors=8))
    look_again()
    device = Device.objects.get()
    assert device.health == DeviceHealth.SUSPECT and "7 -> 8" in device.health_evidence


def test_a_fault_in_the_kernel_log_counts_once(machine):
    machine.tool("nvidia-smi", nvidia_smi(0))
    machine.tool("dmesg", "[    5.000001] Linux\n")
    machine.host()
    look_again()
    line = "NVRM: Xid (PCI:0000:41:00): 74, pid=1, name=x, NVLink: fatal error detected on link 3"
    machine.tool("dmesg", f"[99999999.000001] {line}\n")
    look_again()
    assert Device.objects.get().health == DeviceHealth.SUSPECT
    look_again()
    assert Device.objects.get().health == DeviceHealth.HEALTHY


def test_slices_of_ascend_devices_are_read_board_by_board(machine):
    folder = SAMPLES / "ascend"
    answers = {
        "info": "910b2-four-healths.txt",
        "info -m": "mapping-910b.txt",
        "info -t ecc -i 0": "ecc-910b.txt",
        "info -t info-vnpu -i 0 -c 0": "vnpu-two-slices.txt",
    }
    cases = "\n".join(f'"{asked}") cat "{folder / name}" ;;' for asked, name in answers.items())
    machine.tool("npu-smi", f'#!/bin/sh\ncase "$*" in\n{cases}\n*) exit 1 ;;\nesac\n')
    machine.host()
    assert look_again().problem == ""
    slices = Device.objects.exclude(parent=None).order_by("uuid")
    assert [one.uuid for one in slices] == ["0000:c1:00.0/vnpu132", "0000:c1:00.0/vnpu133"]
    assert [one.memory_total_mib for one in slices] == [16384, 8192]


def test_another_host_key_than_the_confirmed_is_refused_before_anything_is_said(machine):
    keys.make("strange")
    machine.host(host_key=keys.public_line(keys.load("strange")))
    host = look_again()
    assert (host.problem, host.node, host.failures) == ("host-key-changed", None, 1)
    assert host.problem_detail == keys.fingerprint(keys.parse_host_key(machine.host_key))
    assert "Accepted" not in machine.log and not Node.objects.exists()


def test_a_changed_host_key_is_an_alert_until_the_old_one_is_back(machine):
    machine.host()
    look_again()
    received_at = NodeContact.objects.get().received_at
    old = (machine.folder / "host_key").read_bytes()
    machine.stop()
    machine.new_host_key()
    machine.start()
    host = look_again()
    assert host.problem == "host-key-changed" and NodeContact.objects.get().received_at == received_at
    alert = Alert.objects.get(code=hosts.HOST_KEY_ALERT, cleared_at=None)
    assert alert.subject_id == str(host.node_id) and alert.details["shown"].startswith("SHA256:")
    machine.stop()
    (machine.folder / "host_key").write_bytes(old)
    machine.start()
    assert look_again().problem == ""
    assert not Alert.objects.filter(code=hosts.HOST_KEY_ALERT, cleared_at=None).exists()


def test_a_refused_key_and_an_unusable_one_say_so(machine):
    row = machine.host()
    machine.let_in()
    assert look_again().problem == "key-refused"
    path = keys.folder() / "fleet"
    path.chmod(0o644)
    assert look_again().problem == "key-unusable"
    path.chmod(0o600)
    path.write_text("nothing")
    assert look_again().problem == "key-unusable"
    path.unlink()
    assert look_again().problem == "key-missing"
    RemoteHost.objects.filter(pk=row.pk).update(key="../fleet")
    assert look_again().problem == "key-missing"


def test_a_tool_that_hangs_is_unknown_and_left_alone_for_a_while(machine, quick):
    machine.tool("nvidia-smi", nvidia_smi(0))
    machine.host()
    look_again()
    ran = machine.folder / "ran"
    machine.tool("nvidia-smi", f"#!/bin/sh\necho x >> {ran}\nexec sleep 600\n")
    host = look_again()
    assert host.problem == "" and host.paused["nvidia-smi"]["times"] == 1
    assert NodeState(host.node.state) is NodeState.READY
    assert Device.objects.get().unknown_checks == 1
    look_again()
    look_again()
    device = Device.objects.get()
    assert device.health == DeviceHealth.UNKNOWN and ran.read_text() == "x\n"
    assert "did not end in time" in device.health_evidence


def test_a_flood_from_one_tool_does_not_hurt_the_others(machine, monkeypatch):
    small = [replace(one, most_bytes=1 << 16) for one in commands.OF_TOOLS]
    monkeypatch.setattr(commands, "OF_TOOLS", small)
    machine.tool("nvidia-smi", nvidia_smi(0))
    machine.tool("cnmon", "#!/bin/sh\nexec cat /dev/zero\n")
    machine.host()
    host = look_again()
    assert host.problem == "" and Device.objects.get().health == DeviceHealth.HEALTHY


def test_a_flood_where_the_machine_should_name_itself_is_cut_off(machine, monkeypatch):
    monkeypatch.setattr(commands, "LOOK", replace(commands.LOOK, most_bytes=1 << 16))
    machine.tool("grep", "#!/bin/sh\nexec cat /dev/zero\n")
    machine.host()
    assert look_again().problem == "too-much-output"


def test_a_machine_that_cannot_name_itself_to_the_end_gives_no_report(machine):
    grep = (machine.folder / "bin/grep").read_text()
    machine.tool("grep", grep.replace("for a;", 'case "$*" in *stat) kill -9 $$ ;; esac\nfor a;'))
    machine.host()
    host = look_again()
    assert (host.problem, host.node) == ("not-understood", None) and "exit status 3" in host.problem_detail


def test_a_clock_that_floods_is_no_clock_and_leaves_nothing_behind(machine):
    machine.tool("date", "#!/bin/sh\nexec cat /dev/zero\n")
    machine.tool("podman", "#!/bin/sh\nexec yes\n")
    machine.tool("nvidia-smi", nvidia_smi(0))
    machine.host()
    host = look_again()
    assert host.problem == "" and host.node.contact.clock_offset_us is None
    eventually(lambda: not machine.left_behind(), what="the end of all sessions")


def test_what_hangs_is_killed_on_the_node_with_all_that_it_started(machine, quick, monkeypatch):
    monkeypatch.setattr(commands, "LOOK", replace(commands.LOOK, limit_s=1))
    machine.tool("date", "#!/bin/sh\ntrap '' TERM HUP\nsleep 600 & sleep 600; echo\n")
    machine.host()
    assert look_again().problem == "timed-out"
    eventually(lambda: not machine.left_behind(), what="the end of all sessions")


def test_a_node_without_timeout_ends_what_hangs_by_itself(tmp_path, monkeypatch):
    for name in ("sh", "env", "sleep"):
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setattr(commands, "_FOLDERS", (str(tmp_path),))
    hangs = commands.Command("x", "sleep 600; echo late", limit_s=1, most_bytes=1)
    well = commands.Command("x", 'echo "$PATH"; exit 3', limit_s=9, most_bytes=1)
    run = partial(subprocess.run, start_new_session=True, stdout=subprocess.PIPE, env={"PATH": str(tmp_path)})
    begun = time.monotonic()
    # The pipe is at its end when nothing holds it any more.
    assert run(["sh", "-c", hangs.line]).returncode == -signal.SIGKILL
    ended = run(["sh", "-c", well.line])
    assert (ended.returncode, ended.stdout) == (3, f"{tmp_path}:{tmp_path}\n".encode())
    assert time.monotonic() - begun < 8


def test_a_connection_that_is_closed_in_the_middle_gives_no_report(machine):
    machine.tool("nvidia-smi", f"#!/bin/sh\n{END_SESSION}")
    machine.host()
    host = look_again()
    assert host.problem == "connection-lost" and host.node is None


def test_what_is_no_text_is_no_reading_and_no_fault_of_ours(machine):
    machine.tool("nvidia-smi", nvidia_smi(0).encode().replace(b"NVIDIA L40S", b"NVIDIA \xd0\x4c\x00\xff\xfe"))
    machine.tool("npu-smi", bytes(range(256)) * 40)
    machine.host()
    assert look_again().problem == ""
    assert Device.objects.count() == 1 and "\x00" not in (Device.objects.get().model or "")


def test_noise_of_the_login_shell_is_passed_over(machine):
    machine.tool(
        "nvidia-smi", "#!/bin/sh\necho Welcome to the machine\necho 'Last login: x' >&2\ncat $0.txt\n"
    )
    (machine.folder / "bin/nvidia-smi.txt").write_text(nvidia_smi(0))
    machine.host()
    assert look_again().problem == "" and Device.objects.get().health == DeviceHealth.HEALTHY


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (lambda peer: None, "not-ssh"),
        (lambda peer: peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "not-ssh"),
        (lambda peer: peer.recv(1 << 20) and peer.recv(1 << 20), "not-ssh"),
        (lambda peer: [peer.sendall(b"A" * 65536) for _ in range(4096)], "too-much-output"),
        (lambda peer: peer.sendall(b"SSH-2.0-x\r\n" + b"\x7f\xff\xff\xff" * 1000), "not-ssh"),
    ],
    ids=["closes", "http", "says nothing", "flood", "damaged packets"],
)
def test_what_is_no_sshd_is_told_apart(machine, quick, said, problem):
    with listening(said) as port:
        machine.host(port=port)
        assert look_again().problem == problem


def test_an_address_where_nothing_listens_is_unreachable(machine):
    machine.stop()
    machine.host()
    host = look_again()
    assert (host.problem, host.problem_detail) == ("unreachable", "Connection refused")


def test_a_look_ends_in_time_whatever_hangs(machine):
    machine.tool("nvidia-smi", nvidia_smi(0))
    machine.tool("cnmon", "#!/bin/sh\nexec sleep 600\n")
    # Long enough for the questions before the one that hangs, on a machine with much else to do.
    seen = looking.look(machine.way, with_host=True, paused={}, limit_s=6)
    assert seen.problem is None and seen.hung == {"cnmon"}
    problems = [output.problem for output in seen.outputs if output.name.startswith("cnmon")]
    assert problems[1:] == ["cnmon info: no time left", "cnmon topo -m: no time left"]


def test_a_host_key_is_shown_for_comparing(machine):
    assert keys.public_line(ssh.scan("127.0.0.1", machine.port)) == machine.host_key
    machine.stop()
    with pytest.raises(ssh.Unreached, match="unreachable"):
        ssh.scan("127.0.0.1", machine.port)


def test_the_server_asks_what_the_agent_asks():
    """One table for looks from outside, one for looks from inside: the same questions."""
    for vendor, plugin in PROBES.items():
        if issubclass(plugin, CommandProbe):
            inside = {" ".join(question) for question in plugin.tool.questions}
            for tool in commands.TOOLS:
                if tool.vendor is vendor:
                    assert {one.arguments for one in tool.questions} == inside, tool.name
                    assert set(plugin.tool.folders) <= set(commands._FOLDERS)
