"""Searching a log: the same lines as reading all of it would find, however it is stored and however often one asks."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from controlplane.base import clock
from scheduling import log_search
from scheduling.log_search import Block, Search, fold, search_block
from scheduling.logs import LogPiece, append_log
from scheduling.models import LogChunk, Placement
from tests.scheduling import factories as make

ASK = "/api/v1/jobs/{}/logs"


@pytest.fixture
def user(db):
    make.make_queues()
    return make.make_user(team=make.make_team())


@pytest.fixture
def placement(user):
    make.make_node()
    make.make_job(user)
    make.run_cycle()
    return Placement.objects.select_related("node").get()


@pytest.fixture
def api(user):
    client = APIClient()
    client.force_authenticate(user)
    return client


def write(placement, data: bytes, *, piece=7, ended=True):
    for at in range(0, len(data), piece):
        part = LogPiece(placement.attempt, placement.fence, at, data[at : at + piece])
        append_log(placement.node, placement.pk, part)
    if ended:
        make.report(placement.node, make.ended(placement, log_bytes=len(data)))


def ask(api, placement, **query):
    answer = api.get(ASK.format(placement.job_id), query)
    assert answer.status_code == 200, answer.json()
    return answer.json()


def whole(api, placement, **query):
    """All matches, page after page; the cursor always moves on."""
    found, place = [], {}
    while True:
        page = ask(api, placement, **query, **place)
        found += page["matches"]
        if page["at_end"]:
            return found, page
        assert page["next_offset"] > place.get("offset", -1)
        place = {"offset": page["next_offset"], "line": page["next_line"]}


def test_matches_carry_line_offset_and_the_lines_around(api, placement):
    write(placement, "one\ntwo é loss=1\nthree\nloss=2".encode())
    found = ask(api, placement, search="loss", context=1)
    first, second = found["matches"]
    assert first == {
        "line": 2, "offset": 4, "before": "two é ", "match": "loss", "after": "=1",
        "lines_before": ["one"], "lines_after": ["three"],
    }  # fmt: skip
    assert (second["line"], second["offset"]) == (4, len("one\ntwo é loss=1\nthree\n".encode()))
    assert (second["lines_before"], second["lines_after"]) == (["three"], [])
    assert found["at_end"] and found["complete"] and found["attempt"] == 1


def test_case_is_kept_unless_told_and_the_text_is_no_pattern(api, placement):
    write(placement, "a.c ÄRGER\nabc ärger\nΣΊΣΥΦΟΣ\n".encode())
    lines = lambda **query: [match["line"] for match in ask(api, placement, **query)["matches"]]  # noqa: E731
    assert lines(search="a.c") == [1]
    assert lines(search="ärger") == [2]
    assert lines(search="ärger", ignore_case=1) == [1, 2]
    assert lines(search="σίσυφος", ignore_case=1) == [3]


def test_what_could_steer_a_terminal_is_written_out(api, placement):
    write(placement, b"x\x1b[31m\xff needle \x07\n\x1b]0;t\n")
    (match,) = ask(api, placement, search="needle", context=1)["matches"]
    assert (match["before"], match["after"]) == ("x\\x1b[31m\ufffd ", " \\x07")
    assert match["lines_after"] == ["\\x1b]0;t"]


def test_long_lines_are_cut_around_the_match(api, placement):
    write(placement, b"a" * 5_000 + b"needle" + b"b" * 5_000, piece=4_000)
    (match,) = ask(api, placement, search="needle")["matches"]
    assert match["before"].startswith("…a") and match["after"].endswith("b…")
    assert len(match["before"]) + len(match["after"]) < log_search.SHOWN_CHARACTERS + 2


def test_pages_go_on_where_the_last_one_ended(api, placement):
    write(placement, b"".join(b"step %d\n" % n for n in range(25)), piece=50)
    found, last = whole(api, placement, search="step", most=10)
    assert [match["line"] for match in found] == list(range(1, 26)) and last["complete"]
    unnumbered = ask(api, placement, search="step", offset=7, most=1)
    assert unnumbered["matches"][0]["line"] is None and unnumbered["next_line"] is None


def test_one_answer_looks_through_a_bounded_part(api, placement, monkeypatch, django_assert_max_num_queries):
    monkeypatch.setattr(log_search, "SEARCH_BYTES", 1_000)
    monkeypatch.setattr(log_search, "AROUND_BYTES", 100)
    monkeypatch.setattr(log_search, "MOST_CHUNKS", 5)
    write(placement, b"x" * 99 + b"\n" + (b"y" * 99 + b"\n") * 50 + b"needle\n", piece=100)
    first = ask(api, placement, search="needle", context=1)
    assert not first["matches"] and not first["at_end"] and first["next_offset"] == 500
    assert first["next_line"] == 6
    with django_assert_max_num_queries(12):
        ask(api, placement, search="needle", context=1)
    found, _last = whole(api, placement, search="needle", context=1)
    assert [(m["line"], m["lines_before"]) for m in found] == [(52, ["y" * 99])]


@pytest.mark.parametrize("context", [0, 1])
def test_a_text_across_the_cut_of_an_endless_line_is_found(api, placement, monkeypatch, context):
    monkeypatch.setattr(log_search, "SEARCH_BYTES", 100)
    monkeypatch.setattr(log_search, "AROUND_BYTES", 10)
    write(placement, ("é" * 47 + "a needle " + "é" * 300).encode(), piece=60)
    found, last = whole(api, placement, search="needle", context=context)
    assert {match["line"] for match in found} == {1} and last["complete"]


def test_bytes_that_are_no_text_hold_no_search_up(api, placement, monkeypatch):
    monkeypatch.setattr(log_search, "SEARCH_BYTES", 100)
    monkeypatch.setattr(log_search, "AROUND_BYTES", 10)
    write(placement, b"\xbf" * 500 + b"needle\n", piece=60)
    found, last = whole(api, placement, search="needle")
    assert len(found) == 1 and last["complete"]


def test_the_unfinished_line_of_a_running_job_is_searched_and_looked_at_again(api, placement):
    write(placement, b"done\nprogress 10%", ended=False)
    found = ask(api, placement, search="progress")
    assert found["matches"][0]["after"] == " 10%" and found["at_end"] and not found["complete"]
    assert (found["next_offset"], found["next_line"]) == (5, 2)


def test_a_log_that_is_not_kept_any_longer_ends_the_search(api, placement):
    write(placement, b"one\n" * 10)
    LogChunk.objects.all().delete()
    found = ask(api, placement, search="one")
    assert not found["matches"] and found["at_end"]
    assert ask(api, placement, search="one", attempt=9)["matches"] == []


@pytest.mark.parametrize(
    "query, field",
    [
        ({"search": ""}, "search"),
        ({"search": "x" * 201}, "search"),
        ({"search": "a\nb"}, "search"),
        ({"search": "x", "ignore_case": "yes"}, "ignore_case"),
        ({"search": "x", "context": "6"}, "context"),
        ({"search": "x", "most": "0"}, "most"),
        ({"search": "x", "line": "0"}, "line"),
        ({"search": "x", "limit": "10"}, "limit"),
        ({"search": "x", "wait_s": "1"}, "wait_s"),
        ({"context": "1"}, "context"),
        ({"ignore_case": "1"}, "ignore_case"),
    ],
)
def test_what_is_wrong_with_a_search_is_named(api, placement, query, field):
    answer = api.get(ASK.format(placement.job_id), query)
    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == field


def test_matches_are_json_only_and_strangers_find_nothing(api, placement):
    url = ASK.format(placement.job_id)
    assert api.get(f"{url}?search=x", headers={"Accept": "text/plain"}).status_code == 406
    stranger = APIClient()
    stranger.force_authenticate(make.make_user("bob", team=make.make_team("others")))
    assert stranger.get(f"{url}?search=x").status_code == 404


LINES = st.text(st.sampled_from("abAB é😀İςΣ\t"), max_size=12)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, max_size=12), st.text(st.sampled_from("abéσ"), min_size=1, max_size=3), st.booleans())
def test_the_same_lines_as_one_by_one(lines, wanted, ignore_case):
    text = "\n".join(lines)
    search = Search(wanted, 0, 1, ignore_case=ignore_case, most=1_000)
    found = search_block(Block(text, 0, len(text), 0, last=True), search, closed=True)
    plain = (lambda one: fold(one)) if ignore_case else (lambda one: one)
    expected = [number for number, line in enumerate(lines, 1) if plain(wanted) in plain(line)]
    assert [match.line for match in found.matches] == expected
    starts = [len("".join(f"{line}\n" for line in lines[: number - 1]).encode()) for number in expected]
    assert [match.offset for match in found.matches] == starts
    assert found.next_offset == len(text.encode())


def test_text_without_case_is_as_long():
    assert all(len(fold(chr(code))) == 1 for code in range(sys.maxunicode + 1))


def test_the_worst_text_of_a_whole_block_is_searched_at_once():
    """No pattern, no text makes one answer slow: looking takes time linear in the block."""
    text = ("a" * 199 + "b") * (log_search.SEARCH_BYTES // 200)
    started_s = clock.monotonic_s()
    search = Search("A" * 200, 0, 1, ignore_case=True)
    assert not search_block(Block(text, 0, len(text), 0, last=True), search, closed=True).matches
    assert clock.monotonic_s() - started_s < 5
