"""The rules of what to do about a desired set, tried on random histories."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.protocol import Assignment, ExitReason, Reply, Want
from agent.reconcile import (
    Action,
    Forget,
    Recall,
    Settle,
    Stage,
    Start,
    Stop,
    Task,
    Verdict,
    judge,
    reconcile,
    silence_stops,
)
from agent.task import TaskKey, key_of
from tests.agent.server import assignment


def reply(*, cluster: str = "c1", epoch: int = 5, authoritative: bool = True, version: int = 1) -> Reply:
    return Reply(version, cluster, authoritative, epoch, 0, 0, 10, False, [])


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (reply(), Verdict.OBEY),
        (reply(epoch=6), Verdict.OBEY),
        (reply(epoch=4), Verdict.OLDER_EPOCH),
        (reply(cluster="c2", epoch=99), Verdict.FOREIGN_CLUSTER),
        (reply(authoritative=False, epoch=99), Verdict.NOT_AUTHORITATIVE),
        (reply(version=0, epoch=99), Verdict.OLD_VERSION),
    ],
)
def test_only_a_newer_authoritative_reply_of_our_cluster_is_obeyed(answer: Reply, verdict: Verdict) -> None:
    assert judge(answer, cluster_id="c1", epoch=5) is verdict


def plan(
    tasks: Iterable[Task], *wanted: Assignment, past: set[TaskKey] | None = None, observe: bool = False
) -> list[Action]:
    return reconcile({task.key: task for task in tasks}, wanted, past=past or set(), observe_only=observe)


def test_a_new_assignment_is_started_once() -> None:
    wanted = assignment(1)
    assert plan([], wanted) == [Start(wanted)]
    assert plan([Task(key_of(wanted), Stage.LIVE)], wanted) == []


def test_a_start_that_was_cut_short_goes_on() -> None:
    wanted = assignment(1)
    assert plan([Task(key_of(wanted), Stage.UNSTARTED)], wanted) == [Start(wanted)]


def test_a_task_that_nobody_wants_is_stopped_then_forgotten_when_told() -> None:
    key = TaskKey(1, 1, 1)
    assert [type(action) for action in plan([Task(key, Stage.LIVE)])] == [Stop]
    assert plan([Task(key, Stage.STOPPING)]) == []
    assert plan([Task(key, Stage.ENDED, told=False)]) == []
    assert plan([Task(key, Stage.ENDED)]) == [Forget(key)]


def test_an_ended_task_is_kept_while_it_is_wanted() -> None:
    wanted = assignment(1)
    assert plan([Task(key_of(wanted), Stage.ENDED)], wanted) == []


def test_another_fence_stops_the_old_attempt_before_the_new_one_starts() -> None:
    old, new = TaskKey(1, 1, 1), assignment(1, attempt=2, fence=2)
    assert [type(action) for action in plan([Task(old, Stage.LIVE)], new)] == [Stop]
    assert plan([Task(old, Stage.STOPPING)], new) == []
    assert plan([Task(old, Stage.ENDED)], new) == [Forget(old), Start(new)]


def test_a_past_task_is_recalled_never_started_again() -> None:
    wanted = assignment(1)
    assert plan([], wanted, past={key_of(wanted)}) == [Recall(wanted)]


def test_observe_only_never_starts() -> None:
    wanted = assignment(1)
    (action,) = plan([], wanted, observe=True)
    assert isinstance(action, Settle) and action.reason is ExitReason.START_FAILED


def test_a_stop_of_something_never_started_is_confirmed() -> None:
    (action,) = plan([], assignment(1, want=Want.STOP))
    assert isinstance(action, Settle) and action.reason is ExitReason.STOPPED


def test_only_strict_single_jobs_end_when_the_server_is_silent() -> None:
    tasks = {
        task.key: task
        for task in (Task(TaskKey(1, 1, 1), Stage.LIVE), Task(TaskKey(2, 1, 1), Stage.LIVE, True))
    }
    assert silence_stops(tasks, silence_s=149.0, limit_s=150) == []
    assert [
        action.key.placement
        for action in silence_stops(tasks, silence_s=150.0, limit_s=150)
        if isinstance(action, Stop)
    ] == [2]


assignments = st.builds(
    assignment,
    st.integers(1, 4),
    attempt=st.integers(1, 2),
    fence=st.integers(1, 3),
    want=st.sampled_from(Want),
)
desired_sets = st.lists(assignments, max_size=5)
events = st.lists(st.one_of(desired_sets, st.integers(0, 3)), max_size=12)


class World:
    """A runner that does what it is told, and ends tasks when the history says so."""

    def __init__(self, *, observe_only: bool) -> None:
        self.observe_only = observe_only
        self.tasks: dict[TaskKey, Task] = {}
        self.past: set[TaskKey] = set()
        self.started: list[TaskKey] = []

    def obey(self, wanted: list[Assignment]) -> list[Action]:
        actions = reconcile(self.tasks, wanted, past=self.past, observe_only=self.observe_only)
        for action in actions:
            self.do(action)
        return actions

    def do(self, action: Action) -> None:
        match action:
            case Start(wanted):
                self.started.append(key_of(wanted))
                self.tasks[key_of(wanted)] = Task(key_of(wanted), Stage.LIVE)
            case Stop(key):
                self.tasks[key] = Task(key, Stage.STOPPING)
            case Forget(key):
                self.past.add(key)
                del self.tasks[key]
            case Settle(wanted) | Recall(wanted):
                self.past.discard(key_of(wanted))
                self.tasks[key_of(wanted)] = Task(key_of(wanted), Stage.ENDED)

    def end_some(self, which: int) -> None:
        for key in sorted(self.tasks)[which : which + 1]:
            self.tasks[key] = Task(key, Stage.ENDED)


@settings(max_examples=100, deadline=None)
@given(events, st.booleans())
def test_no_history_starts_a_task_twice_or_runs_two_attempts_at_once(
    history: list[object], observe: bool
) -> None:
    world = World(observe_only=observe)
    for event in history:
        if isinstance(event, int):
            world.end_some(event)
            continue
        assert isinstance(event, list)
        world.obey(event)
        live = [key.placement for key, task in world.tasks.items() if task.stage is not Stage.ENDED]
        assert len(live) == len(set(live))
        assert len(world.started) == len(set(world.started))
        assert not (observe and world.started)


@settings(max_examples=50, deadline=None)
@given(events, desired_sets)
def test_the_same_set_again_changes_nothing(history: list[object], wanted: list[Assignment]) -> None:
    world = World(observe_only=False)
    for event in history:
        world.end_some(event) if isinstance(event, int) else world.obey(event)  # type: ignore[arg-type]
    world.obey(wanted)
    assert world.obey(wanted) == []
