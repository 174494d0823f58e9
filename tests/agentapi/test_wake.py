"""The long-poll: no wake is lost, with Valkey or without."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError, transaction
from django.test import AsyncClient

from agent import protocol
from agent.protocol import Reply
from controlplane.agentapi import epochs, wake
from inventory.models import Node, NodeState
from scheduling.backends.agent import bump_epoch
from tests.agentapi.speaking import Agent, enrolled
from tests.inventory.factories import facts

pytestmark = pytest.mark.django_db(transaction=True)
NO_VALKEY = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
    }
}


def new_node():
    reply = enrolled()
    Agent(reply.token).report(facts=facts())
    return reply


def bump(node_id):
    with transaction.atomic():
        bump_epoch([node_id])


async def ask(token, epoch):
    answer = await AsyncClient().get(
        "/agent/v1/wake", query_params={"epoch": epoch}, headers={"authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 200, answer.content
    return protocol.decode(answer.content, Reply)


async def test_an_older_epoch_is_answered_at_once():
    node = await database_sync_to_async(new_node)()
    reply = await asyncio.wait_for(ask(node.token, 0), 5)
    assert reply.authoritative and reply.epoch == 1


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
async def test_a_wake_outlives_a_database_that_was_away(settings, monkeypatch, error):
    read, failed = epochs._read_epochs, asyncio.Event()

    def away_at_first(node_ids):
        if failed.is_set():
            return read(node_ids)
        loop.call_soon_threadsafe(failed.set)
        raise error("gone")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(epochs, "POLL_S", 0.05)
    monkeypatch.setattr(epochs, "_read_epochs", away_at_first)
    node = await database_sync_to_async(new_node)()
    settings.CHANNEL_LAYERS = NO_VALKEY
    waiting = asyncio.create_task(ask(node.token, 1))
    await asyncio.wait_for(failed.wait(), 5)
    await database_sync_to_async(bump)(node.node)
    assert (await asyncio.wait_for(waiting, 5)).epoch == 2


async def test_nothing_new_is_answered_when_patience_ends(monkeypatch):
    monkeypatch.setattr(wake, "PATIENCE_S", 0.2)
    node = await database_sync_to_async(new_node)()
    reply = await asyncio.wait_for(ask(node.token, 1), 5)
    assert reply.epoch == 1
    # A restored backup may be behind the agent: that is no reason to answer in a hot loop.
    reply = await asyncio.wait_for(ask(node.token, 99), 5)
    assert reply.epoch == 1


async def test_a_change_wakes_through_valkey(monkeypatch):
    monkeypatch.setattr(epochs, "POLL_S", 60.0)
    node = await database_sync_to_async(new_node)()
    waiting = asyncio.create_task(ask(node.token, 1))
    done, _ = await asyncio.wait([waiting], timeout=0.5)
    assert not done
    await database_sync_to_async(bump)(node.node)
    assert (await asyncio.wait_for(waiting, 2)).epoch == 2


async def test_a_change_wakes_without_valkey(settings, monkeypatch):
    monkeypatch.setattr(epochs, "POLL_S", 0.1)
    node = await database_sync_to_async(new_node)()
    settings.CHANNEL_LAYERS = NO_VALKEY
    waiting = asyncio.create_task(ask(node.token, 1))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    await database_sync_to_async(bump)(node.node)
    assert (await asyncio.wait_for(waiting, 5)).epoch == 2


async def test_no_wake_is_lost_whenever_the_change_comes(monkeypatch):
    monkeypatch.setattr(epochs, "POLL_S", 60.0)
    node = await database_sync_to_async(new_node)()
    epoch = 1
    for delay_ms in range(0, 30, 2):
        waiting = asyncio.create_task(ask(node.token, epoch))
        await asyncio.wait([waiting], timeout=delay_ms / 1000)
        await database_sync_to_async(bump)(node.node)
        epoch += 1
        assert (await asyncio.wait_for(waiting, 3)).epoch == epoch


async def test_many_agents_wait_at_once_and_only_one_is_woken(monkeypatch):
    monkeypatch.setattr(wake, "PATIENCE_S", 2.0)

    def nodes():
        return [enrolled(f"machine-{number}", f"boot-{number}") for number in range(20)]

    replies = await database_sync_to_async(nodes)()
    waiting = [asyncio.create_task(ask(reply.token, 1)) for reply in replies]
    await asyncio.wait(waiting, timeout=0.5)
    await database_sync_to_async(bump)(replies[7].node)
    done, _ = await asyncio.wait(waiting, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
    assert done == {waiting[7]}
    assert [(await one).epoch for one in waiting] == [2 if number == 7 else 1 for number in range(20)]


async def test_a_node_in_quarantine_is_told_to_obey_nobody():
    node = await database_sync_to_async(new_node)()
    await database_sync_to_async(Node.objects.update)(state=NodeState.QUARANTINED)
    reply = await ask(node.token, 0)
    assert not reply.authoritative and reply.assignments == []


@pytest.mark.parametrize("epoch", ["-1", "x", "1.5", "9" * 30])
async def test_a_wrong_epoch_is_refused_by_name(epoch):
    node = await database_sync_to_async(new_node)()
    answer = await AsyncClient().get(
        "/agent/v1/wake", query_params={"epoch": epoch}, headers={"authorization": f"Bearer {node.token}"}
    )
    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "epoch"


async def test_without_a_good_token_nobody_waits():
    answer = await AsyncClient().get("/agent/v1/wake", headers={"authorization": "Bearer hrn_x"})
    assert answer.status_code == 401
