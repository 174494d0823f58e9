"""The `headrace` command as a process: output, progress and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from client.follow import exit_code_of
from client.messages import CATALOGUE
from client.render import escape_controls, span
from tests.client.server import Answer, Asked, scripted

ROOT = Path(__file__).resolve().parents[2]


def job(**changes):
    row = {
        "id": 5,
        "name": "n",
        "status": "succeeded",
        "queue": "training",
        "attempt": 1,
        "node": {"id": 1, "name": "here"},
        "cpus": [0, 1, 4],
        "reason": None,
        "finished_at": "2026-01-01T00:00:00Z",
        "exit_code": 0,
        "exit_signal": None,
        "exit_message": "",
    }
    return {**row, **changes}


def headrace(
    *arguments: str, url: str, lang: str = "en", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LANG": lang,
        "HEADRACE_URL": url,
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-m", "client", *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        timeout=60,
        check=False,
    )


def serving(final: dict, log: bytes = b""):
    rows = iter(
        [
            job(status="pending", node=None, reason={"code": "c", "text": "no \x1b[31mcores"}),
            job(status="running"),
        ]
    )

    def respond(request: Asked) -> Answer:
        if request.path.endswith("/submit"):
            return Answer(201, job(status="pending"))
        if request.path.endswith("/logs"):
            offset = int(request.query["offset"][0])
            done = offset >= len(log)
            headers = {"X-Next-Offset": str(len(log)), "X-Complete": "true" if done else "false"}
            return Answer(200, log[offset:], headers)
        return Answer(200, next(rows, final))

    return respond


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"status": "failed", "exit_code": 3}, 3),
        ({"status": "failed", "exit_code": None, "exit_signal": 9}, 137),
        ({"status": "failed", "exit_code": None}, 75),
        ({"status": "failed", "exit_code": 0}, 75),
        ({"status": "cancelled", "exit_code": 0}, 130),
    ],
)
def test_exit_code_of_a_job(changes, code):
    assert exit_code_of(job(**changes)) == code


def test_submit_wait_passes_the_log_on_unchanged_and_ends_with_the_jobs_code():
    log = b"raw \x1b[1m\xff bytes\n"
    with scripted(serving(job(status="failed", exit_code=7), log)) as server:
        ended = headrace("submit", "--wait", "--cores", "1", "--memory", "512", "--", "work", url=server.url)
    assert ended.returncode == 7
    assert ended.stdout == log
    notices = ended.stderr.decode()
    assert "waits: no \\x1b[31mcores" in notices
    assert "cores 0-1,4" in notices
    assert server.asked[0].body["resources"] == {"cores": 1, "memory": 512}
    assert server.asked[0].body["command"] == ["work"]


def test_wait_gives_up_after_its_timeout_and_leaves_the_job_alone():
    with scripted(lambda _: Answer(200, job(status="running"))) as server:
        ended = headrace("wait", "5", "--timeout", "0.2", url=server.url)
    assert ended.returncode == 124
    assert all(request.method == "GET" for request in server.asked)


@pytest.mark.parametrize(
    "arguments",
    [("submit",), ("submit", "--env", "nokey", "--", "x"), ("submit", "--file", "/nonexistent", "--", "x")],
)
def test_wrong_use_is_one_line_and_not_a_traceback(arguments):
    ended = headrace(*arguments, url="http://127.0.0.1:9")
    assert ended.returncode != 0
    assert b"Traceback" not in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_chinese_when_the_environment_asks_for_it():
    with scripted(lambda _: Answer(200, {"results": [], "next": None})) as server:
        ended = headrace("jobs", url=server.url, lang="zh_CN.UTF-8", PYTHONIOENCODING="utf-8")
    assert "没有符合条件的作业" in ended.stderr.decode()


def test_every_sentence_has_both_languages_and_the_same_fields():
    import string

    for key, (english, chinese) in CATALOGUE.items():
        fields = [
            {name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (english, chinese)
        ]
        assert english and chinese, key
        assert fields[0] == fields[1], key


def test_names_cannot_steer_a_terminal():
    assert escape_controls("a\x1b]0;x\x07\u202e\n") == "a\\x1b]0;x\\x07\\u202e\\x0a"
    assert span([3, 0, 1, 2, 8]) == "0-3,8"


def test_wait_waits_for_all_and_ends_with_the_first_failure():
    ended_jobs = {5: job(status="failed", exit_code=3), 6: job(id=6)}

    def respond(request: Asked) -> Answer:
        return Answer(200, ended_jobs[int(request.path.rsplit("/", 1)[1])])

    with scripted(respond) as server:
        ended = headrace("wait", "5", "6", url=server.url)
    assert ended.returncode == 3
    assert [request.path for request in server.asked] == ["/api/v1/jobs/5", "/api/v1/jobs/6"]


def test_a_file_that_is_not_there_is_named_once(tmp_path):
    missing = tmp_path / "spec.json"
    ended = headrace("submit", "--file", str(missing), "--", "x", url="http://127.0.0.1:9")
    assert ended.stderr.decode().strip() == f"{missing}: No such file or directory"
    missing.write_text("{")
    ended = headrace("submit", "--file", str(missing), "--", "x", url="http://127.0.0.1:9")
    assert ended.returncode == 64 and ended.stderr.decode().count(str(missing)) == 1


NOT_FOUND = Answer(404, {"code": "not-found", "detail": "There is no such object."})


@pytest.mark.parametrize("command", [("explain", "99"), ("logs", "99"), ("wait", "99"), ("cancel", "99")])
def test_an_unknown_job_is_named(command):
    with scripted(lambda _: NOT_FOUND) as server:
        ended = headrace(*command, url=server.url)
    assert (ended.returncode, ended.stderr.decode().strip()) == (64, "Job 99: There is no such object.")


def test_cancel_says_what_it_did_and_stops_at_nothing():
    now = {4: job(status="running"), 5: job(status="succeeded"), 7: job(status="cancelled")}

    def respond(request: Asked) -> Answer:
        number = int(request.path.split("/")[-2])
        return Answer(200, now[number]) if number in now else NOT_FOUND

    with scripted(respond) as server:
        ended = headrace("cancel", "4", "99", "5", "7", url=server.url)
    assert ended.returncode == 64
    assert ended.stderr.decode().splitlines() == [
        "Job 4: cancellation asked for, now running.",
        "Job 99: There is no such object.",
        "Job 5 has ended already (succeeded); there is nothing to cancel.",
        "Job 7 is cancelled.",
    ]
