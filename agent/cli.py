"""Command line of the agent."""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agent import __version__
from agent.captures import UnreadableCapture, read_capture
from agent.collect import HostCollector, VendorWorker
from agent.config import Config, ConfigError, Identity, load_config, load_identity, parse_setting, read_secret
from agent.enrolment import enrol, pinned_ca
from agent.host import cpus, memory, numa
from agent.host.disk import DiskWatch
from agent.image_keeper import ImageKeeper
from agent.journal import Journal
from agent.loop import Agent
from agent.notices import notice
from agent.protocol import Vendor
from agent.registry_secrets import RegistrySecrets
from agent.runners.base import RunnerError
from agent.runners.container_command import NETWORKS, Rules
from agent.runners.containers import EngineSettings
from agent.runners.process import ProcessRunner
from agent.simulation import Simulation
from agent.simulation_spec import SimSpec, mixed_cluster
from agent.transport import Transport
from agent.vendors import PARSERS, PROBES
from agent.vendors.base import CPU, Readout, document
from agent.vendors.worker import Answer

SETTING_FLAGS = {
    "server": "address of the control plane, https://HOST:PORT",
    "state_dir": "folder for identity, journal and jobs",
    "token_file": "file with a one-time enrolment token",
    "ca_file": "PEM file of the only CA to trust",
    "jobs_dir": "folder for the jobs' work folders",
    "labels": "labels of this node, a=1,b=2",
    "node_set": "node set (sub-cluster) of this node",
    "reserved_cpus": "CPUs that jobs never get, 0-3,8",
    "image_users": "users whose podman images count as present, besides those of the agent's own, A,B",
    "dataset_folders": "folders whose subfolders are datasets present on this node, /A,/B",
    "checkpoint_dir": "folder for checkpoints; one that all nodes share lets jobs resume anywhere",
    "min_free_mib": "free MiB below which, in a folder that jobs write to, the node takes no new jobs; 0 watches none",
    "interval_s": "seconds between reports, instead of the server's wish",
    "max_processes": "most processes and threads of one job, where jobs have users of their own",
    "machine_id": "machine id, instead of the machine's own",
    "hostname": "name to show, instead of the machine's own",
    "container_engine": "podman or docker with its global options, in one argument; default: the one found first",
    "container_mounts": "folders that containers may mount, /A,/B:ro",
    "container_networks": "networks that containers may have, the first by default: bridge,host,none",
    "container_options": "more options of the engine's create for every container, in one argument",
    "container_pull_options": "more options of the engine's pull, in one argument",
    "container_nvidia": "how NVIDIA devices are given to containers: cdi, gpus or environment",
    "registry_auth_file": "file with the secrets of private registries, for podman or docker",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `headrace-agent`; returns the exit status."""
    options = build_parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return int(options.call(options) or 0)
    except (ConfigError, RunnerError, ValueError) as error:
        print(f"headrace-agent: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1


def build_parser() -> argparse.ArgumentParser:
    """All commands and flags."""
    parser = argparse.ArgumentParser(prog="headrace-agent", description="Node agent of Headrace.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, call, text in (
        ("run", run, "report this node and run its jobs; enrols first if needed"),
        ("enrol", run_enrol, "trade a one-time token for this node's identity"),
    ):
        command = commands.add_parser(name, help=text)
        _add_settings(command)
        command.set_defaults(call=call)
    simulate = commands.add_parser("simulate", help="run many simulated nodes in this process")
    _add_simulation(simulate)
    probe = commands.add_parser(
        "probe", help="print what the vendors' interfaces say now, one JSON document per line"
    )
    probe.add_argument("vendor", nargs="?", choices=list(PARSERS), metavar="VENDOR", help=", ".join(PARSERS))
    probe.set_defaults(call=run_probe)
    parse = commands.add_parser(
        "parse",
        help="print what captured tool output says, one JSON document per file",
        epilog="Exit status: 0 all files were read, 1 some could not be read as text, 2 wrong usage.",
    )
    parse.add_argument("vendor", choices=list(PARSERS), metavar="VENDOR", help=", ".join(PARSERS))
    parse.add_argument("files", nargs="+", metavar="FILE", help="captured output; - is standard input")
    parse.set_defaults(call=run_parse)
    commands.add_parser("version", help="print the version").set_defaults(call=lambda _: print(__version__))
    return parser


def run(options: argparse.Namespace) -> int:
    """The agent proper, until SIGTERM or SIGINT; jobs go on unless `stop_jobs_on_exit`."""
    config = _config(options)
    state_dir = Path(config.state_dir)
    lock = hold_state_dir(state_dir)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    identity = load_identity(state_dir) or enrol(config, pause=stopping.wait)
    agent, images = build_agent(config, identity)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    if not stopping.is_set():
        if images is not None:
            images.start()
        agent.run()
    if config.stop_jobs_on_exit:
        agent.stop_jobs(timeout_s=30.0)
    os.close(lock)
    return 0


def build_agent(config: Config, identity: Identity) -> tuple[Agent, ImageKeeper | None]:
    """The agent of this very machine, and who fetches images beside it where it may."""
    state_dir = Path(config.state_dir)
    server = config.server or identity.server
    journal = Journal(state_dir)
    ca_file = pinned_ca(msgspec.structs.replace(config, server=server), None)
    transport = Transport(server, token=identity.token, ca_file=ca_file)
    runner = ProcessRunner(
        journal,
        jobs_dir=Path(config.jobs_dir) if config.jobs_dir else None,
        max_processes=config.max_processes,
        engine=engine_settings(config),
        checkpoint_dir=Path(config.checkpoint_dir) if config.checkpoint_dir else None,
        secrets=RegistrySecrets(transport.registry_secret, state_dir=state_dir),
    )
    agent = Agent(
        identity,
        transport=transport,
        collector=HostCollector(
            config,
            isolates_users=runner.isolates_users,
            runner_warnings=runner.warnings,
            runs_containers=runner.runs_containers,
            disks=DiskWatch([state_dir, *runner.folders()], config.min_free_mib).look,
        ),
        runner=runner,
        journal=journal,
        interval_s=config.interval_s,
        observe_only=config.observe_only,
    )
    return agent, _image_keeper(config, transport, runner)


def _image_keeper(config: Config, transport: Transport, runner: ProcessRunner) -> ImageKeeper | None:
    """An agent that only watches fetches nothing, nor does one without a container engine."""
    if config.observe_only or not runner.runs_containers():
        return None
    return ImageKeeper(transport.image_work, runner.containers, state_dir=Path(config.state_dir))


def engine_settings(config: Config) -> EngineSettings:
    """How this node runs containers."""
    return EngineSettings(
        command=tuple(config.container_engine),
        rules=Rules(
            mounts=tuple(config.container_mounts),
            networks=tuple(config.container_networks) or NETWORKS,
            options=tuple(config.container_options),
        ),
        pull_options=tuple(config.container_pull_options),
        auth_file=config.registry_auth_file,
        always_pull=config.container_pull_always,
        nvidia=config.container_nvidia,
    )


def run_enrol(options: argparse.Namespace) -> int:
    """Enrol and say as whom."""
    identity = enrol(_config(options))
    print(f"enrolled as node {identity.node} of cluster {identity.cluster_id}")
    return 0


def run_simulate(options: argparse.Namespace) -> int:
    """Simulated nodes until SIGTERM or SIGINT."""
    try:
        spec = (
            msgspec.json.decode(options.spec.read_bytes(), type=SimSpec) if options.spec else mixed_cluster()
        )
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"spec: {options.spec}: {error}") from error
    if options.nodes is not None:
        spec = msgspec.structs.replace(spec, nodes=spec.nodes[: options.nodes])
    if options.print_spec:
        print(msgspec.json.format(msgspec.json.encode(spec), indent=2).decode())
        return 0
    for name in ("server", "state_dir", "token_file"):
        if getattr(options, name) is None:
            raise ConfigError(f"{name}: missing; give --{name.replace('_', '-')}")
    lock = hold_state_dir(options.state_dir)
    simulation = Simulation(spec, server=options.server, state_dir=options.state_dir, ca_file=options.ca_file)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: simulation.stop())
    simulation.run(read_secret(options.token_file).split())
    os.close(lock)
    return 0


def run_probe(options: argparse.Namespace) -> int:
    """Live probes, each in its own process with a time-out, and the host's processors; status 1 when one failed."""
    root, status = Path("/"), 0
    here = [vendor.value for vendor, probe in PROBES.items() if probe.present(root)]
    for name in [options.vendor] if options.vendor else [*here, CPU]:
        answer = Answer(readout=_read_cpus(root)) if name == CPU else _read_devices(Vendor(name), root)
        status = status or int(answer.readout is None)
        said = notice("probe-failed", problem=answer.problem)
        readout = answer.readout or Readout(vendor=name, warnings=[said])
        _print_document(readout)
    return status


def _read_devices(vendor: Vendor, root: Path) -> Answer:
    worker = VendorWorker(vendor, root)
    try:
        return worker.read()
    finally:
        worker.close()


def _read_cpus(root: Path) -> Readout:
    found = cpus.read_cpus(root)
    return Readout(
        vendor=CPU,
        cpu_model=cpus.cpu_model(root),
        sockets=len({cpu.socket for cpu in found}) or None,
        cpus=found,
        numa=numa.read_numa(root),
        memory_mib=memory.memory_mib(root),
    )


def run_parse(options: argparse.Namespace) -> int:
    """Captured output to JSON, one document per file; status 1 when one could not be read as text."""
    status = 0
    for name in options.files:
        guesses = []
        try:
            capture = read_capture(name)
        except UnreadableCapture as error:
            print(f"headrace-agent: {name}: {error}", file=sys.stderr)
            said = notice("tool-failed", problem=f"{name}: {error}")
            readout = Readout(vendor=options.vendor, warnings=[said])
            status = 1
        else:
            readout = PARSERS[options.vendor](capture.text)
            if capture.guessed:  # the file's oddity, not the tool's
                guesses = [f"{name}: the encoding is not told and was taken for {capture.guessed}"]
        _print_document(readout, also=guesses)
    return status


def _print_document(readout: Readout, *, also: Sequence[str] = ()) -> None:
    """One line; names of files may hold what is no text."""
    line = json.dumps(document(readout, also=also), ensure_ascii=False)
    print(line.encode("utf-8", "replace").decode())


def hold_state_dir(state_dir: Path) -> int:
    """Two agents on one state folder would start jobs twice: the second is refused. The lock ends with the
    process.
    """
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"state_dir: {state_dir}: {error.strerror}; give --state-dir DIR") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConfigError(f"state_dir: another agent is running on {state_dir}") from error
    return handle


def _add_simulation(command: argparse.ArgumentParser) -> None:
    command.add_argument("--server", help=SETTING_FLAGS["server"])
    command.add_argument("--state-dir", type=Path, help="folder for the nodes' identities and journals")
    command.add_argument("--token-file", type=Path, help="file with one enrolment token per line and node")
    command.add_argument("--ca-file", help=SETTING_FLAGS["ca_file"])
    command.add_argument(
        "--spec", type=Path, help="JSON file with the nodes; default: the mixed cluster of 48"
    )
    command.add_argument("--nodes", type=int, help="only the first N nodes")
    command.add_argument("--print-spec", action="store_true", help="print the spec and end")
    command.set_defaults(call=run_simulate)


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument("--config", type=Path, help="TOML file with these settings")
    for name, text in SETTING_FLAGS.items():
        command.add_argument(f"--{name.replace('_', '-')}", help=text)
    command.add_argument(
        "--observe-only", action="store_true", default=None, help="measure only, never run a job"
    )
    command.add_argument(
        "--stop-jobs-on-exit", action="store_true", default=None, help="end all jobs when stopped"
    )


def _config(options: argparse.Namespace) -> Config:
    names = [*SETTING_FLAGS, "observe_only", "stop_jobs_on_exit"]
    flags = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    parsed = {
        name: parse_setting(name, value) if isinstance(value, str) else value for name, value in flags.items()
    }
    return load_config(options.config, flags=parsed)
