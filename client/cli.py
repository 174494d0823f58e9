"""The commands of `headrace`; see docs/client.md for the exit codes."""

from __future__ import annotations

import getpass
import platform
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from client import conditions as waits
from client import config as configuration
from client import images, operating, planning, shares, summary, teams, templates, watching
from client import submission as spec_of
from client.api import JSON, Client, as_documented
from client.errors import ApiError, Exit, Misuse
from client.explaining import show_explanation, show_fits, show_trial
from client.follow import Follower, exit_code_of, write_log
from client.grep import print_matches
from client.messages import say, word
from client.options import told
from client.render import MIB_PER_GIB, cell_word, escape_controls, outcome, print_json, print_table
from client.top import top

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
# A pipeline that waits outlives a restart of the server.
FOLLOW_PATIENCE_S = 600.0
# As grep ends.
NO_MATCH = 1


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
        raise Misuse(say("bad-file", path=path, detail=error.strerror)) from error


@app.command()
@as_documented()
def submit(
    command: spec_of.Command = None,
    name: spec_of.Name = None,
    queue: spec_of.Queue = None,
    team: spec_of.Team = None,
    cores: spec_of.Cores = None,
    memory: spec_of.Memory = None,
    devices: spec_of.Devices = None,
    device_model: spec_of.DeviceModel = None,
    device_memory: spec_of.DeviceMemory = None,
    device_compute_milli: spec_of.DeviceCompute = None,
    shareable: spec_of.Shareable = None,
    splittable: spec_of.Splittable = None,
    replicas: spec_of.Replicas = None,
    priority: spec_of.Priority = None,
    max_retries: spec_of.MaxRetries = None,
    time_limit: spec_of.TimeLimit = None,
    env: spec_of.Env = None,
    node_label: spec_of.NodeLabel = None,
    image: spec_of.Image = None,
    image_secret: spec_of.ImageSecret = None,
    mount: spec_of.Mount = None,
    network: spec_of.Network = None,
    after: waits.After = None,
    array: waits.Array = None,
    hold: waits.Hold = False,
    deferrable: waits.Deferrable = False,
    template: spec_of.Template = None,
    file: spec_of.File = None,
    dry_run: spec_of.DryRun = False,
    wait: spec_of.Wait = False,
    timeout: Annotated[float | None, typer.Option(min=0, help="With --wait: seconds of watching.")] = None,
    summary_file: summary.Summary = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the job as JSON.")] = False,
    idempotency_key: Annotated[str | None, typer.Option(help="One key makes one job.")] = None,
) -> None:
    """Submit a job: headrace submit --cores 2 -- python3 train.py"""
    resources = spec_of.given(
        devices=devices, device_models=device_model or None, device_memory=spec_of.amount(device_memory),
        device_compute_milli=device_compute_milli, cores=cores, memory=spec_of.amount(memory),
        shareable=shareable, splittable=splittable,
    )  # fmt: skip
    options = spec_of.given(
        template=template, name=name, queue=queue, team=team, command=command or None, replicas=replicas,
        priority=priority, max_retries=max_retries, time_limit_s=time_limit, env=spec_of.pairs("--env", env),
        node_labels=spec_of.pairs("--node-label", node_label),
        **spec_of.container(image, mount, network, secret=image_secret),
        **waits.conditions(after, array, hold=hold, deferrable=deferrable),
    )  # fmt: skip
    spec = spec_of.specification(file, options=options, resources=resources)
    summary.check(summary_file, waits=wait)
    if dry_run:
        _show_dry_run(spec, as_json=as_json)
        return
    job = _submit(spec, key=idempotency_key, as_json=as_json)
    if wait:
        raise typer.Exit(_follow(job, with_log=not as_json, timeout_s=timeout, summary_file=summary_file))
    if not as_json:
        sys.stdout.write(f"{job}\n")


def _submit(spec: JSON, *, key: str | None, as_json: bool) -> int:
    """The number of the job."""
    with Client() as client:
        job = client.submit(spec, idempotency_key=key)
    if as_json:
        print_json(job)
    else:
        notice(say("submitted", job=job["id"], queue=job["queue"]))
    return int(job["id"])


def _show_dry_run(spec: JSON, *, as_json: bool) -> None:
    with Client() as client:
        answer = client.dry_run(spec)
    if as_json:
        print_json(answer)
    else:
        show_trial(answer)


def _follow(
    job: int, *, with_log: bool, timeout_s: float | None, summary_file: Path | None = None, replica: int = 0
) -> int:
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with Client(patience_s=FOLLOW_PATIENCE_S) as client:
        output = write_log if with_log else None
        follower = Follower(client, job, notice, output=output, deadline=deadline, replica=replica)
        try:
            row = follower.run()
        except KeyboardInterrupt:
            notice(say("detached", job=job))
            return int(Exit.CANCELLED)
        if summary_file:
            _summarise(client, row or client.job(job), summary_file)
    if row is None:
        notice(say("timeout", job=job, seconds=timeout_s))
        return int(Exit.TIMEOUT)
    return exit_code_of(row)


def _summarise(client: Client, row: JSON, file: Path) -> None:
    """The exit code stays the job's, whatever becomes of the file."""
    try:
        summary.write(file, row, url=client.url)
    except OSError as error:
        notice(say("bad-file", path=file, detail=error.strerror))


@app.command()
@as_documented()
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
    replicas = row.get("spec", {}).get("replicas", 1)
    return [
        row["id"],
        row["name"],
        cell_word(row["status"]),
        row["queue"],
        row["team"],
        row["owner"],
        f"{node} ×{replicas}" if node and replicas > 1 else node,
        row["submitted_at"],
        exit_text,
    ]


@app.command()
@as_documented()
def logs(
    job: int,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    attempt: Annotated[int | None, typer.Option(min=1, help="One attempt only, as it stands now.")] = None,
    replica: Annotated[int, typer.Option(min=0, help="Of a job with several replicas; the first is 0.")] = 0,
    grep: Annotated[
        str | None, typer.Option(help="Only the lines that hold this text, with their numbers.")
    ] = None,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="With --grep: any case.")] = False,
    context: Annotated[
        int, typer.Option("--context", "-C", min=0, max=5, help="With --grep: lines around each match.")
    ] = 0,
) -> None:
    """Print a job's log; with -f also what comes, and end with its exit code. With --grep end with 1 where no line
    holds the text.
    """
    if grep is not None:
        if follow:
            raise Misuse(say("grep-follows"))
        raise typer.Exit(_grep(job, grep, attempt, replica, ignore_case=ignore_case, context=context))
    if ignore_case or context:
        raise Misuse(say("with-grep"))
    if follow and attempt is None:
        raise typer.Exit(_follow(job, with_log=True, timeout_s=None, replica=replica))
    with Client() as client:
        number, offset = attempt or client.job(job)["attempt"], 0
        while True:
            part = client.log(job, attempt=number, replica=replica, offset=offset)
            write_log(part.data)
            if part.next_offset == offset:
                return
            offset = part.next_offset


def _grep(job: int, text: str, attempt: int | None, replica: int, *, ignore_case: bool, context: int) -> int:
    with Client() as client:
        number = attempt or client.job(job)["attempt"]
        found = client.search_log(
            job, text, attempt=number, replica=replica, ignore_case=ignore_case, context=context
        )
        return 0 if print_matches(found, context=context) else NO_MATCH


@app.command()
@as_documented()
def wait(
    job: Annotated[list[int], typer.Argument(help="Job numbers.")],
    timeout: Annotated[float | None, typer.Option(min=0, help="Give up after so many seconds.")] = None,
) -> None:
    """Wait for all of the jobs; ends with the first exit code that is not 0."""
    started = time.monotonic()
    worst = 0
    for number in job:
        left = None if timeout is None else max(0.0, timeout - (time.monotonic() - started))
        code = _follow(number, with_log=False, timeout_s=left)
        worst = worst or code
    raise typer.Exit(worst)


@app.command()
@as_documented()
def explain(job: int, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say why a job waits, or why it was placed where it is."""
    with Client() as client:
        answer = client.explain(job)
    if as_json:
        print_json(answer)
        return
    show_explanation(answer)


@app.command()
@as_documented()
def fits(
    device: Annotated[str, typer.Argument(help="A device: its number, or NODE/INDEX (here-01/3).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a device could run now: the largest request, and the waiting jobs that would fit."""
    with Client() as client:
        answer = client.fits(int(device) if device.isdecimal() else client.device_number(device))
    if as_json:
        print_json(answer)
    else:
        show_fits(answer)


@app.command()
@as_documented()
def cancel(job: Annotated[list[int], typer.Argument(help="Job numbers.")]) -> None:
    """Ask for the end of jobs; one that cannot be cancelled keeps none of the others."""
    worst = 0
    with Client() as client:
        for number in job:
            try:
                row = client.cancel(number)
            except ApiError as error:
                notice(escape_controls(told(error)))
                worst = worst or int(error.exit_code)
                continue
            notice(say(_CANCELLED.get(row["status"], "cancelled"), job=number, status=word(row["status"])))
    raise typer.Exit(worst)


@app.command()
@as_documented()
def suspend(
    job: int,
    lose_work: Annotated[
        bool, typer.Option("--lose-work", help="Stop it even without a checkpoint.")
    ] = False,
) -> None:
    """Let a job make its checkpoint, stop, and hold nothing until it is resumed."""
    with Client() as client:
        row = client.suspend(job, lose_work=lose_work)
    notice(say("job-is", job=job, status=word(row["status"])))


@app.command()
@as_documented()
def resume(job: int) -> None:
    """Let a suspended job go on from its last checkpoint as soon as there is a place."""
    with Client() as client:
        row = client.resume(job)
    notice(say("job-is", job=job, status=word(row["status"])))


app.add_typer(shares.quota, name="quota")
for command in (
    *operating.COMMANDS,
    *planning.COMMANDS,
    shares.arrays,
    shares.cancel_array,
    teams.team,
    top,
):
    app.command()(command)


# Status after a cancellation -> what to say.
_CANCELLED = {"cancelled": "is-cancelled", "succeeded": "ended-before", "failed": "ended-before"}


@app.command()
@as_documented()
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


app.add_typer(watching.app, name="node")
app.add_typer(images.app, name="images")
app.add_typer(templates.app, name="template")


def _node_row(row: JSON) -> list[object]:
    memory = None if row["memory_mib"] is None else f"{row['memory_mib'] / MIB_PER_GIB:.1f}"
    models = f"{row['devices']} × {', '.join(row['device_models'])}" if row["devices"] else say("none")
    return [
        row["id"],
        row["name"],
        cell_word(row["state"]),
        row["cpu_count"],
        memory,
        models,
        row["last_report_at"],
    ]
