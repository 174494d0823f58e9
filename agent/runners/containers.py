"""The node's container engine: what the settings say of it, and what of its containers is ours."""

from __future__ import annotations

import hashlib
import logging
import os
import resource
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent.fact_files import number, read_facts
from agent.host.numa import read_numa
from agent.protocol import CheckpointWay, Pull
from agent.registry_secrets import RegistrySecrets
from agent.runners.base import RunnerError
from agent.runners.checkpoints import Checkpoints
from agent.runners.container_command import (
    AGENT_LABEL,
    TASK_LABEL,
    NotAllowed,
    Place,
    Rules,
    checked_image,
    create_arguments,
    env_lines,
    memory_nodes,
)
from agent.runners.container_devices import NvidiaStyle, counted_anew, device_options, nvidia_style
from agent.runners.environment import job_environment
from agent.runners.task_files import write_private
from agent.task import Record, TaskKey

logger = logging.getLogger("headrace.agent.containers")
ENGINES = ("podman", "docker")
CALL_TIMEOUT_S = 60.0
PULL_TIMEOUT_S = 3600.0
NO_SUCH_IMAGE = ("image not known", "No such image")
INIT_PROGRAMS = {
    "podman": ("catatonit", "/usr/libexec/podman/catatonit", "/usr/libexec/catatonit/catatonit"),
    "docker": ("docker-init",),
}
# What an engine's client needs of the agent's environment; nothing else reaches it, and nothing of a job's.
PASSED_ON = ("PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR")
PASSED_ON_PREFIXES = ("DOCKER_", "CONTAINER", "REGISTRY_")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")


@dataclass(frozen=True)
class EngineSettings:
    """How containers run on this node. `command` empty = podman or docker, whichever is found first."""

    command: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)
    pull_options: tuple[str, ...] = ()
    auth_file: str | None = None
    always_pull: bool = False
    nvidia: NvidiaStyle | None = None


class Containers:
    """Makes a task into the orders of its supervisor, and removes what supervisors could not."""

    def __init__(
        self,
        settings: EngineSettings,
        *,
        state_dir: Path,
        most_processes: int,
        most_files: int,
        secrets: RegistrySecrets | None = None,
    ) -> None:
        self._settings = settings
        self._secrets = secrets or RegistrySecrets(None, state_dir=state_dir)
        self.command = list(settings.command) or _first_engine()
        self._kind = "docker" if self.command and "docker" in Path(self.command[0]).name else "podman"
        self._mark = hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:12]
        self._prefix = f"headrace-{self._mark}-"
        self._used = state_dir / "containers-used"
        self._most_processes = most_processes
        self._most_files = most_files
        self._env = engine_environment(os.environ)

    @property
    def there(self) -> bool:
        """Whether this node can run containers."""
        return bool(self.command) and shutil.which(self.command[0]) is not None

    def orders(
        self, record: Record, *, folder: Path, home: Path, checkpoints: Checkpoints
    ) -> dict[str, object]:
        """What a container's supervisor must know beyond what every supervisor does; RunnerError where the node does
        not give what the job asks for.
        """
        if not self.there:
            raise RunnerError(
                "this node runs no containers: neither podman nor docker is set up for the agent"
            )
        assignment = record.assignment
        self._used.touch()
        env = job_environment(assignment, home=str(home), devices=counted_anew(assignment.devices))
        shared = [str(path) for path in checkpoints.folders(record)]
        try:
            write_private(
                folder / "env",
                env_lines(env | checkpoints.environment(record)).encode(),
            )
            style = self._settings.nvidia or nvidia_style(self._kind)
            create = create_arguments(
                assignment,
                replace(self._place(record, folder=folder, home=home), folders=(str(home), *shared)),
                self._settings.rules,
                device_options(assignment.devices, style),
            )
        except (NotAllowed, FileNotFoundError) as error:
            raise RunnerError(str(error)) from error
        return {
            "engine": self.command,
            "engine_env": self._env,
            "name": self._name(record.key),
            "image": assignment.image,
            "command": assignment.command[0],
            "create": create,
            "memory_mib": assignment.memory_mib,
            **self._fetching(assignment.image or "", assignment.image_secret, folder),
        }

    def _fetching(self, image: str, secret: str | None, folder: Path) -> dict[str, object]:
        """How the image is fetched. What was ever fetched with a secret is asked for again at every start: that it is
        on the node makes it nobody else's.
        """
        always = self._settings.always_pull or self._secrets.is_private(image)
        if secret is None:
            return {"always_pull": always, "secret_folder": None, **self._pulling()}
        shutil.rmtree(folder / "registry", ignore_errors=True)
        found = self._secrets.write(folder / "registry", secret)
        self._secrets.note(image)
        return {"always_pull": True, "secret_folder": str(folder / "registry"), **self._pulling(found)}

    def checkpoint(self, key: TaskKey, way: CheckpointWay) -> bool | None:
        """Ask the container for a checkpoint, as `Checkpoints.ask` wants it; its own user and limits hold."""
        if not way.command:
            status = self._run(["kill", f"--signal={way.signal}", self._name(key)], timeout_s=CALL_TIMEOUT_S)[
                0
            ]
            if status != 0:
                raise OSError("the container cannot be signalled")
            return None
        return self._run(["exec", self._name(key), *way.command], timeout_s=way.timeout_s)[0] == 0

    def has_image(self, image: str) -> bool:
        """Whether the engine keeps an image of this name."""
        try:
            inspect = ["image", "inspect", "--format={{.Id}}", checked_image(image)]
        except NotAllowed:
            return False
        return self._run(inspect, timeout_s=CALL_TIMEOUT_S)[0] == 0

    def fetch_image(self, image: str, secret: str | None = None) -> str:
        """Have an image here ahead of demand, with the node's own settings or a registry's secret; why it failed, else
        empty.
        """
        try:
            name = checked_image(image)
            if secret is None:
                return self._pull(name, self._pulling())
            self._secrets.note(name)
            with self._secrets.written(secret) as found:
                return self._pull(name, self._pulling(found))
        except (NotAllowed, RunnerError, OSError) as error:
            return str(error)[:500]

    def _pull(self, image: str, how: Mapping[str, Any]) -> str:
        command = [*how["pull_engine"], "pull", "--quiet", *how["pull_options"], image]
        return self._why(command, timeout_s=PULL_TIMEOUT_S, env=how["pull_env"])

    def remove_image(self, image: str) -> str:
        """Remove an image that no container uses; why it failed, else empty. One that is gone already is no failure."""
        problem = self._why([*self.command, "rmi", image], timeout_s=CALL_TIMEOUT_S)
        return "" if any(mark in problem for mark in NO_SUCH_IMAGE) else problem

    def remove(self, key: TaskKey) -> None:
        """Kill and remove the container of a task whose supervisor is gone."""
        if self.there:
            self._call(["kill", "--signal=KILL", self._name(key)])
            self._call(["rm", "--force", "--volumes", self._name(key)])

    def sweep(self, is_known: Callable[[str], bool]) -> None:
        """Remove our containers of which no task is known any more, beside everything else: an engine may hang."""
        if self.there and self._used.exists():
            threading.Thread(target=self._sweep, args=(is_known,), name="containers", daemon=True).start()

    def _sweep(self, is_known: Callable[[str], bool]) -> None:
        listed = self._call(
            ["ps", "--all", f"--filter=label={AGENT_LABEL}={self._mark}", "--format={{.Names}}"]
        )
        for name in listed.split():
            if not is_known(name.removeprefix(self._prefix)):
                logger.warning("removing container %s, which belongs to no known task", name)
                self._call(["kill", "--signal=KILL", name])
                self._call(["rm", "--force", "--volumes", name])

    def _name(self, key: TaskKey) -> str:
        return self._prefix + key.folder

    def _place(self, record: Record, *, folder: Path, home: Path) -> Place:
        assignment = record.assignment
        uid = os.geteuid() if record.uid is None else record.uid
        cpus = {*assignment.cpus, *assignment.loader_cpus}
        numa = [(node.id, node.cpus, node.memory_mib) for node in read_numa(Path("/"))]
        files, processes = (
            resource.getrlimit(resource.RLIMIT_NOFILE)[1],
            resource.getrlimit(resource.RLIMIT_NPROC)[1],
        )
        return Place(
            name=self._name(record.key),
            labels={AGENT_LABEL: self._mark, TASK_LABEL: record.key.folder},
            home=str(home),
            env_file=str(folder / "env"),
            user=f"{uid}:{os.getegid() if record.uid is None else record.uid}",
            keeps_user=record.uid is None and self._kind == "podman",
            memory_nodes=memory_nodes(cpus, assignment.memory_mib, numa),
            most_processes=_least(self._most_processes, processes),
            most_files=_least(self._most_files, files),
            has_init=any(shutil.which(program) for program in INIT_PROGRAMS[self._kind]),
        )

    def _pulling(self, secret: Mapping[str, str] | None = None) -> dict[str, Any]:
        """A registry's secret is in a file, the node's own or one of the server's: only its place is passed on."""
        auth = self._settings.auth_file
        own = {"REGISTRY_AUTH_FILE": auth, "DOCKER_CONFIG": str(Path(auth).parent)} if auth else {}
        return {
            "pull_engine": list(self.command),
            "pull_options": list(self._settings.pull_options),
            "pull_env": self._env | (own if secret is None else dict(secret)),
        }

    def _call(self, arguments: Sequence[str]) -> str:
        status, output = self._run(arguments, timeout_s=CALL_TIMEOUT_S)
        return output if status == 0 else ""

    def _why(self, command: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None) -> str:
        """Run a command; the last line of what it says when it fails."""
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._env if env is None else env,
                cwd="/",
                timeout=timeout_s,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)[:500]
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return "" if done.returncode == 0 else (said[-1][:500] if said else "no message")

    def _run(self, arguments: Sequence[str], *, timeout_s: float) -> tuple[int, str]:
        try:
            done = subprocess.run(
                [*self.command, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._env,
                cwd="/",
                timeout=timeout_s,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            logger.warning("%s %s: %s", self.command[0], arguments[0], error)
            return 124, ""
        return done.returncode, done.stdout.decode("utf-8", "replace")


def engine_environment(own: Mapping[str, str]) -> dict[str, str]:
    """The environment of the engine's client."""
    passed = {
        name: value
        for name, value in own.items()
        if name in PASSED_ON or name in PROXIES or name.startswith(PASSED_ON_PREFIXES)
    }
    return passed | {"LC_ALL": "C.UTF-8"}


def read_pull(folder: Path) -> Pull | None:
    """How far the fetching of a task's image is; None where nothing was to be fetched."""
    facts = read_facts(folder / "pull")
    if not facts:
        return None
    return Pull(
        image=facts.get("image", ""),
        done=facts.get("done") == "1",
        ms=number(facts.get("ms")),
        layers=number(facts.get("layers")),
        layers_done=number(facts.get("layers_done")),
        text=facts.get("text", ""),
    )


def parse_engine(text: str) -> list[str]:
    """A command given as one text."""
    return shlex.split(text)


def _first_engine() -> list[str]:
    return next(([name] for name in ENGINES if shutil.which(name)), [])


def _least(wanted: int, hard: int) -> int:
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
