"""What became of a job, for the page of a pipeline: `headrace submit --wait --summary FILE`."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from client.api import JSON
from client.errors import Misuse
from client.messages import say, word
from client.render import devices_of, escape_controls, outcome, span

Summary = Annotated[
    Path | None,
    typer.Option(
        "--summary", help="With --wait: what became of it, as JSON (*.json) or appended as Markdown."
    ),
]
FINAL = {"succeeded", "failed", "cancelled"}
WAITS = ("held", "pending", "image_pull", "start")
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!])")


def check(file: Path | None, *, waits: bool) -> None:
    """Refuse before anything is submitted what could not be written after the job."""
    if file is None:
        return
    if not waits:
        raise Misuse(say("summary-waits"))
    try:
        file.open("a", encoding="utf-8").close()
    except OSError as error:
        raise Misuse(say("bad-file", path=file, detail=error.strerror)) from error


def write(file: Path, job: JSON, *, url: str) -> None:
    """The summary of a job as it stands now; a Markdown file keeps what is in it, as pipelines expect."""
    facts = facts_of(job, url=url)
    if file.suffix == ".json":
        file.write_text(json.dumps(facts, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        return
    with file.open("a", encoding="utf-8") as out:
        out.write(markdown(job, facts))


def facts_of(job: JSON, *, url: str) -> JSON:
    """State, cause, waits, place and duration; null is unknown or not so far. `over` tells whether it has ended."""
    waits = job.get("waits_ms") or {}
    names = ("name", "queue", "team", "owner", "status", "attempt", "exit_class", "exit_code", "exit_signal")
    return {
        "job": job["id"],
        **{name: job.get(name) for name in names},
        "over": job["status"] in FINAL,
        "cause": _cause(job),
        "node": job["node"]["name"] if job["node"] else None,
        "cpus": job["cpus"],
        "devices": job.get("devices") or [],
        "waits_s": {name: _seconds(waits.get(name)) for name in WAITS},
        "ran_s": _ran_s(job),
        "url": f"{url}/jobs/{job['id']}",
    }


def markdown(job: JSON, facts: JSON) -> str:
    """A heading with a link and a table."""
    waits = [(name, seconds) for name, seconds in facts["waits_s"].items() if seconds is not None]
    rows = [
        ("status", word(facts["status"])),
        ("cause", facts["cause"]),
        ("queue", facts["queue"]),
        ("node", facts["node"] or say("none")),
        ("cpus", span(facts["cpus"])),
        ("devices", devices_of(facts["devices"])),
        ("waited", ", ".join(f"{say(f'wait-{name}')} {seconds:g} s" for name, seconds in waits)),
        ("ran", say("unknown") if facts["ran_s"] is None else f"{facts['ran_s']:g} s"),
        ("attempt", str(facts["attempt"])),
    ]
    title = _plain(f"#{facts['job']} {job.get('name') or ''}".rstrip())
    table = "".join(f"| {say(f'summary-{name}')} | {_plain(text)} |\n" for name, text in rows)
    return f"### [{say('summary-job')} {title}]({facts['url']})\n\n| | |\n| --- | --- |\n{table}\n"


def _cause(job: JSON) -> str:
    """How it ended, or while it waits why."""
    if job["status"] in FINAL:
        return outcome(job)
    reason = job.get("reason")
    return escape_controls(reason["text"]) if reason else say("summary-goes-on")


def _ran_s(job: JSON) -> float | None:
    started, finished = job.get("started_at"), job.get("finished_at")
    if not started or not finished:
        return None
    span_of = datetime.fromisoformat(finished) - datetime.fromisoformat(started)
    return round(span_of.total_seconds(), 1)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else round(ms / 1000, 1)


def _plain(text: str) -> str:
    """Names and sentences of others are no Markdown of ours."""
    return SPECIAL.sub(r"\\\1", escape_controls(text))
