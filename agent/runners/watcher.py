"""Notices within milliseconds that a task's supervisor reported its start or ended."""

from __future__ import annotations

import logging
import os
import selectors
import threading
from collections.abc import Callable

from agent.task import TaskKey

logger = logging.getLogger("headrace.agent.watcher")
POLL_S = 0.5


class Watcher:
    """One thread that waits for start pipes and process descriptors; without pidfd support it looks twice a
    second.
    """

    def __init__(self, changed: Callable[[TaskKey], None]) -> None:
        self._changed = changed
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._polled: dict[int, TaskKey] = {}
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._thread.start()

    def watch_start(self, key: TaskKey, pipe: int) -> None:
        """Tell once when something arrives in the pipe or its other end closes; the pipe is ours then."""
        self._register(pipe, key)

    def watch_process(self, key: TaskKey, pid: int) -> None:
        """Tell once when the process ends; at once if it is gone."""
        try:
            self._register(os.pidfd_open(pid), key)
        except ProcessLookupError:
            self._tell(key)
        except (OSError, AttributeError):
            with self._lock:
                self._polled[pid] = key
            self._wake()

    def close(self) -> None:
        """End the thread; descriptors are closed with it."""
        self._closed = True
        self._wake()
        self._thread.join(timeout=2.0)

    def _register(self, descriptor: int, key: TaskKey) -> None:
        with self._lock:
            self._selector.register(descriptor, selectors.EVENT_READ, key)
        self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._wake_writer, b"w")
        except (BlockingIOError, OSError):
            return

    def _run(self) -> None:
        while not self._closed:
            for event, _ in self._selector.select(POLL_S if self._polled else None):
                self._on_event(event)
            self._poll_processes()
        with self._lock:
            for event in list(self._selector.get_map().values()):
                os.close(event.fd)
            self._selector.close()
            os.close(self._wake_writer)

    def _on_event(self, event: selectors.SelectorKey) -> None:
        if event.fd == self._wake_reader:
            os.read(self._wake_reader, 4096)
            return
        with self._lock:
            self._selector.unregister(event.fd)
        os.close(event.fd)
        self._tell(event.data)

    def _poll_processes(self) -> None:
        gone = [pid for pid in self._polled if not os.path.exists(f"/proc/{pid}")]
        for pid in gone:
            with self._lock:
                key = self._polled.pop(pid)
            self._tell(key)

    def _tell(self, key: TaskKey) -> None:
        try:
            self._changed(key)
        except Exception:  # the thread serves all tasks; the next report looks at this one again
            logger.exception("news of placement %s could not be handled", key.placement)
