"""What a slow socket owes its reader."""

from hypothesis import given
from hypothesis import strategies as st

from controlplane.realtime.coalescing import MAX_PENDING, RESYNC, Pending
from controlplane.realtime.origin import is_own_origin


def test_equal_hints_count_once_and_keep_their_order():
    pending = Pending()
    for hint in [("jobs",), ("job", 1), ("jobs",), ("job", 2)]:
        pending.add(hint)
    assert pending.take() == [("jobs",), ("job", 1), ("job", 2)]
    assert not pending and pending.take() == []


def test_too_many_become_one_resync():
    pending = Pending()
    for number in range(1000):
        pending.add(("job", number))
    assert pending.take() == [RESYNC]


@given(st.lists(st.tuples(st.sampled_from(["job", "node"]), st.integers(0, 200)), max_size=400))
def test_nothing_is_ever_lost_silently(hints):
    pending = Pending()
    for hint in hints:
        pending.add(hint)
    taken = pending.take()
    assert taken == [RESYNC] or set(taken) == set(hints)
    assert len(taken) <= MAX_PENDING


def test_only_our_own_pages_may_use_a_cookie():
    trusted = ["https://headrace.example"]
    assert is_own_origin("https://headrace.example", "internal:8000", trusted)
    assert is_own_origin("http://localhost:8000", "localhost:8000", [])
    assert not is_own_origin("http://localhost:9000", "localhost:8000", [])
    assert not is_own_origin("https://evil.example", "headrace.example", trusted)
    assert (
        not is_own_origin("null", "null", [])
        and not is_own_origin(None, "localhost", [])
        and not is_own_origin("", "", [])
    )
