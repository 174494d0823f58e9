"""What `headrace submit` takes on its command line, and the job specification made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from client.api import JSON
from client.errors import Misuse
from client.messages import say

DEFAULT_QUEUE = "training"

Command = Annotated[list[str] | None, typer.Argument(help="What to run, after --.")]
Name = Annotated[str | None, typer.Option(help="Name of the job.")]
Queue = Annotated[str | None, typer.Option(help=f"Queue; {DEFAULT_QUEUE} when not given.")]
Team = Annotated[str | None, typer.Option(help="Team; needed only by members of several.")]
Cores = Annotated[int | None, typer.Option(help="Logical CPUs.")]
Memory = Annotated[str | None, typer.Option(help="Host memory: MiB, or with a unit such as 8Gi.")]
Devices = Annotated[int | None, typer.Option(help="Accelerators.")]
DeviceModel = Annotated[list[str] | None, typer.Option(help="Accepted model; may be repeated.")]
DeviceMemory = Annotated[str | None, typer.Option(help="Device memory: MiB, or with a unit.")]
DeviceCompute = Annotated[int | None, typer.Option(help="Share of each device, 1-1000.")]
Shareable = Annotated[bool | None, typer.Option(help="May share its devices with other jobs.")]
Splittable = Annotated[bool | None, typer.Option(help="May spread its device memory over several devices.")]
Replicas = Annotated[
    int | None,
    typer.Option(help="So many processes with these resources each, started together or not at all."),
]
Priority = Annotated[int | None, typer.Option(help="Within the queue; higher first.")]
MaxRetries = Annotated[int | None, typer.Option(help="New attempts after a failure.")]
TimeLimit = Annotated[int | None, typer.Option(help="Seconds until the job is ended.")]
Env = Annotated[list[str] | None, typer.Option(help="KEY=VALUE for the job; may be repeated.")]
NodeLabel = Annotated[list[str] | None, typer.Option(help="KEY=VALUE a node must carry; may be repeated.")]
Image = Annotated[str | None, typer.Option(help="Run in a container of this image.")]
ImageSecret = Annotated[
    str | None, typer.Option(help="Name of the server's secret for the image's private registry.")
]
Mount = Annotated[
    list[str] | None, typer.Option(help="SOURCE:TARGET[:ro] for the container; may be repeated.")
]
Network = Annotated[str | None, typer.Option(help="The container's network: bridge, host or none.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say where it would go; submit nothing.")]
Wait = Annotated[bool, typer.Option("--wait", help="Stream the log, end with the job's exit code.")]
Template = Annotated[str | None, typer.Option(help="A template of the team; options win over it.")]
File = Annotated[Path | None, typer.Option(help="JSON job specification; options win over it.")]


def given(**values: Any) -> JSON:
    """Only what was said."""
    return {key: value for key, value in values.items() if value is not None}


def amount(text: str | None) -> int | str | None:
    """Digits alone are MiB; anything else goes to the server as written, which parses or refuses it."""
    return int(text) if text and text.isascii() and text.isdigit() else text


def container(
    image: str | None, mounts: list[str] | None, network: str | None, *, secret: str | None = None
) -> JSON:
    """What makes a job one of a container."""
    return given(image=image, image_secret=secret, mounts=mounts or None, network=network)


def pairs(option: str, values: list[str] | None) -> dict[str, str] | None:
    """KEY=VALUE options as a mapping; an error that names the option for anything else."""
    if not values:
        return None
    result = {}
    for value in values:
        key, sign, rest = value.partition("=")
        if not key or not sign:
            raise Misuse(say("bad-pair", option=option, value=value))
        result[key] = rest
    return result


def specification(file: Path | None, *, options: JSON, resources: JSON) -> JSON:
    """The file's specification with the command line on top."""
    spec = {**read_object(file), **options}
    if resources:
        base = spec.get("resources")
        spec["resources"] = {**(base if isinstance(base, dict) else {}), **resources}
    # A template may say both.
    if not spec.get("template"):
        if not spec.get("command"):
            raise Misuse(say("no-command"))
        spec.setdefault("queue", DEFAULT_QUEUE)
    return spec


def read_object(file: Path | None) -> JSON:
    """The JSON object in a file; nothing without a file."""
    if file is None:
        return {}
    try:
        spec = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Misuse(say("bad-file", path=file, detail=error.strerror)) from error
    except ValueError as error:
        raise Misuse(say("bad-file", path=file, detail=error)) from error
    if not isinstance(spec, dict):
        raise Misuse(say("bad-file", path=file, detail=say("no-object")))
    return spec
