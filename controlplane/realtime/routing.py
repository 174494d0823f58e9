"""Addresses of websockets."""

from __future__ import annotations

from django.urls import path

from controlplane.realtime.consumer import LiveConsumer

websocket_urlpatterns = [path("live", LiveConsumer.as_asgi())]
