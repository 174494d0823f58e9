"""GET wake: a long-poll that answers as soon as a node's desired set is newer than the agent's."""

from __future__ import annotations

import asyncio

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse

from agent.protocol import Reply
from controlplane.agentapi.answers import async_agent_view, message
from controlplane.agentapi.auth import node_of
from controlplane.agentapi.epochs import epoch_watch
from controlplane.agentapi.limits import query_number
from controlplane.agentapi.reply import build_reply
from controlplane.base import clock
from controlplane.policy.active import active_policy
from controlplane.realtime.groups import node_group
from controlplane.realtime.waiting import next_message
from inventory.models import Node
from scheduling.backends.agent import epoch_of

PATIENCE_S = 25.0


@async_agent_view("GET")
async def wake_view(request: HttpRequest) -> HttpResponse:
    """Holds the request for at most PATIENCE_S; no database connection is held meanwhile."""
    epoch = query_number(request, "epoch", default="0")
    node_id = await sync_to_async(_authenticate, thread_sensitive=False)(request)
    with epoch_watch().waiting(node_id, epoch) as waiter:
        async with next_message(node_group(node_id)) as woken:
            # Read after subscribing: a change before is seen here, one after arrives as a message.
            if await sync_to_async(_epoch_of, thread_sensitive=False)(node_id) <= epoch:
                await _first_of(waiter.newer, woken, timeout_s=PATIENCE_S)
    return message(await sync_to_async(_reply, thread_sensitive=False)(node_id))


def _authenticate(request: HttpRequest) -> int:
    try:
        return node_of(request).pk
    finally:
        connection.close()


def _epoch_of(node_id: int) -> int:
    try:
        return epoch_of(node_id)
    finally:
        connection.close()


def _reply(node_id: int) -> Reply:
    received_at = clock.now()
    try:
        node = Node.objects.defer("facts", "labels").get(pk=node_id)
        policy = active_policy()
        return build_reply(node, received_at=received_at, policy=policy, want_facts=node.facts_at is None)
    finally:
        connection.close()


async def _first_of(*events: asyncio.Event, timeout_s: float) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
