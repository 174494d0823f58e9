"""`manage.py demo_jobs`: the jobs of `make demo`, until a signal stops it."""

import signal
from threading import Event

from django.core.management.base import BaseCommand

from controlplane.embedded.demo.feeder import feed


class Command(BaseCommand):
    help = "Submits jobs for the simulated nodes of the demo, as many as keep them busy."

    def handle(self, *_args: object, **_options: object) -> None:
        stopping = Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.set())
        feed(stopping)
