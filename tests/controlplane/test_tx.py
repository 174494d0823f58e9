"""After-commit topics: once per key, never after a roll-back, failures stay small."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import transaction

from controlplane.base import tx
from controlplane.base.tx import Topic, after_commit


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple]]:
    heard: list[tuple] = []
    subscribers = {topic: [lambda key, topic=topic: heard.append((topic, key))] for topic in Topic}
    monkeypatch.setattr(tx, "_subscribers", subscribers)
    yield heard


@pytest.mark.django_db(transaction=True)
def test_once_per_key_and_transaction(told: list) -> None:
    with transaction.atomic():
        for _ in range(3):
            after_commit(Topic.CYCLE_WAKE)
            after_commit(Topic.NODE_WAKE, 7)
            after_commit(Topic.NODE_WAKE, 8)
        assert told == []
    assert told == [(Topic.CYCLE_WAKE, ""), (Topic.NODE_WAKE, 7), (Topic.NODE_WAKE, 8)]
    with transaction.atomic():
        after_commit(Topic.CYCLE_WAKE)
    assert len(told) == 4


@pytest.mark.django_db(transaction=True)
def test_outside_of_a_transaction_at_once(told: list) -> None:
    after_commit(Topic.HINT, ("jobs",))
    after_commit(Topic.HINT, ("jobs",))
    assert told == [(Topic.HINT, ("jobs",))] * 2


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_savepoint_is_silent_but_does_not_silence_others(told: list) -> None:
    with transaction.atomic():
        try:
            with transaction.atomic():
                after_commit(Topic.NODE_WAKE, 1)
                after_commit(Topic.NODE_WAKE, 2)
                raise ValueError
        except ValueError:
            pass
        after_commit(Topic.NODE_WAKE, 1)
    assert told == [(Topic.NODE_WAKE, 1)]


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_transaction_is_silent_and_leaves_nothing(told: list) -> None:
    with pytest.raises(ValueError), transaction.atomic():
        after_commit(Topic.CYCLE_WAKE)
        raise ValueError
    with transaction.atomic():
        after_commit(Topic.CYCLE_WAKE)
    assert told == [(Topic.CYCLE_WAKE, "")]


@pytest.mark.django_db(transaction=True)
def test_what_subscribers_register_is_told_again(told: list, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(key: object) -> None:
        told.append(("first", key))
        if len(told) < 3:
            with transaction.atomic():
                after_commit(Topic.CYCLE_WAKE)

    monkeypatch.setitem(tx._subscribers, Topic.CYCLE_WAKE, [again])
    with transaction.atomic():
        after_commit(Topic.CYCLE_WAKE)
    assert len(told) == 3


@pytest.mark.django_db(transaction=True)
def test_a_failing_subscriber_stops_nobody(told: list, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(key: object) -> None:
        raise OSError("gone")

    monkeypatch.setitem(tx._subscribers, Topic.HINT, [broken, *tx._subscribers[Topic.HINT]])
    with transaction.atomic():
        after_commit(Topic.HINT, ("map",))
        after_commit(Topic.HINT, ("jobs",))
    assert told == [(Topic.HINT, ("map",)), (Topic.HINT, ("jobs",))]
