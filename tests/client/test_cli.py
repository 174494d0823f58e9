"""The `headrace` command as a process: output, progress and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from client.follow import exit_code_of
from client.messages import CATALOGUE, word
from client.render import escape_controls, quantity, span
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
        ({"status": "failed", "exit_code": 256}, 75),
        ({"status": "failed", "exit_code": -1}, 75),
        ({"status": "failed", "exit_code": None, "exit_signal": 128}, 75),
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


def test_replicas_are_asked_for_and_their_logs_read_apart():
    with scripted(serving(job())) as server:
        assert headrace("submit", "--replicas", "3", "--", "work", url=server.url).returncode == 0
        assert headrace("logs", "5", "--attempt", "1", "--replica", "2", url=server.url).returncode == 0
        assert headrace("logs", "5", "--attempt", "1", url=server.url).returncode == 0
    submitted, second, first = server.asked[0], server.asked[1], server.asked[-1]
    assert submitted.body["replicas"] == 3
    assert second.query["replica"] == ["2"] and "replica" not in first.query


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


def test_chinese_sentences_have_chinese_statuses_terms_and_units():
    chinese = {"lang": "zh_CN.UTF-8", "PYTHONIOENCODING": "utf-8"}
    near = {
        "node_name": "here",
        "code": "cores-free",
        "needed": 16,
        "available": 3,
        "unit": "cores",
        "pieces": [],
    }
    funnel = [{"code": "cores-free", "label": "空闲核心", "removed": 2, "left": 0}]
    answers = {"explain": explained(funnel=funnel, near=[near]), "suspend": job(status="suspending")}
    with scripted(lambda request: Answer(200, answers[request.path.split("/")[-1]])) as server:
        why = headrace("explain", "5", url=server.url, **chinese).stdout.decode()
        stopped = headrace("suspend", "5", url=server.url, **chinese).stderr.decode()
    assert "here（空闲核心）：需要 16 核，可用 3 核，还差 13 核" in why
    assert stopped.strip() == "作业 5 当前状态：暂停中。"


def test_words_of_a_newer_server_are_shown_as_they_are(monkeypatch):
    monkeypatch.setenv("HEADRACE_LANG", "zh")
    assert (word("running"), word("melting")) == ("运行中", "melting")


def test_one_is_counted_as_one(monkeypatch):
    monkeypatch.setenv("HEADRACE_LANG", "en")
    texts = [quantity(1, "cores"), quantity(2, "cores"), quantity(1, "MiB/s"), quantity(1, "devices")]
    assert texts == ["1 core", "2 cores", "1 MiB/s", "1 device"]


def test_what_the_caller_can_put_right_ends_with_64(tmp_path):
    broken = tmp_path / "config.toml"
    broken.write_text("url = ")
    with scripted(lambda _: Answer(200, {"results": [], "next": None})) as server:
        ended = [
            headrace("fits", "nowhere/3", url=server.url),
            headrace("login", "--username", "u", "--password-file", "/nonexistent", url=server.url),
            headrace("jobs", url=server.url, HEADRACE_CONFIG=str(broken)),
            headrace("jobs", "--nope", url=server.url),
            headrace("submit", "--cores", "many", "--", "x", url=server.url),
            headrace("nope", url=server.url),
        ]
    assert [one.returncode for one in ended] == [64] * 6
    assert all(len(one.stderr.strip().splitlines()) == 1 for one in ended)
    assert ended[0].stderr.decode().startswith("There is no device nowhere/3")


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


def explained(**changes):
    answer = {
        "status": "pending",
        "sentence": {"code": "cores-free", "text": "No suitable node has enough free cores.", "params": {}},
        "funnel": [{"code": "cores-free", "label": "Free cores", "removed": 2, "left": 0}],
        "near": [],
        "changes": [],
        "decision": None,
        "estimate": None,
    }
    return answer | changes


def lines_of(*arguments: str, answer: dict) -> list[str]:
    with scripted(lambda _: Answer(200, answer)) as server:
        ended = headrace(*arguments, url=server.url, TZ="UTC", PYTHONIOENCODING="utf-8")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.decode().splitlines()


def test_explain_names_the_nearest_nodes_their_shortfall_and_when_it_could_start():
    near = {"code": "cores-free", "needed": 16, "available": 3, "unit": "cores", "pieces": []}
    pieces = {"code": "device-memory-piece", "needed": 49152, "available": 20480, "unit": "MiB"}
    estimate = {
        "at": "2026-01-01T10:30:00Z",
        "basis": "history",
        "node_name": "here",
        "is_earliest": False,
        "after_jobs": [{"job": 3, "name": "train"}, {"job": 4, "name": None}],
    }
    answer = explained(
        near=[{"node_name": "here", **near}, {"node_name": "\x1bx", **pieces, "pieces": [20480, 20480]}],
        changes=[{"text": "With 3 cores it starts at once on here."}],
        estimate=estimate,
    )
    assert lines_of("explain", "5", answer=answer)[3:] == [
        "nearest nodes:",
        "  here (Free cores): needs 16 cores, has 3 cores, 13 cores short",
        "  \\x1bx (device-memory-piece): needs 48.0 GiB, has 20.0 GiB, 28.0 GiB short in pieces: 20.0 GiB, 20.0 GiB",
        "smallest changes that help:",
        "  With 3 cores it starts at once on here.",
        "Expected to start at 2026-01-01 10:30 on here, once these jobs end: 3 (train), 4 "
        "(by how long such jobs usually run).",
    ]


def test_explain_tells_the_place_in_line_and_the_place_that_is_kept():
    line = {"place": 2, "waiting": 9, "sentence": {"code": "line-age", "text": "Place 2 of 9.", "params": {}}}
    kept = {"at": "2026-01-01T10:30:00Z", "nodes": [{"id": 1, "name": "here"}, {"id": 2, "name": "\x1bx"}]}
    assert lines_of("explain", "5", answer=explained(line=line, reservation=kept))[1:3] == [
        "Place 2 of 9.",
        "It waited long: from 2026-01-01 10:30 on its place on here, \\x1bx is kept for it.",
    ]


def test_a_small_shortfall_is_told_exactly_and_unknown_as_unknown():
    near = {"node_name": "here", "code": "device-too-small", "needed": 81921, "unit": "MiB", "pieces": []}
    answer = explained(near=[near | {"available": 81920}, near | {"available": None}])
    assert lines_of("explain", "5", answer=answer)[4:6] == [
        "  here (device-too-small): needs 81921 MiB, has 81920 MiB, 1 MiB short",
        "  here (device-too-small): needs 80.0 GiB, has unknown, unknown short",
    ]


@pytest.mark.parametrize(("code", "said"), [("cores-free", True), ("fits-now", False), ("paused", False)])
def test_an_unknown_start_is_told_where_there_is_something_to_wait_for(code, said):
    answer = explained(sentence={"code": code, "text": "t", "params": {}})
    assert ("When it could start is unknown" in lines_of("explain", "5", answer=answer)[-1]) is said


def test_a_cluster_without_nodes_is_told_without_filters_and_estimate():
    answer = explained(
        sentence={"code": "no-nodes", "text": "no node yet"}, funnel=[], near=[], changes=[], estimate=None
    )
    assert lines_of("explain", "5", answer=answer) == ["no node yet"]


def test_explain_names_the_next_best_nodes_and_their_distance():
    terms = [{"term": "balance", "value_ppm": 500_000, "weight_ppm": 120_000, "contribution_ppm": 60_000}]
    runner = {"node": 2, "node_name": "there", "score_ppm": 700_000, "terms": terms}
    decision = {
        "score_ppm": 750_000,
        "terms": terms,
        "node": {"id": 1, "name": "here"},
        "devices": [],
        "cpus": [0],
        "candidates": 2,
        "runners_up": [runner],
        "isolates_users": True,
    }
    device = {"index": 0, "model": "A100", "memory_mib": 10, "compute_milli": 500, "memory_limit": "watched"}
    limited = decision | {"host_memory_limit": "control-group", "devices": [device]}
    lines = lines_of("explain", "5", answer=explained(decision=limited))
    assert "devices 0 (A100, 10 MiB, only watched)" in lines[1]
    assert "Host memory: enforced by the node." in lines
    lines = lines_of("explain", "5", answer=explained(decision=decision))
    assert lines[-2:] == ["next best nodes:", "  there: 0.700 (-0.050)"]
    close = decision | {"score_ppm": 700_031, "tie": None}
    lines = lines_of("explain", "5", answer=explained(decision=close))
    assert lines[1].endswith("score 0.700031.") and lines[-1] == "  there: 0.700000 (-0.000031)"
    tie = {"code": "tie", "params": {}, "text": "The lower\x1b id goes first."}
    same = decision | {"score_ppm": 700_000, "tie": tie}
    lines = lines_of("explain", "5", answer=explained(decision=same))
    assert lines[-2:] == ["  there: 0.700 (the same)", "The lower\\x1b id goes first."]


LARGEST = {"alone_mib": 40960, "shared_mib": None, "compute_milli": 1000, "cores": 8, "host_memory_mib": 512}
FITS = {
    "largest": LARGEST,
    "code": None,
    "text": None,
    "jobs": [{"id": 5, "name": "n", "queue": "training"}],
    "jobs_total": 1,
}


def test_fits_says_what_a_device_could_run():
    def respond(request: Asked) -> Answer:
        if request.path == "/api/v1/nodes":
            assert request.query["search"] == ["here"]
            return Answer(
                200, {"results": [{"id": 6, "name": "here-2"}, {"id": 7, "name": "here"}], "next": None}
            )
        if request.path == "/api/v1/devices":
            assert request.query["node"] == ["7"]
            return Answer(200, {"results": [{"id": 40, "index": 0}, {"id": 41, "index": 1}], "next": None})
        return Answer(200, FITS) if request.path == "/api/v1/devices/41/fits" else NOT_FOUND

    with scripted(respond) as server:
        for name in ("41", "here/1"):
            ended = headrace("fits", name, url=server.url)
            assert ended.stdout.decode().splitlines() == [
                "At most now: 40.0 GiB alone or unknown shared, 100 % of the device; on its node 8 cores and 512 MiB "
                "of memory.",
                "Waiting jobs that would fit: 1",
                "  5 (n) training",
            ]
        unknown = [headrace("fits", name, url=server.url) for name in ("40", "here/2")]
    assert [ended.stderr.decode().strip() for ended in unknown] == [
        "Device 40: There is no such object.",
        "There is no device here/2: say its number, or NODE/INDEX.",
    ]


def test_fits_says_why_a_device_takes_nothing():
    answer = {
        **FITS,
        "code": "device-busy",
        "text": "The devices that would do are taken by other jobs.",
        "jobs": [],
    }
    assert lines_of("fits", "4", answer=answer) == [
        "Nothing now: The devices that would do are taken by other jobs."
    ]


@pytest.mark.parametrize(
    ("environment", "code"),
    [({"HEADRACE_URL": "http://[::1"}, 69), ({"HEADRACE_TOKEN": "\u4f5c"}, 77)],
)
def test_an_address_or_token_that_can_be_none_is_one_line(environment, code):
    url = environment.pop("HEADRACE_URL", "http://127.0.0.1:9")
    ended = headrace("explain", "1", url=url, LC_CTYPE="C.UTF-8", **environment)
    assert (ended.returncode, ended.stderr.count(b"\n")) == (code, 1), ended.stderr


@pytest.mark.parametrize("body", [{}, {"sentence": None}])
def test_an_answer_that_lacks_a_field_is_one_line(body):
    with scripted(lambda _: Answer(200, body)) as server:
        ended = headrace("explain", "1", url=server.url)
    assert (ended.returncode, ended.stderr.count(b"\n")) == (70, 1), ended.stderr


ESTIMATE = {"at": "2026-01-01T10:30:00Z", "node_name": "here", "is_earliest": False, "after_jobs": []}
NEAR = {"node_name": "here", "code": "c", "needed": "5", "available": 3, "unit": "MiB", "pieces": []}


ODD_KIND = "The server does not answer like a Headrace server (a field is not of the documented kind)"


@pytest.mark.parametrize(
    "odd",
    [
        {"near": ["x"]},
        {"near": [NEAR]},
        {"changes": [5]},
        {"funnel": None},
        {"sentence": {"code": "c", "text": 5}},
        {"estimate": ESTIMATE | {"at": "soon", "basis": "history"}},
    ],
)
def test_an_answer_with_an_odd_field_is_one_line_of_our_own(odd):
    with scripted(lambda _: Answer(200, explained(**odd))) as server:
        ended = headrace("explain", "1", url=server.url)
    assert (ended.returncode, ended.stderr.decode().strip()) == (70, ODD_KIND)


@pytest.mark.parametrize(
    ("command", "body", "said"),
    [
        (["jobs"], {"results": [5], "next": None}, ODD_KIND),
        (["jobs"], {"results": 5, "next": None}, ODD_KIND),
        (["nodes"], {"results": [{"id": 1}], "next": None}, "missing)"),
        (["cancel", "1"], {"id": 1}, "(status is missing)"),
        (["wait", "1"], {"status": [], "node": 5}, ODD_KIND),
        (["fits", "1"], {"code": None, "largest": "x"}, ODD_KIND),
        (["submit", "--", "true"], {"id": 1}, "(queue is missing)"),
        (["submit", "--dry-run", "--", "true"], {"placement": 5, "refusal": None}, ODD_KIND),
    ],
)
def test_no_command_shows_its_insides_for_an_odd_answer(command, body, said):
    with scripted(lambda _: Answer(200, body)) as server:
        ended = headrace(*command, url=server.url)
    assert ended.returncode == 70 and ended.stderr.count(b"\n") == 1, ended.stderr
    assert ended.stderr.decode().strip().endswith(said)


def test_what_a_newer_server_estimates_by_is_shown_as_it_is():
    answer = explained(estimate=ESTIMATE | {"basis": "oracle"})
    assert lines_of("explain", "5", answer=answer)[-1].endswith("(oracle).")


def test_many_jobs_are_acted_on_and_the_refused_are_named():
    answer = {
        "outcomes": [
            {"job": 4, "changed": True, "code": None, "text": None},
            {"job": 5, "changed": False, "code": None, "text": None},
            {"job": 6, "changed": False, "code": "not-waiting", "text": "Only a job that waits can be held."},
        ],
        "left": 0,
    }
    with scripted(lambda _request: Answer(200, answer)) as server:
        ended = headrace("hold", "4", "5", "6", url=server.url)
    assert ended.returncode == 64
    assert ended.stdout.decode().splitlines() == ["Job 4: done.", "Job 5: nothing to do."]
    assert "Job 6: Only a job that waits can be held." in ended.stderr.decode()
    assert server.asked[0].body == {"action": "hold", "jobs": [4, 5, 6]}


def test_fields_of_errors_are_told_as_options():
    text = "This job can make no checkpoint. Say lose_work to stop it and begin anew later."
    refused = Answer(409, {"code": "no-checkpoint", "detail": text})
    outcome = {"job": 5, "changed": False, "code": "no-checkpoint", "text": text}

    def respond(request: Asked) -> Answer:
        if request.path.endswith("/bulk"):
            return Answer(200, {"outcomes": [outcome], "left": 0})
        if request.path.endswith("/submit"):
            errors = [
                {"field": "resources.device_memory", "message": "Is no amount."},
                {"field": "priority", "message": "Give time_limit_s, not wall_time_limit_s."},
            ]
            return Answer(400, {"code": "invalid", "detail": "Not valid.", "errors": errors})
        return refused

    with scripted(respond) as server:
        one, many = headrace("suspend", "5", url=server.url), headrace("requeue", "5", url=server.url)
        faulty = headrace("submit", "--device-memory", "x", "--", "y", url=server.url)
    for ended in (one, many):
        assert "Say --lose-work to stop it" in ended.stderr.decode()
    assert faulty.stderr.decode().splitlines()[1:] == [
        "  resources.device_memory (--device-memory): Is no amount.",
        "  priority (--priority): Give --time-limit, not wall_time_limit_s.",
    ]


def test_conditions_are_sent_as_they_were_said():
    given = ("--after", "12", "--after", "13:any", "--array", "100:4", "--hold", "--deferrable")
    with scripted(lambda _request: Answer(201, job(status="held"))) as server:
        assert headrace("submit", *given, "--", "true", url=server.url).returncode == 0
        assert headrace("submit", "--array", "x", "--", "true", url=server.url).returncode == 64
    sent = server.asked[0].body
    assert sent["after"] == [{"job": 12}, {"job": 13, "ends": "any"}]
    assert (sent["array"], sent["on_hold"], sent["deferrable"]) == ({"tasks": 100, "at_once": 4}, True, True)


def test_a_trial_names_who_would_leave_and_counts_the_tasks_that_start():
    refusal = explained(sentence={"code": "takes-over", "text": "No place is free."}, estimate=None)
    answer = {
        "placement": None,
        "refusal": refusal,
        "takeover": {"nodes": [], "stops": [{"job": 3, "name": "old"}, {"job": 4, "name": None}]},
        "array": {"sentence": {"text": "Of the 9 tasks of this array 0 start now."}},
    }
    lines = lines_of("submit", "--dry-run", "--", "true", answer=answer)
    assert lines[:2] == ["Would wait: No place is free.", "Asked to leave for it: 3 (old), 4"]
    assert lines[-1] == "Of the 9 tasks of this array 0 start now."
    assert not any("unknown" in line for line in lines)


def test_a_held_job_is_explained_by_what_holds_it_alone():
    held = explained(
        status="held", sentence={"code": "held-person", "text": "It is held."}, funnel=[], line=None
    )
    assert lines_of("explain", "5", answer=held) == ["It is held."]


def test_a_job_that_nobody_looked_at_has_no_empty_places():
    told = {"code": "not-looked-at", "text": "The scheduler has not looked at this job yet."}
    answer = explained(sentence=told, funnel=[], line=None, reservation=None, start_unknown=None)
    assert lines_of("explain", "5", answer=answer) == [told["text"]]


def test_a_job_about_which_nothing_was_decided_says_its_status():
    answer = explained(status="cancelled", sentence=None, funnel=[])
    assert lines_of("explain", "5", answer=answer) == [
        "Nothing was decided about this job; its status is cancelled."
    ]


def test_why_no_start_is_known_is_told_in_the_words_of_the_server():
    answer = explained(start_unknown={"code": "start-never", "text": "No node can ever take it."})
    assert lines_of("explain", "5", answer=answer)[-1] == "No node can ever take it."
