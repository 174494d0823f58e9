"""Reading a log that is still being written: the answer comes with the bytes, not with the clock."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from controlplane.base import clock
from scheduling.logs import LogPiece, append_log
from scheduling.models import Placement
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


def running_job():
    make.make_queues()
    user = make.make_user(team=make.make_team())
    node = make.make_node()
    make.make_job(user)
    make.run_cycle()
    return user, node, Placement.objects.get()


async def signed_in(user) -> AsyncClient:
    client = AsyncClient()
    await sync_to_async(client.force_login)(user)
    return client


async def test_new_bytes_end_the_wait():
    user, node, placement = await sync_to_async(running_job)()
    client = await signed_in(user)
    url = f"/api/v1/jobs/{placement.job_id}/logs?wait_s=20"
    started_s = clock.monotonic_s()
    waiting = asyncio.create_task(client.get(url))
    await asyncio.sleep(0)
    assert not waiting.done()
    await sync_to_async(append_log)(node, placement.pk, LogPiece(1, placement.fence, 0, b"first line\n"))
    answer = await waiting
    assert answer.json()["text"] == "first line\n" and not answer.json()["complete"]
    assert clock.monotonic_s() - started_s < 10


async def test_the_end_of_the_job_ends_the_wait():
    user, node, placement = await sync_to_async(running_job)()
    client = await signed_in(user)
    waiting = asyncio.create_task(client.get(f"/api/v1/jobs/{placement.job_id}/logs?wait_s=20&attempt=1"))
    await asyncio.sleep(0)
    await sync_to_async(make.report)(node, make.ended(placement))
    assert (await waiting).json()["complete"]


async def test_a_wait_without_news_ends_by_itself():
    user, _node, placement = await sync_to_async(running_job)()
    client = await signed_in(user)
    answer = await client.get(f"/api/v1/jobs/{placement.job_id}/logs?wait_s=1")
    assert (answer.json()["text"], answer.json()["complete"]) == ("", False)


async def test_who_is_not_signed_in_does_not_wait():
    _user, _node, placement = await sync_to_async(running_job)()
    answer = await AsyncClient().get(f"/api/v1/jobs/{placement.job_id}/logs?wait_s=20")
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "query", ["wait_s=21", "wait_s=-1", "wait_s=x", "limit=0", "offset=1e3", "colour=red"]
)
async def test_odd_numbers_are_refused_at_once(query):
    user, _node, placement = await sync_to_async(running_job)()
    client = await signed_in(user)
    answer = await client.get(f"/api/v1/jobs/{placement.job_id}/logs?{query}")
    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == query.split("=")[0]
