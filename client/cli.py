"""The commands of `headrace`; see docs/client.md for the exit codes."""

from __future__ import annotations

import getpass
import json
import platform
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from client import config as configuration
from client.api import JSON, Client
from client.errors import ClientError, Exit
from client.follow import Follower, exit_code_of, write_log
from client.messages import say
from client.render import devices_of, escape_controls, outcome, print_json, print_table, score, span

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
MIB_PER_GIB = 1024
# A pipeline that waits outlives a restart of the server.
FOLLOW_PATIENCE_S = 600.0


def notice(text: str) -> None:
    """Progress goes to standard error, so that standard output stays the job's."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


@app.command()
def login(
    url: Annotated[str | None, typer.Option(help="Address of the server.")] = None,
    username: Annotated[str | None, typer.Option(help="User name; asked for when not given.")] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="File whose first line is the password; - is standard input.")
    ] = None,
    expires_in_days: Annotated[int, typer.Option(min=1, help="Life of the token.")] = 90,
) -> None:
    """Trade a password for a token, kept in a file that only you can read."""
    address = (url or configuration.load().url).rstrip("/")
    name = username or typer.prompt(say("username"), err=True)
    password = _password(password_file)
    with Client(url=address) as client:
        token = client.sign_in(
            username=name,
            password=password,
            token_name=f"headrace on {platform.node()}",
            expires_in_days=expires_in_days,
        )
    path = configuration.save(configuration.Config(url=address, token=token))
    notice(say("signed-in", url=address, username=name, path=path))


def _password(path: Path | None) -> str:
    if path is None:
        return getpass.getpass(f"{say('password')}: ")
    if str(path) == "-":
        return sys.stdin.readline().rstrip("\n")
    try:
        return path.read_text(encoding="utf-8").split("\n", 1)[0]
    except OSError as error:
        raise ClientError(say("bad-file", path=path, detail=error.strerror)) from error


@app.command()
def submit(
    command: Annotated[list[str] | None, typer.Argument(help="What to run, after --.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the job.")] = None,
    queue: Annotated[str | None, typer.Option(help="Queue.")] = None,
    team: Annotated[str | None, typer.Option(help="Team; needed only by members of several.")] = None,
    cores: Annotated[int | None, typer.Option(help="Logical CPUs.")] = None,
    memory: Annotated[str | None, typer.Option(help="Host memory: MiB, or with a unit such as 8Gi.")] = None,
    devices: Annotated[int | None, typer.Option(help="Accelerators.")] = None,
    device_model: Annotated[list[str] | None, typer.Option(help="Accepted model; may be repeated.")] = None,
    device_memory: Annotated[str | None, typer.Option(help="Device memory: MiB, or with a unit.")] = None,
    device_compute_milli: Annotated[int | None, typer.Option(help="Share of each device, 1-1000.")] = None,
    shareable: Annotated[bool | None, typer.Option(help="May share its devices with other jobs.")] = None,
    splittable: Annotated[
        bool | None, typer.Option(help="May spread its device memory over several devices.")
    ] = None,
    priority: Annotated[int | None, typer.Option(help="Within the queue; higher first.")] = None,
    max_retries: Annotated[int | None, typer.Option(help="New attempts after a failure.")] = None,
    time_limit: Annotated[int | None, typer.Option(help="Seconds until the job is ended.")] = None,
    env: Annotated[list[str] | None, typer.Option(help="KEY=VALUE for the job; may be repeated.")] = None,
    node_label: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE a node must carry; may be repeated.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="JSON job specification; options on the command line win.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say where it would go, and submit nothing.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stream the log and end with the job's exit code.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="With --wait: give up watching after so many seconds.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the job as JSON.")] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Submissions with one key make one job.")
    ] = None,
) -> None:
    """Submit a job: headrace submit --cores 2 -- python3 train.py"""
    resources = _given(
        devices=devices,
        device_models=device_model or None,
        device_memory=_amount(device_memory),
        device_compute_milli=device_compute_milli,
        cores=cores,
        memory=_amount(memory),
        shareable=shareable,
        splittable=splittable,
    )
    options = _given(
        name=name,
        queue=queue,
        team=team,
        command=command or None,
        priority=priority,
        max_retries=max_retries,
        time_limit_s=time_limit,
        env=_pairs("--env", env),
        node_labels=_pairs("--node-label", node_label),
    )
    spec = _specification(file, options=options, resources=resources)
    with Client() as client:
        if dry_run:
            _show_dry_run(client.dry_run(spec), as_json=as_json)
            return
        job = client.submit(spec, idempotency_key=idempotency_key)
    if as_json:
        print_json(job)
    else:
        notice(say("submitted", job=job["id"], queue=job["queue"]))
    if wait:
        raise typer.Exit(_follow(job["id"], with_log=not as_json, timeout_s=timeout))
    if not as_json:
        sys.stdout.write(f"{job['id']}\n")


def _given(**values: Any) -> JSON:
    return {key: value for key, value in values.items() if value is not None}


def _amount(text: str | None) -> int | str | None:
    """Digits alone are MiB; anything else goes to the server as written, which parses or refuses it."""
    return int(text) if text and text.isascii() and text.isdigit() else text


def _pairs(option: str, values: list[str] | None) -> dict[str, str] | None:
    if not values:
        return None
    pairs = {}
    for value in values:
        key, sign, rest = value.partition("=")
        if not key or not sign:
            raise ClientError(say("bad-pair", option=option, value=value))
        pairs[key] = rest
    return pairs


def _specification(file: Path | None, *, options: JSON, resources: JSON) -> JSON:
    spec: JSON = {}
    if file is not None:
        try:
            spec = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ClientError(say("bad-file", path=file, detail=error)) from error
        if not isinstance(spec, dict):
            raise ClientError(say("bad-file", path=file, detail="not a JSON object"))
    spec = {**spec, **options}
    if resources:
        base = spec.get("resources")
        spec["resources"] = {**(base if isinstance(base, dict) else {}), **resources}
    if not spec.get("command"):
        raise _usage(say("no-command"))
    spec.setdefault("queue", "training")
    return spec


def _usage(text: str) -> ClientError:
    error = ClientError(text)
    error.exit_code = Exit.USAGE
    return error


def _show_dry_run(answer: JSON, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif placement := answer["placement"]:
        where = escape_controls(placement["node_name"])
        print(
            say(
                "would-start",
                node=where,
                cpus=span(placement["cpus"]),
                devices=devices_of(placement["devices"]),
            )
        )
    else:
        refusal = answer["refusal"]
        print(say("would-wait", text=escape_controls(refusal["sentence"]["text"])))
        _show_refusal(refusal)


def _follow(job: int, *, with_log: bool, timeout_s: float | None) -> int:
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with Client(patience_s=FOLLOW_PATIENCE_S) as client:
        follower = Follower(client, job, notice, output=write_log if with_log else None, deadline=deadline)
        try:
            row = follower.run()
        except KeyboardInterrupt:
            notice(say("detached", job=job))
            return int(Exit.CANCELLED)
    if row is None:
        notice(say("timeout", job=job, seconds=timeout_s))
        return int(Exit.TIMEOUT)
    return exit_code_of(row)


@app.command()
def jobs(
    status: Annotated[list[str] | None, typer.Option(help="Only these; may be repeated.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    team: Annotated[str | None, typer.Option(help="Only this team.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only this owner.")] = None,
    search: Annotated[str | None, typer.Option(help="Text in the name.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List jobs, newest first."""
    with Client() as client:
        rows = client.jobs(limit=limit, status=status, queue=queue, team=team, owner=owner, search=search)
    if as_json:
        print_json(rows)
    elif not rows:
        notice(say("empty-jobs"))
    else:
        names = ("id", "name", "status", "queue", "team", "owner", "node", "submitted", "exit")
        print_table([say(f"column-{name}") for name in names], [_job_row(row) for row in rows])


def _job_row(row: JSON) -> list[object]:
    exit_text = outcome(row) if row["finished_at"] else ""
    node = row["node"]["name"] if row["node"] else ""
    return [
        row["id"],
        row["name"],
        row["status"],
        row["queue"],
        row["team"],
        row["owner"],
        node,
        row["submitted_at"],
        exit_text,
    ]


@app.command()
def logs(
    job: int,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    attempt: Annotated[int | None, typer.Option(min=1, help="An earlier attempt.")] = None,
) -> None:
    """Print a job's log; with -f also what comes, and end with its exit code."""
    if follow:
        raise typer.Exit(_follow(job, with_log=True, timeout_s=None))
    with Client() as client:
        number, offset = attempt or client.job(job)["attempt"], 0
        while True:
            part = client.log(job, attempt=number, offset=offset)
            write_log(part.data)
            if part.next_offset == offset:
                return
            offset = part.next_offset


@app.command()
def wait(
    job: Annotated[list[int], typer.Argument(help="Job numbers.")],
    timeout: Annotated[float | None, typer.Option(min=0, help="Give up after so many seconds.")] = None,
) -> None:
    """Wait for jobs; ends with the first exit code that is not 0."""
    started = time.monotonic()
    worst = 0
    for number in job:
        left = None if timeout is None else max(0.0, timeout - (time.monotonic() - started))
        worst = worst or _follow(number, with_log=False, timeout_s=left)
    raise typer.Exit(worst)


@app.command()
def explain(job: int, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say why a job waits, or why it was placed where it is."""
    with Client() as client:
        answer = client.explain(job)
    if as_json:
        print_json(answer)
        return
    print(escape_controls(answer["sentence"]["text"]))
    if decision := answer["decision"]:
        print(
            say(
                "placed",
                node=escape_controls(decision["node"]["name"]),
                cpus=span(decision["cpus"]),
                devices=devices_of(decision["devices"]),
                score=score(decision["score_ppm"]),
                candidates=decision["candidates"],
            )
        )
        for term in decision["terms"]:
            value, weight, part = (score(term[f"{name}_ppm"]) for name in ("value", "weight", "contribution"))
            print(f"  {term['term']:<24}{value} × {weight} = {part}")
        if not decision["isolates_users"]:
            print(say("not-isolated"))
    else:
        _show_refusal(answer)


def _show_refusal(answer: JSON) -> None:
    print(f"{say('filters')}:")
    for row in answer["funnel"]:
        label = escape_controls(row["label"])
        print(f"  {label}: {say('removed')} {row['removed']}, {say('left')} {row['left']}")
    if answer["changes"]:
        print(f"{say('changes')}:")
        for change in answer["changes"]:
            print(f"  {escape_controls(change['text'])}")


@app.command()
def cancel(job: Annotated[list[int], typer.Argument(help="Job numbers.")]) -> None:
    """Ask for the end of jobs."""
    with Client() as client:
        for number in job:
            row = client.cancel(number)
            notice(say("cancelled", job=number, status=row["status"]))


@app.command()
def nodes(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List nodes."""
    with Client() as client:
        rows = client.nodes()
    if as_json:
        print_json(rows)
    elif not rows:
        notice(say("empty-nodes"))
    else:
        names = ("id", "name", "state", "cores", "memory", "devices", "report")
        print_table([say(f"column-{name}") for name in names], [_node_row(row) for row in rows])


def _node_row(row: JSON) -> list[object]:
    memory = None if row["memory_mib"] is None else f"{row['memory_mib'] / MIB_PER_GIB:.1f}"
    models = f"{row['devices']} × {', '.join(row['device_models'])}" if row["devices"] else say("none")
    return [row["id"], row["name"], row["state"], row["cpu_count"], memory, models, row["last_report_at"]]
