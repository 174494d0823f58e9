"""A ceiling on requests per user; open while Valkey is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from controlplane.base import clock
from controlplane.base.broker import breaker

if TYPE_CHECKING:
    from rest_framework.views import APIView

WINDOW_S = 60


class PerUser(BaseThrottle):
    """REQUESTS_PER_MINUTE per user, counted in whole minutes."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        if not request.user.is_authenticated:
            return True
        counted: list[int] = []
        key = f"throttle:{request.user.pk}:{clock.now_ms() // (WINDOW_S * 1000)}"
        breaker.attempt("throttle", lambda: counted.append(_count(key)))
        return not counted or counted[0] <= settings.REQUESTS_PER_MINUTE

    def wait(self) -> float:
        return WINDOW_S - clock.now_ms() / 1000 % WINDOW_S


def _count(key: str) -> int:
    cache.add(key, 0, timeout=2 * WINDOW_S)
    return cache.incr(key)
