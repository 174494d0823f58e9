"""`headrace submit --summary`: what became of a job, for the page of a pipeline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from client.cli import app
from client.errors import Misuse
from tests.client.server import Answer, Asked, scripted
from tests.client.test_cli import ROOT, job

FAILED = job(
    status="failed", exit_code=3, exit_message="bad | <b>batch</b>\x1b[31m", exit_class="exit-code", name="a*b",
    team="vision", owner="ada", started_at="2026-01-01T00:00:00Z", finished_at="2026-01-01T00:01:30Z",
    waits_ms={"held": None, "pending": 2500, "image_pull": 12_000, "start": 100},
    devices=[{"index": 1, "model": "A100", "memory_mib": 40960, "compute_milli": 1000}],
)  # fmt: skip


def serving(row):
    def respond(request: Asked) -> Answer:
        if request.path.endswith("/submit"):
            return Answer(201, job(status="pending"))
        if request.path.endswith("/logs"):
            return Answer(200, b"", {"X-Next-Offset": "0", "X-Complete": "true"})
        return Answer(200, row)

    return respond


def headrace(*arguments: str, url: str, lang: str = "en"):
    env = {"HEADRACE_URL": url, "HEADRACE_LANG": lang, "HEADRACE_CONFIG": "/nonexistent", "COLUMNS": "200"}
    return CliRunner().invoke(app, arguments, env=env)


def submit(file: Path, row, *more: str, lang: str = "en"):
    with scripted(serving(row)) as server:
        done = headrace(
            "submit", "--wait", "--summary", str(file), *more, "--", "x", url=server.url, lang=lang
        )
        return done, server


def test_markdown_is_appended_and_what_others_wrote_is_no_markdown(tmp_path):
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    done, server = submit(file, FAILED)
    assert done.exit_code == 3
    text = file.read_text()
    assert text.startswith(f"before\n### [Job \\#5 a\\*b]({server.url}/jobs/5)\n")
    assert "| cause | exit code 3 · bad \\| \\<b\\>batch\\</b\\>" in text and "\x1b" not in text
    assert "| waited | in the queue 2.5 s, image 12 s, start 0.1 s |" in text
    assert "| ran | 90 s |" in text and "| node | here |" in text


def test_json_is_written_whole_and_what_is_unknown_is_null(tmp_path):
    file = tmp_path / "summary.json"
    done, server = submit(file, FAILED | {"waits_ms": {"held": None, "pending": 5}})
    found = json.loads(file.read_text())
    assert (done.exit_code, found["status"], found["over"], found["exit_code"]) == (3, "failed", True, 3)
    assert found["waits_s"] == {"held": None, "pending": 0.0, "image_pull": None, "start": None}
    assert (found["ran_s"], found["node"], found["url"]) == (90.0, "here", f"{server.url}/jobs/5")


def test_at_the_time_out_it_says_why_the_job_waits(tmp_path):
    file = tmp_path / "summary.md"
    waiting = job(
        status="pending", node=None, cpus=None, finished_at=None, reason={"code": "c", "text": "No cores."}
    )
    done, _server = submit(file, waiting, "--timeout", "0", lang="zh_CN")
    assert done.exit_code == 124
    text = file.read_text()
    assert "| 原因 | No cores. |" in text and "| 运行 | 未知 |" in text


@pytest.mark.parametrize("more", [(), ("--wait",)])
def test_what_could_not_be_written_is_refused_before_anything_is_submitted(tmp_path, more):
    file = tmp_path / "missing" / "summary.md" if more else tmp_path / "summary.md"
    with scripted(serving(FAILED)) as server:
        done = headrace("submit", *more, "--summary", str(file), "--", "x", url=server.url)
    assert isinstance(done.exception, Misuse) and server.asked == []


def test_the_example_names_only_options_that_there_are():
    text = (ROOT / "examples/ci/github-actions.yml").read_text()
    options = {word for word in text.split() if word.startswith("--")} - {"--"}
    help_text = headrace("submit", "--help", url="http://127.0.0.1:1").stdout
    assert options and all(option in help_text for option in options)
