"""Logs are appended by offset, once, by their own node and attempt, up to a cap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.problems import Problem
from scheduling import logs
from scheduling.logs import LogPiece, append_log, read_log
from scheduling.models import LogChunk, Placement
from scheduling.text import escape_controls, whole_characters
from tests.scheduling import factories as make


@pytest.fixture
def placement(db):
    make.make_queues()
    make.make_node()
    make.make_job(make.make_user(team=make.make_team()))
    make.run_cycle()
    return Placement.objects.select_related("node").get()


def append(placement, offset, data, **changes):
    piece = LogPiece(**{"attempt": 1, "fence": placement.fence, "offset": offset, "data": data, **changes})
    return append_log(placement.node, placement.pk, piece)


def test_pieces_join_and_repeats_are_skipped(placement):
    assert append(placement, 0, b"hello ").next_offset == 6
    assert append(placement, 0, b"hello ").next_offset == 6
    assert append(placement, 3, b"lo world").next_offset == 11
    assert append(placement, 11, b"").next_offset == 11
    part = read_log(placement.pk, offset=0, limit=100)
    assert (part.data, part.next_offset, part.complete) == (b"hello world", 11, False)


def test_a_gap_is_refused_with_where_to_go_on(placement):
    append(placement, 0, b"abc")
    with pytest.raises(Problem) as caught:
        append(placement, 5, b"x")
    assert (caught.value.status, caught.value.params) == (409, {"next_offset": 3})


@pytest.mark.parametrize("changes", [{"attempt": 2}, {"fence": 1}])
def test_other_attempts_and_fences_are_refused(placement, changes):
    with pytest.raises(Problem) as caught:
        append(placement, 0, b"x", **changes)
    assert caught.value.status == 404 and not LogChunk.objects.exists()


def test_other_nodes_are_refused(placement):
    with pytest.raises(Problem):
        append_log(make.make_node(), placement.pk, LogPiece(1, placement.fence, 0, b"x"))


def test_the_cap_is_kept_and_said(placement, monkeypatch):
    monkeypatch.setattr(logs, "CAP_BYTES", 10)
    assert append(placement, 0, b"x" * 8) == logs.LogReply(8, truncated=False)
    assert append(placement, 8, b"y" * 8) == logs.LogReply(10, truncated=True)
    assert append(placement, 10, b"z") == logs.LogReply(10, truncated=True)
    part = read_log(placement.pk, offset=0, limit=100)
    assert part.data == b"x" * 8 + b"yy" and part.truncated


def test_a_log_is_complete_when_all_that_was_announced_is_there(placement):
    append(placement, 0, b"abc")
    make.report(placement.node, make.ended(placement, log_bytes=6))
    assert not read_log(placement.pk, offset=3, limit=10).complete
    append(placement, 3, b"def")
    assert read_log(placement.pk, offset=3, limit=10).complete
    assert not read_log(placement.pk, offset=0, limit=2).complete


def test_any_part_is_the_same_as_of_the_whole(placement):
    whole = bytes(range(256)) * 4
    for start in range(0, len(whole), 100):
        append(placement, start, whole[start : start + 100])
    for offset in (0, 1, 99, 100, 101, 550, 1023, 1024, 5000):
        for limit in (1, 99, 100, 101, 2000):
            assert read_log(placement.pk, offset=offset, limit=limit).data == whole[offset : offset + limit]


@given(st.text(), st.integers(0, 3))
def test_only_an_unfinished_last_character_is_held_back(text, cut):
    data = text.encode()
    data = data[: len(data) - cut] if cut else data
    kept = whole_characters(data)
    kept.decode()
    assert len(data) - len(kept) < 4 and data.startswith(kept)


@given(st.binary())
def test_any_bytes_can_be_shown(data):
    shown = escape_controls(whole_characters(data).decode("utf-8", "replace"))
    assert not any(ord(char) < 32 and char not in "\n\t" for char in shown)
    assert len(data) - len(whole_characters(data)) < 4
