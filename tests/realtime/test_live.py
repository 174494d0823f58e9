"""The websocket /live with the real channel layer."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from controlplane.accounts.models import ApiToken, Role, User
from controlplane.asgi import application
from controlplane.base.tx import Topic, after_commit
from controlplane.realtime import consumer
from controlplane.realtime.consumer import LiveConsumer
from tests.realtime.sockets import Socket

pytestmark = pytest.mark.django_db(transaction=True)
ORIGIN = (b"origin", b"http://localhost:8000")


def session_cookie() -> bytes:
    client = Client()
    client.force_login(User.objects.create_user("ann", password="x"))
    return "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items()).encode()


def api_token(scopes) -> bytes:
    user = User.objects.create_user("robot", password="x")
    _token, secret = ApiToken.objects.create(user=user, name="ci", scopes=scopes)
    return secret.encode()


def knock_out(how: str) -> None:
    """End the access of `ann`, or a part of it."""
    user, client = User.objects.get(username="ann"), APIClient()
    admin = User.objects.create_user("root", password="x", role=Role.ADMIN)
    client.force_authenticate(admin)
    change = {"password": "another-good-one"} if how == "password" else {"active": False}
    assert client.patch(f"/api/v1/users/{user.pk}", change, format="json").status_code == 200


def end_tokens() -> None:
    client = APIClient()
    client.force_authenticate(User.objects.get(username="robot"))
    assert client.delete(f"/api/v1/tokens/{ApiToken.objects.get().pk}").status_code == 204


def hint_all(*hints):
    with transaction.atomic():
        for hint in hints:
            after_commit(Topic.HINT, hint)


async def open_socket(*headers, app=application):
    socket = Socket(app, *headers)
    await socket.open()
    return socket


async def test_a_signed_in_console_gets_hints_and_no_data():
    cookie = await database_sync_to_async(session_cookie)()
    socket = await open_socket(ORIGIN, (b"cookie", cookie))
    assert socket.connected
    await database_sync_to_async(hint_all)(("job", 12), ("jobs",), ("job", 12))
    assert [await socket.next_hint(), await socket.next_hint()] == [["job", 12], ["jobs"]]
    assert await socket.is_silent(0.5)
    await socket.close()


async def test_a_foreign_page_cannot_use_the_cookie():
    cookie = await database_sync_to_async(session_cookie)()
    socket = await open_socket((b"origin", b"http://evil.example"), (b"cookie", cookie))
    assert not socket.connected
    socket = await open_socket((b"cookie", cookie), app=LiveConsumer.as_asgi())
    assert not socket.connected and socket.code == 4401


async def test_nobody_gets_nothing():
    socket = await open_socket(ORIGIN)
    assert not socket.connected and socket.code == 4401


async def test_a_token_that_may_read_listens_and_others_do_not():
    good = await database_sync_to_async(api_token)(["read"])
    socket = await open_socket((b"authorization", b"Bearer " + good), app=LiveConsumer.as_asgi())
    assert socket.connected
    await database_sync_to_async(hint_all)(("map",))
    assert await socket.next_hint() == ["map"]
    await socket.close()
    await database_sync_to_async(User.objects.all().delete)()
    for bad in (b"hr_made-up", await database_sync_to_async(api_token)(["submit"])):
        socket = await open_socket((b"authorization", b"Bearer " + bad), app=LiveConsumer.as_asgi())
        assert not socket.connected


@pytest.mark.parametrize("host", [b"evil.example", b"", b"evil.example:8000", b"localhost.evil.example"])
async def test_another_host_is_refused_whoever_asks(host):
    token = await database_sync_to_async(api_token)(["read"])
    socket = await open_socket(
        (b"host", host), (b"authorization", b"Bearer " + token), app=LiveConsumer.as_asgi()
    )
    assert not socket.connected and socket.code == 4401


@pytest.mark.parametrize("how", ["password", "closed"])
async def test_a_socket_ends_with_the_access_of_its_user(how):
    cookie = await database_sync_to_async(session_cookie)()
    token = await database_sync_to_async(api_token)(["read"])
    socket = await open_socket(ORIGIN, (b"cookie", cookie))
    other = await open_socket((b"authorization", b"Bearer " + token), app=LiveConsumer.as_asgi())
    await database_sync_to_async(knock_out)(how)
    assert await socket.close_code() == 1013
    await socket.close()
    again = await open_socket(ORIGIN, (b"cookie", cookie))
    assert not again.connected
    await database_sync_to_async(hint_all)(("map",))
    assert await other.next_hint() == ["map"]
    await other.close()


async def test_a_socket_ends_with_its_token():
    token = await database_sync_to_async(api_token)(["read"])
    socket = await open_socket((b"authorization", b"Bearer " + token), app=LiveConsumer.as_asgi())
    await database_sync_to_async(end_tokens)()
    assert await socket.close_code() == 1013
    await socket.close()


async def test_a_burst_is_coalesced_and_a_flood_becomes_a_resync(monkeypatch):
    monkeypatch.setattr(consumer, "INTERVAL_S", 0.5)
    cookie = await database_sync_to_async(session_cookie)()
    socket = await open_socket(ORIGIN, (b"cookie", cookie))
    await database_sync_to_async(hint_all)(("jobs",))
    assert await socket.next_hint() == ["jobs"]
    for _ in range(20):
        await database_sync_to_async(hint_all)(("jobs",))
    assert await socket.next_hint() == ["jobs"]
    assert await socket.is_silent(0.2)
    await database_sync_to_async(hint_all)(*[("job", number) for number in range(200)])
    seen = [await socket.next_hint()]
    while seen[-1] != ["resync"]:
        seen.append(await socket.next_hint())
    assert len(seen) <= 65
    await socket.close()


async def test_a_reader_that_never_reads_holds_nobody_up():
    cookie = await database_sync_to_async(session_cookie)()
    slow = await open_socket(ORIGIN, (b"cookie", cookie))
    quick = await open_socket(ORIGIN, (b"cookie", cookie))
    for number in range(100):
        await database_sync_to_async(hint_all)(("job", number))
    await database_sync_to_async(hint_all)(("queues",))

    async def drain():
        while await quick.next_hint() not in (["queues"], ["resync"]):
            pass

    await asyncio.wait_for(drain(), 10)
    await quick.close()
    await slow.close()


async def test_without_valkey_the_socket_is_refused_and_the_request_is_not_slowed(settings):
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
        }
    }
    cookie = await database_sync_to_async(session_cookie)()
    socket = await open_socket(ORIGIN, (b"cookie", cookie))
    assert not socket.connected and socket.code == 1013
    assert get_channel_layer() is not None
