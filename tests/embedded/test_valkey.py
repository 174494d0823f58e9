"""The embedded Valkey: its password, its memory, and the clients that share its address."""

import os
import signal
from pathlib import Path

import pytest
import redis
from celery import Celery
from channels_redis.pubsub import RedisPubSubChannelLayer

from controlplane.embedded.state import StateFolder
from controlplane.embedded.valkey import Valkey, free_port
from tests.services import running


@pytest.fixture
def server(tmp_path: Path) -> Valkey:
    state = StateFolder(tmp_path / "state")
    state.ensure()
    return Valkey(state, port=free_port(), settings={"appendfsync": "always"})


def test_keeps_what_was_written_over_kill_9(server: Valkey) -> None:
    with running(server.spec()) as process:
        server.wait_ready(process)
        with redis.Redis.from_url(server.url()) as client:
            client.set("kept", "7")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with running(server.spec()) as process:
        server.wait_ready(process)
        with redis.Redis.from_url(server.url()) as client:
            assert client.get("kept") == b"7"


def test_refuses_strangers_and_shows_no_password(server: Valkey) -> None:
    with running(server.spec()) as process:
        server.wait_ready(process)
        arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        with redis.Redis(port=server.port) as client, pytest.raises(redis.AuthenticationError):
            client.ping()
    assert server.password.encode() not in arguments
    assert (server.state.valkey / "valkey.conf").stat().st_mode & 0o777 == 0o600


async def test_one_address_serves_broker_and_channel_layer(server: Valkey) -> None:
    with running(server.spec()) as process:
        server.wait_ready(process)
        with Celery(broker=server.url()).connection_for_write() as connection:
            connection.ensure_connection(max_retries=1)
        layer = RedisPubSubChannelLayer(hosts=[server.url()])
        channel = await layer.new_channel()
        await layer.group_add("hints", channel)
        await layer.group_send("hints", {"type": "hint"})
        assert await layer.receive(channel) == {"type": "hint"}
        await layer.flush()
