"""Images on nodes without an agent: read, fetched and removed over SSH, by a real sshd, podman and registry."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from agent.protocol import ImageAction, ImageResult
from controlplane.base import clock, locks
from controlplane.policy.active import active_policy
from inventory.images import pushes, secrets
from inventory.models import ImagePush, Node, NodeState, PushState, RemoteHost
from inventory.remote import image_commands, image_work
from inventory.remote.image_work import Orders, on_node, work
from inventory.tasks import fetch_images_over_ssh, probe_over_ssh
from tests.agent.containers import engine_command, make_image, one_file, run, why_no_containers
from tests.inventory.factories import make_node
from tests.inventory.sshd import Machine
from tests.registry import Registry, serving
from tests.waiting import eventually

needs_podman = pytest.mark.skipif(bool(why_no_containers()), reason=why_no_containers() or "it can")
OTHERS = "localhost/others:1"


@dataclass(frozen=True)
class Store:
    """What podman keeps on the machine."""

    engine: list[str]
    machine: Machine
    registry: Registry

    def names(self) -> list[str]:
        return run(self.engine, "images", "--format={{.Repository}}:{{.Tag}}").split()

    def look(self) -> Node:
        RemoteHost.objects.update(due_at=clock.now(), host_read_at=None)
        assert probe_over_ssh() == 1
        return Node.objects.get()


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serving() as found:
        yield found


@pytest.fixture
def store(machine: Machine, registry: Registry) -> Iterator[Store]:
    """podman on the machine, with an image that somebody else fetched; long paths it refuses."""
    folder = Path(tempfile.mkdtemp(prefix="hr-podman-"))
    settings = folder / "registries.conf"
    settings.write_text(f'[[registry]]\nlocation = "{registry.host}"\ninsecure = true\n')
    engine = engine_command(folder)
    real = shlex.join([str(shutil.which("podman")), *engine[1:]])
    machine.tool("podman", f'#!/bin/sh\nexport CONTAINERS_REGISTRIES_CONF={settings}\nexec {real} "$@"\n')
    make_image(engine, folder, OTHERS)
    machine.host(fetches_images=True)
    yield Store(engine, machine, registry)
    subprocess.run([*engine, "unshare", "true"], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)


def the_push() -> ImagePush:
    return ImagePush.objects.get()


@needs_podman
@pytest.mark.django_db
def test_images_are_fetched_kept_fresh_and_removed_and_those_of_others_are_not(store, time_machine):
    time_machine.move_to(clock.now(), tick=True)
    image = store.registry.put("team/train:1", one_file("one", b"1"))
    node = store.look()
    assert node.facts["images"] == [OTHERS] and node.facts["runs_containers"]
    (told,) = node.facts["stored_images"]
    assert told["digest"].startswith("sha256:") and told["size_mib"] > 0
    pushes.want([(node.pk, image), (node.pk, OTHERS)], here={})
    assert fetch_images_over_ssh() == 2
    push = the_push()
    assert (push.image, push.stage, push.problem) == (image, PushState.DONE, "") and push.ms > 0
    assert sorted(store.names()) == sorted([image, OTHERS])
    assert image in store.look().facts["images"]
    assert fetch_images_over_ssh() == 0 and len(store.registry.sent) == 1

    store.registry.put("team/train:1", one_file("one", b"2"))
    time_machine.shift(timedelta(hours=25))
    pushes.want([(node.pk, image)], here={})
    assert pushes.refresh_old(active_policy().images) == 1
    assert fetch_images_over_ssh() == 1 and len(store.registry.sent) == 2

    time_machine.shift(timedelta(days=15))
    assert pushes.give_up_unwanted(active_policy().images) == 1
    assert fetch_images_over_ssh() == 1
    assert the_push().stage == PushState.PRUNED and store.names().count(OTHERS) == 1
    assert image not in store.names() and image not in store.look().facts["images"]


@needs_podman
@pytest.mark.django_db
def test_what_is_not_to_be_had_says_why_and_no_name_is_ever_a_command(store, tmp_path):
    way = store.machine.way
    missing = f"{store.registry.host}/no/such:1"
    gone, fetched = on_node(Orders(1, way, pull=(missing,), prune=(f"{store.registry.host}/never/here:1",)))[
        ::-1
    ]
    assert gone.ok and not fetched.ok and "manifest" in fetched.problem
    mark = tmp_path / "mark"
    for name in ("--privileged", f"a;touch {mark}", f"$(touch {mark})", f"a\ntouch {mark}", "`id`", ""):
        (result,) = on_node(Orders(1, way, pull=(name,)))
        assert result.problem == "this is no name of an image"
        # Nor would the command itself take it for one.
        for command in (image_commands.FETCH, image_commands.REMOVE, image_commands.LOOK):
            subprocess.run(
                ["sh", "-c", command.line], input=f"{name}\n".encode(), capture_output=True, check=False
            )
    assert not mark.exists()


@needs_podman
@pytest.mark.django_db
def test_a_private_image_is_fetched_with_its_secret_of_which_nothing_stays(store, tmp_path, settings):
    settings.REGISTRY_SECRETS_DIR = tmp_path / "secrets"
    password = "wAlrus-44-tusk"
    with serving(user="robot", password=password) as private:
        conf = next(Path(store.engine[2]).parent.glob("registries.conf"))
        conf.write_text(f'[[registry]]\nlocation = "{private.host}"\ninsecure = true\n')
        image = private.put("team/model:1", one_file("one", b"1"))
        node = store.look()
        secrets.make("models", registry=private.host, user="robot", password=password, teams=[])
        pushes.want([(node.pk, image)], here={})
        assert fetch_images_over_ssh() == 1 and the_push().failures == 1 and private.refused
        secrets.note_use(image, "models")
        ImagePush.objects.update(due_at=clock.now())
        private.open.clear()
        thread = threading.Thread(target=while_it_is_fetched, args=(private, seen := []))
        thread.start()
        assert fetch_images_over_ssh() == 1
        thread.join(60)
        assert (the_push().stage, the_push().problem) == (PushState.DONE, "")
        assert seen == [0o600, 0o700], "it was there, for its user alone, in memory"
    assert list(Path("/dev/shm").glob("headrace-registry-*")) == []
    texts = [password, private.wants]
    files = [path for path in store.machine.folder.rglob("*") if path.is_file()]
    assert not any(text.encode() in path.read_bytes() for text in texts for path in files)


def while_it_is_fetched(private: Registry, seen: list[int]) -> None:
    """What there is of the secret on the node: its file's and folder's rights, and nothing among words of commands."""
    try:
        (kept,) = eventually(lambda: list(Path("/dev/shm").glob("headrace-registry-*/config.json")))
        assert private.wants in kept.read_text()
        told = b"".join(
            path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.parent.exists()
        )
        assert private.wants.encode() not in told
        seen += [kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777]
    finally:
        private.open.set()


def test_the_commands_are_constants_of_which_no_shell_reads_more_than_is_meant():
    for command in (image_commands.FETCH, image_commands.REMOVE, image_commands.LOOK):
        assert "'" not in command.script and command.line.count("'") == 4
        subprocess.run(["sh", "-n", "-c", command.script], check=True)


@pytest.mark.django_db
def test_nothing_is_sent_to_a_machine_that_shows_another_host_key(machine):
    node = make_node()
    machine.host(fetches_images=True, node=node)
    pushes.want([(node.pk, "example.com/a:1")], here={})
    machine.stop()
    machine.new_host_key()
    machine.start()
    assert fetch_images_over_ssh() == 1
    assert the_push().stage == PushState.WANTED and the_push().problem.startswith("host-key-changed")
    assert "Accepted" not in machine.log


def over_ssh(count: int) -> list[Node]:
    nodes = [make_node(f"machine-{number}") for number in range(count)]
    for number, node in enumerate(nodes):
        RemoteHost.objects.create(
            address=f"10.0.0.{number}",
            user="watch",
            key="fleet",
            host_key="x",
            node=node,
            fetches_images=True,
        )
    return nodes


def well(orders: Orders) -> list[ImageResult]:
    done = [ImageResult(image, ImageAction.PULL, ok=True, ms=1) for image in orders.pull]
    return done + [ImageResult(image, ImageAction.PRUNE, ok=True) for image in orders.prune]


@pytest.mark.django_db
def test_no_more_nodes_fetch_at_once_than_may_and_each_one_image_at_a_time():
    nodes = over_ssh(5)
    pushes.want([(node.pk, f"example.com/{name}:1") for node in nodes for name in "ab"], here={})
    lock, together, most, met = threading.Lock(), [], [], threading.Event()

    def one(orders: Orders) -> list[ImageResult]:
        with lock:
            together.append(orders.node)
            most.append(sorted(together))
            if len(together) == 2:
                met.set()
        assert met.wait(30)
        with lock:
            together.remove(orders.node)
        return well(orders)

    two = msgspec.structs.replace(active_policy().images, at_once=2)
    assert work(two, carry_out=one) == 10
    assert max(map(len, most)) == 2 and all(len(set(busy)) == len(busy) for busy in most)
    assert set(ImagePush.objects.values_list("stage", flat=True)) == {PushState.DONE}


@pytest.mark.django_db
def test_one_tick_works_at_a_time_and_what_its_holder_left_is_taken_up():
    (node,) = over_ssh(1)
    pushes.want([(node.pk, "example.com/a:1")], here={})
    warming = active_policy().images
    assert pushes.next_orders(node.pk, warming)[0], "whoever took it died"
    lease = locks.take_lease(image_work.LEASE, holder="other", ttl_s=60)
    assert lease is not None and work(warming, carry_out=well) == 0
    locks.release(lease)
    assert work(warming, carry_out=well) == 1 and the_push().stage == PushState.DONE


@pytest.mark.django_db
@pytest.mark.parametrize(
    "host, node",
    [({"fetches_images": False}, {}), ({"problem": "timed-out"}, {}), ({}, {"state": NodeState.SILENT})],
)
def test_nothing_is_done_where_nobody_said_so_or_the_node_is_away(host, node):
    (one,) = over_ssh(1)
    RemoteHost.objects.update(**host)
    Node.objects.update(**node)
    pushes.want([(one.pk, "example.com/a:1")], here={})
    assert work(active_policy().images, carry_out=well) == 0


@pytest.mark.django_db
def test_a_fault_of_ours_is_a_failure_of_the_order(monkeypatch):
    (node,) = over_ssh(1)
    pushes.want([(node.pk, "example.com/a:1")], here={})
    assert work(active_policy().images) == 1
    assert the_push().failures == 1 and the_push().problem
