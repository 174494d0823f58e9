"""A machine without an agent: a real sshd on loopback with fake vendors' tools on its PATH."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import paramiko

from inventory.models import RemoteHost
from inventory.remote import keys
from inventory.remote.ssh import Way
from tests.waiting import eventually

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
# Two files of a machine that tell it from others; all else is this very machine's.
GREP = """#!/bin/sh
for a; do
  case $a in /etc/machine-id|/proc/sys/kernel/random/boot_id) a="{root}$a" ;; esac
  set -- "$@" "$a"; shift
done
{grep} "$@" | sed "s|^{root}||"
"""
CONFIG = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv HOME={folder} PATH={folder}/bin:/usr/bin:/bin
PrintMotd no
LogLevel VERBOSE
"""
END_SESSION = """p=$$
while [ "$(cat /proc/$p/comm)" != sshd ]; do p=$(cut -d" " -f4 /proc/$p/stat); done
kill -9 $p
"""

GPU = """<gpu id="00000000:{slot:02X}:00.0">
<product_name>NVIDIA L40S</product_name><uuid>GPU-0ff1ce00-0000-4000-8000-0000000000{slot:02x}</uuid>
<minor_number>{index}</minor_number>
<fb_memory_usage><total>46068 MiB</total><reserved>540 MiB</reserved><used>{used} MiB</used></fb_memory_usage>
<utilization><gpu_util>{busy} %</gpu_util></utilization>
<ecc_errors><volatile><sram_uncorrectable>0</sram_uncorrectable><dram_uncorrectable>{errors}</dram_uncorrectable>
</volatile></ecc_errors>
<temperature><gpu_temp>{heat} C</gpu_temp></temperature>
<gpu_power_readings><power_draw>81.50 W</power_draw><current_power_limit>350.00 W</current_power_limit>
</gpu_power_readings></gpu>
"""


def nvidia_smi(*indices: int, used: int = 1024, busy: int = 3, errors: int = 0, heat: int = 41) -> str:
    """What `nvidia-smi -q -x` prints of these devices."""
    gpus = [
        GPU.format(index=index, slot=index + 0x41, used=used, busy=busy, errors=errors, heat=heat)
        for index in indices
    ]
    head = f"<driver_version>570.20.01</driver_version><attached_gpus>{len(gpus)}</attached_gpus>"
    return f'<?xml version="1.0" ?>\n<nvidia_smi_log>{head}\n{"".join(gpus)}</nvidia_smi_log>\n'


class Machine:
    """One sshd with an identity of its own, that lets nobody in yet. `key` is the name of the server's key for it."""

    def __init__(self, folder: Path, *, key: str) -> None:
        self.folder = folder
        self.key = key
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("bin", "etc", "proc/sys/kernel/random"):
            (folder / name).mkdir(parents=True)
        self.be("5ca1ab1e" * 4, boot="11111111-aaaa-4bbb-8ccc-000000000001")
        self.tool("grep", GREP.format(root=folder, grep=shutil.which("grep")))
        # Not this machine's own, which have images or not.
        for engine in ("podman", "docker"):
            self.tool(engine, "")
        self.accept()
        self.host_key = self.new_host_key()

    @property
    def way(self) -> Way:
        """How this machine is reached."""
        user = pwd.getpwuid(os.getuid()).pw_name
        return Way("127.0.0.1", self.port, user, self.key, self.host_key)

    def host(self, **columns: object) -> RemoteHost:
        """A row that leads here."""
        way = self.way
        values = {name: getattr(way, name) for name in Way.__slots__}
        return RemoteHost.objects.create(**(values | columns))

    def be(self, machine_id: str, *, boot: str) -> None:
        """Who the machine is, and since when it runs."""
        (self.folder / "etc/machine-id").write_text(f"{machine_id}\n")
        (self.folder / "proc/sys/kernel/random/boot_id").write_text(f"{boot}\n")

    def tool(self, name: str, script: str | bytes) -> None:
        """A command on its PATH; a text is printed as it is, unless it is a script."""
        path = self.folder / "bin" / name
        if isinstance(script, bytes) or not script.startswith("#!"):
            said = self.folder / f"{name}.said"
            said.write_bytes(script if isinstance(script, bytes) else script.encode())
            script = f"#!/bin/sh\ncat {said}\n"
        path.write_text(script)
        path.chmod(0o755)

    def let_in(self, *names: str) -> None:
        """Which of the server's keys are accepted."""
        self.accept(*(keys.public_line(keys.load(name)) for name in names))

    def accept(self, *lines: str) -> None:
        """The public keys that are accepted, and no others."""
        (self.folder / "authorized_keys").write_text("".join(f"{line}\n" for line in lines))

    def new_host_key(self) -> str:
        """Another host key, from the next start on; its line."""
        path = self.folder / "host_key"
        path.unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
        subprocess.run(command, check=True, input=b"y\n")
        return keys.public_line(paramiko.PKey.from_path(path))

    def start(self) -> None:
        """Answers once this returns."""
        assert SSHD is not None
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        config = self.folder / "sshd_config"
        config.write_text(CONFIG.format(port=self.port, folder=self.folder))
        command = [SSHD, "-D", "-f", str(config), "-E", str(self.folder / "sshd.log")]
        self._process = subprocess.Popen(command, start_new_session=True)
        eventually(lambda: _answers(self.port), what="sshd")

    def stop(self) -> None:
        """With all its sessions."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def left_behind(self) -> list[str]:
        """Command lines of what still runs of all sessions."""
        mark = f"HOME={self.folder}\0".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_text().replace("\0", " "))
        return found

    @property
    def log(self) -> str:
        """What sshd says of who came."""
        return (self.folder / "sshd.log").read_text()


@contextmanager
def listening(speak: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port where something answers that is no sshd."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    with connection:
                        speak(connection)
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
