"""How a job becomes the command line that creates its container. Pure: argument lists, never a shell."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agent.protocol import Assignment

# A registry's host, a path, and a tag or a digest; never anything that reads like an option.
IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,299}", re.ASCII)
NETWORKS = ("bridge", "host", "none")
CLOSED_TARGETS = ("/", "/proc", "/sys", "/dev")
TASK_LABEL, AGENT_LABEL = "headrace.task", "headrace.agent"
NO_RIGHTS = ("--cap-drop=ALL", "--security-opt=no-new-privileges")


class NotAllowed(ValueError):
    """The job asks for what this node's settings do not give; the text says which."""


@dataclass(frozen=True)
class Rules:
    """What the node's settings allow containers; the first network is the one of jobs that name none."""

    mounts: tuple[str, ...] = ()
    networks: tuple[str, ...] = NETWORKS
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where and as whom a container runs. `user` is its UID:GID; `memory_nodes` may be empty; `folders` are its
    own ones, under the same paths as outside.
    """

    name: str
    labels: Mapping[str, str]
    home: str
    env_file: str
    user: str
    keeps_user: bool
    memory_nodes: tuple[int, ...] = ()
    most_processes: int | None = None
    most_files: int = 4096
    has_init: bool = False
    folders: tuple[str, ...] = ()


def create_arguments(assignment: Assignment, place: Place, rules: Rules, devices: Sequence[str]) -> list[str]:
    """All that follows `ENGINE create`; NotAllowed names what the node does not give."""
    image = checked_image(assignment.image or "")
    command = assignment.command
    if not command or not command[0]:
        raise NotAllowed("the job has no command")
    options = [f"--name={place.name}", "--pull=never", "--log-driver=none", *NO_RIGHTS]
    options += [f"--label={key}={value}" for key, value in place.labels.items()]
    options += [f"--user={place.user}", f"--env-file={place.env_file}"]
    options += ["--userns=keep-id"] if place.keeps_user else []
    options += ["--init"] if place.has_init else []
    options += _limits(assignment, place)
    options += [f"--network={network(assignment.network, rules)}"]
    options += [f"--mount=type=bind,src={path},dst={path}" for path in place.folders]
    options += [_mount(text, rules.mounts) for text in assignment.mounts]
    options += [f"--workdir={assignment.working_dir or place.home}", f"--entrypoint={command[0]}"]
    return [*options, *rules.options, *devices, image, *command[1:]]


def env_lines(env: Mapping[str, str]) -> str:
    """The environment as a file, which keeps it out of the process table; it cannot hold line breaks."""
    for name, value in env.items():
        if "\n" in value or "\r" in value:
            raise NotAllowed(f"env.{name}: a container's variables cannot hold line breaks")
    return "".join(f"{name}={value}\n" for name, value in env.items())


def checked_image(image: str) -> str:
    """The image's name; NotAllowed for what no registry has."""
    if not IMAGE.fullmatch(image):
        raise NotAllowed(f"image: {image!r} is no name of an image")
    return image


def network(wanted: str | None, rules: Rules) -> str:
    """The network of a job."""
    if wanted is None:
        return rules.networks[0] if rules.networks else "none"
    if wanted not in rules.networks:
        raise NotAllowed(f"network: {wanted!r} is not given here, only {', '.join(rules.networks) or 'none'}")
    return wanted


def memory_nodes(
    cpus: Collection[int], memory_mib: int | None, nodes: Sequence[tuple[int, Sequence[int], int | None]]
) -> tuple[int, ...]:
    """The memory nodes (id, CPUs, MiB) of the cores where they surely hold the job's memory; none to leave it open."""
    own = [node for node in nodes if set(node[1]) & set(cpus)]
    if memory_mib is None or not own or len(own) == len(nodes) or any(node[2] is None for node in own):
        return ()
    return tuple(node[0] for node in own) if memory_mib <= sum(node[2] or 0 for node in own) else ()


def _limits(assignment: Assignment, place: Place) -> list[str]:
    found = [
        f"--ulimit=nofile={place.most_files}:{place.most_files}",
        "--ulimit=core=0:0",
        "--oom-score-adj=500",
    ]
    if place.most_processes is not None:
        most = place.most_processes
        found += [f"--pids-limit={most}", f"--ulimit=nproc={most}:{most}"]
    if assignment.memory_mib is not None:
        found += [f"--memory={assignment.memory_mib}m", f"--memory-swap={assignment.memory_mib}m"]
    if assignment.shared_memory_mib is not None:
        found += [f"--shm-size={assignment.shared_memory_mib}m"]
    cpus = sorted({*assignment.cpus, *assignment.loader_cpus})
    if cpus:
        found += [f"--cpuset-cpus={','.join(map(str, cpus))}"]
    if place.memory_nodes:
        found += [f"--cpuset-mems={','.join(map(str, place.memory_nodes))}"]
    return found


def _mount(text: str, allowed: Sequence[str]) -> str:
    source, target, read_only = parsed_mount(text)
    real = os.path.realpath(source)
    rule = next((rule for rule in map(_rule, allowed) if _below(real, os.path.realpath(rule[0]))), None)
    if rule is None:
        raise NotAllowed(f"mounts: {source} is not in a folder that this node gives to containers")
    if target == "/" or any(_below(target, closed) for closed in CLOSED_TARGETS[1:]):
        raise NotAllowed(f"mounts: {target} in the container is not for mounts")
    if not os.path.isdir(real):
        raise NotAllowed(f"mounts: {source} is no folder of this node")
    return f"--mount=type=bind,src={real},dst={target}" + (",readonly" if read_only or rule[1] else "")


def parsed_mount(text: str) -> tuple[str, str, bool]:
    """SOURCE:TARGET or SOURCE:TARGET:ro."""
    parts = text.split(":")
    read_only = len(parts) == 3 and parts[2] == "ro"
    plain = all(
        part.startswith("/") and "," not in part and os.path.normpath(part) == part for part in parts[:2]
    )
    if not plain or len(parts) != (3 if read_only else 2):
        raise NotAllowed(
            f"mounts: {text!r} is not SOURCE:TARGET or SOURCE:TARGET:ro with plain absolute paths"
        )
    return parts[0], parts[1], read_only


def _rule(text: str) -> tuple[str, bool]:
    return text.removesuffix(":ro"), text.endswith(":ro")


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
