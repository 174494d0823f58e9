"""The Celery app: queues, routes and the beat table in one place."""

from __future__ import annotations

import os

from celery import Celery, signals
from kombu.entity import Queue

from controlplane.base.broker import KEY_PREFIX, QUEUES
from inventory.silence import PROBE_INTERVAL_S

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

app = Celery("headrace")

TICKS = ("cycle", "upkeep", "remote")
ROUTES = {
    "scheduling.tasks.run_cycle": "cycle",
    "scheduling.tasks.*": "upkeep",
    "inventory.tasks.probe_over_ssh": "remote",
    "inventory.tasks.fetch_images_over_ssh": "remote",
    "inventory.tasks.*": "upkeep",
}
# (task, period in seconds): a duplicate tick is harmless, a tick that waited longer than its period is dropped.
BEAT = (
    ("scheduling.tasks.run_cycle", 5),
    ("scheduling.tasks.declare_lost", 10),
    ("inventory.tasks.flush_telemetry", 1),
    ("inventory.tasks.roll_up_history", 30),
    ("inventory.tasks.keep_history", 900),
    ("scheduling.tasks.expect", 300),
    ("scheduling.tasks.prune", 3600),
    ("inventory.tasks.probe_cycle", PROBE_INTERVAL_S),
    ("inventory.tasks.probe_over_ssh", PROBE_INTERVAL_S),
    ("inventory.tasks.fetch_images_over_ssh", 20),
    ("inventory.tasks.watch_rules", 10),
    ("scheduling.tasks.warm_images", 60),
)


def _broker_url() -> str:
    return os.environ.get("REDIS_URL", "redis://localhost:6379/0")


app.conf.update(
    broker_url=_broker_url(),
    broker_connection_retry_on_startup=True,
    broker_connection_timeout=1,
    # Short for publishers, which wait for a dead server inside a request; workers reconnect for ever by themselves.
    broker_transport_options={
        "visibility_timeout": 300,
        "socket_connect_timeout": 0.5,
        "socket_timeout": 0.8,
        "max_retries": 0,
        "global_keyprefix": KEY_PREFIX,
    },
    broker_connection_max_retries=None,
    task_publish_retry=False,
    result_backend=None,
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    task_serializer="json",
    accept_content=["json"],
    task_default_queue="upkeep",
    # A tick that is lost comes again in seconds. Acknowledging it would be worse: an acknowledgement that fails while
    # Valkey stalls is never repeated, and its delivery would fill the worker's only slot for good.
    task_queues=[Queue(name, no_ack=name in TICKS) for name in QUEUES],  # type: ignore[no-untyped-call]
    task_routes={name: {"queue": queue} for name, queue in ROUTES.items()},
    task_create_missing_queues=False,
    beat_schedule={
        task: {"task": task, "schedule": period, "options": {"expires": period}} for task, period in BEAT
    },
    timezone="UTC",
    enable_utc=True,
)
app.autodiscover_tasks()


@signals.setup_logging.connect
def keep_logging(**_kwargs: object) -> None:
    """Logging is set up by the Django settings; a receiver keeps Celery from replacing it."""


@signals.worker_ready.connect
def look_at_once(sender: object, **_kwargs: object) -> None:
    """A worker that (re)starts looks for waiting jobs now: the wake that went to its predecessor may be gone."""
    app.send_task("scheduling.tasks.run_cycle", expires=60)
