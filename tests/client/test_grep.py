"""`headrace logs --grep`: the lines of grep, page after page."""

from __future__ import annotations

import pytest

from client.grep import grep_lines
from tests.client.server import Answer, Asked, scripted
from tests.client.test_cli import headrace, job


def match(line: int, **changes):
    found = {
        "line": line,
        "offset": line * 10,
        "before": "loss=",
        "match": "nan",
        "after": "",
        "lines_before": [],
    }
    return {**found, "lines_after": [], **changes}


def serving(*pages: list[dict]):
    """One page per request; the cursor is the number of the page."""

    def respond(request: Asked) -> Answer:
        if not request.path.endswith("/logs"):
            return Answer(200, job())
        page = int(request.query["offset"][0])
        at_end = page + 1 >= len(pages)
        matches = pages[page] if pages else []
        body = {"next_offset": page + 1, "next_line": page * 100 + 1, "matches": matches, "at_end": at_end}
        return Answer(200, body)

    return respond


def test_all_pages_are_printed_and_their_place_is_passed_on():
    with scripted(serving([match(3)], [], [match(250, after=" \x1b[2J")])) as server:
        ended = headrace("logs", "5", "--grep", "nan", "-i", url=server.url)
    assert ended.returncode == 0
    assert ended.stdout.decode().splitlines() == ["3:loss=nan", "250:loss=nan \\x1b[2J"]
    asked = [one.query for one in server.asked if one.path.endswith("/logs")]
    assert [(one["offset"], one["line"]) for one in asked] == [
        (["0"], ["1"]),
        (["1"], ["1"]),
        (["2"], ["101"]),
    ]
    assert asked[0]["search"] == ["nan"] and asked[0]["ignore_case"] == ["1"] and asked[0]["attempt"] == ["1"]


def test_nothing_found_ends_with_1():
    with scripted(serving()) as server:
        ended = headrace("logs", "5", "--attempt", "1", "--grep", "nan", url=server.url)
    assert (ended.returncode, ended.stdout) == (1, b"")


@pytest.mark.parametrize("options", [("-i",), ("-C", "2"), ("-f", "--grep", "x"), ("--grep", "x", "-C", "6")])
def test_options_that_do_not_go_together_are_refused(options):
    with scripted(serving()) as server:
        ended = headrace("logs", "5", *options, url=server.url)
    assert ended.returncode in (2, 64) and not server.asked


def test_lines_around_are_printed_once_and_groups_kept_apart():
    matches = [
        match(2, lines_before=["a"], lines_after=["c"]),
        match(4, lines_before=["c"], lines_after=["e"]),
        match(9, lines_before=["h"], lines_after=["j"]),
    ]
    assert list(grep_lines(matches, context=1, colour=False)) == [
        "1-a", "2:loss=nan", "3-c", "4:loss=nan", "5-e", "--", "8-h", "9:loss=nan", "10-j",
    ]  # fmt: skip


def test_neighbours_that_match_are_no_context_of_one_another():
    matches = [
        match(2, lines_after=["loss=nan", "d"]),
        match(3, lines_before=["loss=nan"], lines_after=["d"]),
    ]
    assert list(grep_lines(matches, context=2, colour=False)) == ["2:loss=nan", "3:loss=nan", "4-d"]


def test_a_terminal_gets_the_match_in_colour():
    assert list(grep_lines([match(1)], context=0, colour=True)) == ["1:loss=\x1b[1;31mnan\x1b[0m"]
