"""Fetches images ahead of demand as the server asks, and removes those again that it fetched itself and no others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from agent import protocol
from agent.journal import Unreadable, read_or_put_aside, write_atomic
from agent.protocol import ImageAction, ImageOrders, ImageReport, ImageResult
from agent.transport import Backoff, Refused, TransportError

logger = logging.getLogger("headrace.agent.images")
LONGEST_WAIT_S = 600
# A server that does not know of image work yet may have learned it by then.
UNKNOWN_WAIT_S = 600


class Engine(Protocol):
    """What fetches and removes."""

    def has_image(self, image: str) -> bool:
        """Whether the image is there."""

    def fetch_image(self, image: str, secret: str | None = None) -> str:
        """Why it failed; empty when the image is there. `secret` names what its registry wants."""

    def remove_image(self, image: str) -> str:
        """Why it failed; empty when it is gone."""


class ImageKeeper:
    """A thread that asks the server, does one thing after the other, and says how each ended."""

    def __init__(self, ask: Callable[[ImageReport], ImageOrders], engine: Engine, *, state_dir: Path) -> None:
        self._ask = ask
        self._engine = engine
        self._file = state_dir / "fetched-images.json"
        self._stopping = threading.Event()
        self._backoff = Backoff()
        self._untold: list[ImageResult] = []

    def start(self) -> None:
        """Begin to ask."""
        threading.Thread(target=self._run, name="images", daemon=True).start()

    def close(self) -> None:
        """Ask no more; what is being fetched is asked for again after the next start."""
        self._stopping.set()

    def fetched(self) -> set[str]:
        """What was fetched by orders and is not removed yet."""
        try:
            return set(read_or_put_aside(self._file, list[str]) or [])
        except Unreadable as error:
            logger.warning("%s is damaged, so that images fetched before stay: %s", self._file.name, error)
            return set()

    def round(self) -> float:
        """Tell, ask and obey once; how long to wait until the next time."""
        told = list(self._untold)
        orders = self._ask(ImageReport(protocol.VERSION, told))
        self._untold = self._untold[len(told) :]
        work = [(ImageAction.PULL, image) for image in orders.pull]
        work += [(ImageAction.PRUNE, image) for image in orders.prune]
        for action, image in work:
            if self._stopping.is_set():
                break
            self._untold.append(self._do(action, image, orders.secrets.get(image)))
        return 0.0 if self._untold else min(max(1, orders.again_s), LONGEST_WAIT_S)

    def _run(self) -> None:
        wait_s = 0.0
        while not self._stopping.wait(wait_s):
            try:
                wait_s = self.round()
                self._backoff.reset()
            except Refused as error:
                unknown = error.status == 404
                wait_s = UNKNOWN_WAIT_S if unknown else self._backoff.next_s(error)
            except TransportError as error:
                wait_s = self._backoff.next_s(error)
            except Exception:
                logger.exception("image work failed")
                wait_s = self._backoff.next_s()

    def _do(self, action: ImageAction, image: str, secret: str | None) -> ImageResult:
        began_s = time.monotonic()
        if action is ImageAction.PULL and image not in self.fetched() and self._engine.has_image(image):
            return ImageResult(image, action, ok=True, ours=False)
        problem = self._fetch(image, secret) if action is ImageAction.PULL else self._remove(image)
        if problem:
            logger.warning("%s of image %s: %s", action, image, problem)
        ms = round((time.monotonic() - began_s) * 1000)
        return ImageResult(image, action, ok=not problem, ms=ms, problem=problem[:500])

    def _fetch(self, image: str, secret: str | None) -> str:
        # Before it begins: what is half fetched when the agent dies was not here by anybody else's wish.
        self._keep(self.fetched() | {image})
        return self._engine.fetch_image(image, secret)

    def _remove(self, image: str) -> str:
        if image not in self.fetched():
            return "this agent did not fetch it"
        problem = self._engine.remove_image(image)
        if not problem:
            self._keep(self.fetched() - {image})
        return problem

    def _keep(self, images: set[str]) -> None:
        write_atomic(self._file, msgspec.json.encode(sorted(images)))
