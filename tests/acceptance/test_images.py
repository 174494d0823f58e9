"""Images through the whole product: Celery wants them, the agent fetches them with podman, and starts wait no more."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.instance import Instance, own_instance
from client.follow import FINAL
from tests.agent.containers import engine_command, one_file, programs, run, why_no_containers
from tests.registry import Registry, serving
from tests.waiting import eventually

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(bool(why_no_containers()), reason=why_no_containers() or "-"),
]
PATIENCE_S = 180.0


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serving() as found:
        yield found


@pytest.fixture
def engine() -> Iterator[list[str]]:
    folder = Path(tempfile.mkdtemp(prefix="hr-podman-"))
    yield engine_command(folder)
    subprocess.run([*engine_command(folder), "unshare", "true"], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def live(engine: list[str]) -> Iterator[Instance]:
    settings = {"CONTAINER_ENGINE": " ".join(engine), "CONTAINER_PULL_OPTIONS": "--tls-verify=false"}
    settings |= {"CONTAINER_NETWORKS": "none"}
    with own_instance({f"HEADRACE_AGENT_{name}": value for name, value in settings.items()}) as instance:
        yield instance


def ended(live: Instance, image: str) -> dict[str, Any]:
    """A job in a container of the image, run to its end."""
    wish = {"queue": "training", "image": image, "command": ["sh", "-c", "cat /fact"]}
    number = live.client.submit(wish | {"resources": {"memory": "64 MiB"}})["id"]
    eventually(lambda: live.client.job(number)["status"] in FINAL, within_s=PATIENCE_S, what=live.said)
    return live.client.job(number)


def test_what_a_push_fetched_is_no_part_of_the_wait(
    live: Instance, engine: list[str], registry: Registry
) -> None:
    image = registry.put("team/train:1", programs(), one_file("fact", b"known\n"))
    (node,) = live.client.nodes()
    cold = ended(live, image)
    assert (cold["status"], cold["exit_code"]) == ("succeeded", 0), cold
    assert cold["waits_ms"]["image_pull"] > 0
    before = live.client.images_summary()
    assert (before["hits"], before["starts"]) == (0, 1)

    # As on a node that never had it.
    run(engine, "rmi", image)
    live.client.order_image({"action": "warm", "image": image, "nodes": [node["id"]], "reason": "test"})
    eventually(lambda: pushed(live, image, "done"), within_s=PATIENCE_S, what=live.said)
    assert image in run(engine, "images", "--format={{.Repository}}:{{.Tag}}").split()
    warm = ended(live, image)
    after = live.client.images_summary()
    assert (warm["exit_code"], warm["waits_ms"]["image_pull"]) == (0, None)
    assert (after["hits"], after["starts"]) == (1, 2)
    assert after["pull_s"]["mean"] < before["pull_s"]["mean"]
    print(f"pull part of the wait {cold['waits_ms']['image_pull']} ms -> 0 ms, hits 0/1 -> 1/2")

    live.client.order_image({"action": "prune", "image": image, "nodes": [node["id"]], "reason": "test"})
    eventually(lambda: pushed(live, image, "pruned"), within_s=PATIENCE_S, what=live.said)
    assert image not in run(engine, "images", "--format={{.Repository}}:{{.Tag}}").split()


def pushed(live: Instance, image: str, stage: str) -> bool:
    (found,) = live.client.images(search=image)
    places = live.client.image_nodes(found["id"])
    return any(place["push"] and place["push"]["stage"] == stage for place in places)
