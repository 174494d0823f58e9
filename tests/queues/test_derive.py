"""Status from intent and progress, over all situations."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from queues.derive import MISHAPS, OWN_FAULTS, RETRIED, Budget, Ending, Gate, Next, Situation, Stage, derive
from queues.events import event_text
from queues.models import FINAL_STATUSES, ExitClass, JobEvent, JobStatus

ALL = [
    Situation(*parts)
    for parts in itertools.product(
        Stage,
        (False, True),
        (None, *Ending),
        (0, 2),
        (0, 5),
        (False, True),
        (None, *Gate),
        (OWN_FAULTS, frozenset(Ending), frozenset()),
        (False, True),
    )
]


def test_it_is_total_and_its_words_are_those_of_the_columns():
    for situation in ALL:
        assert derive(situation).status.value in JobStatus.values
    assert {ending.value for ending in Ending} <= set(ExitClass.values)


def test_cancel_wins_whatever_happened():
    assert all(derive(s).status is Next.CANCELLED for s in ALL if s.cancel_wanted)


def test_a_new_attempt_is_paid_for_and_only_then_made():
    for situation in ALL:
        derived = derive(situation)
        if derived.new_attempt_from is Budget.RETRIES:
            assert situation.retries_left > 0 and situation.ending in RETRIED & situation.retried
        if derived.new_attempt_from is Budget.REQUEUES:
            assert situation.requeues_left > 0
            assert situation.ending in MISHAPS or situation.ending is None
        if derived.new_attempt_from is Budget.NOTHING:
            suspended = situation.suspend_wanted and derived.status is Next.SUSPENDED
            assert suspended or situation.ending is Ending.REQUEUED
        if derived.new_attempt_from is None and situation.stage in (Stage.ENDED, Stage.LOST):
            assert derived.status.value in FINAL_STATUSES


def test_what_is_to_be_suspended_never_waits_for_a_place():
    for situation in ALL:
        if situation.suspend_wanted and not situation.cancel_wanted:
            assert derive(situation).status not in (Next.PENDING, Next.RUNNING, Next.STARTING)


def test_a_closed_gate_holds_what_would_wait_and_nothing_else():
    for situation in ALL:
        gated, free = derive(situation), derive(replace(situation, gate=None))
        if free.status is Next.PENDING and situation.gate and situation.stage is Stage.WAITING:
            assert gated == replace(free, status=Next.HELD, code=gated.code)
        else:
            assert gated == free


def test_only_retries_are_waited_for():
    for situation in ALL:
        derived, at_once = derive(situation), derive(replace(situation, backs_off=False))
        if derived != at_once:
            assert (at_once.status, derived.status) == (Next.PENDING, Next.HELD)
            assert derived.new_attempt_from is Budget.RETRIES


@pytest.mark.parametrize("ending", [Ending.SUCCESS, Ending.TIME_LIMIT])
def test_what_is_not_a_fault_is_not_tried_again(ending):
    derived = derive(Situation(Stage.ENDED, ending=ending, retries_left=9, requeues_left=9))
    assert derived.status.value in FINAL_STATUSES


def test_a_lost_node_costs_no_retry_but_has_an_end():
    lost = Situation(Stage.LOST, ending=Ending.NODE_LOST, retries_left=0, requeues_left=1)
    assert derive(lost).new_attempt_from is Budget.REQUEUES
    used_up = derive(Situation(Stage.LOST, ending=Ending.NODE_LOST, retries_left=3, requeues_left=0))
    assert (used_up.status, used_up.code) == (Next.FAILED, "node-lost")


@pytest.mark.parametrize("ending", sorted(MISHAPS | OWN_FAULTS))
def test_what_follows_a_fault_is_said_in_words(ending):
    again = JobEvent(code=ending, to_status=JobStatus.PENDING)
    assert event_text(again).endswith(" as a new attempt.")
    over = JobEvent(code=ending, to_status=JobStatus.FAILED)
    assert event_text(over).endswith("It is not tried again.") == (ending in MISHAPS)
