"""The task table: everything in it exists and goes to a queue that a worker serves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from controlplane import subscriptions
from controlplane.base.broker import QUEUES
from controlplane.celery import BEAT, app
from inventory.silence import is_gap


def test_every_beat_task_exists_and_has_a_queue() -> None:
    app.loader.import_default_modules()
    for name, period_s in BEAT:
        assert name in app.tasks, name
        assert app.amqp.router.route({}, name)["queue"].name in QUEUES
        assert app.conf.beat_schedule[name]["options"]["expires"] == period_s


def test_every_task_of_ours_is_routed_and_survives_a_lost_worker() -> None:
    app.loader.import_default_modules()
    ours = [name for name in app.tasks if not name.startswith("celery.")]
    assert ours
    for name in ours:
        assert app.amqp.router.route({}, name)["queue"].name in QUEUES, name
    assert app.conf.task_acks_late and app.conf.task_reject_on_worker_lost


def test_the_cycle_has_a_queue_of_its_own() -> None:
    assert app.amqp.router.route({}, "scheduling.tasks.run_cycle")["queue"].name == "cycle"


def test_one_late_probe_is_no_gap_in_which_silence_would_not_count() -> None:
    last = datetime(2026, 1, 1, tzinfo=UTC)
    period = timedelta(seconds=dict(BEAT)["inventory.tasks.probe_cycle"])
    assert not is_gap(last, last + 2 * period) and is_gap(last, last + 4 * period)


def test_wakes_ask_for_a_task_that_is_there() -> None:
    app.loader.import_default_modules()
    assert subscriptions.RUN_CYCLE in app.tasks
