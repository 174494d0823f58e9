"""The production shape: every process is there, nothing is privileged, no secret stands in it."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.base.broker import QUEUES
from tools.console import ROOT

SERVER = {"migrate", "web", "live", "worker-cycle", "worker-upkeep", "worker-remote", "beat"}
DOCKERFILES = sorted((ROOT / "docker").glob("Dockerfile.*"))


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return dict(document["services"])


def test_every_process_has_its_service(services: dict[str, Any]) -> None:
    assert set(services) == SERVER | {"proxy", "postgres", "valkey"}


def test_workers_serve_every_queue_once(services: dict[str, Any]) -> None:
    served = [
        queue
        for name in services
        if name.startswith("worker-")
        for queue in queues_of(services[name]["command"])
    ]
    assert sorted(served) == sorted(QUEUES)


def queues_of(command: list[str]) -> list[str]:
    return command[command.index("-Q") + 1].split(",")


def test_only_the_proxy_is_open_and_nobody_is_privileged(services: dict[str, Any]) -> None:
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert not [name for name, service in services.items() if service.get("privileged")]
    assert all(services[name]["cap_drop"] == ["ALL"] for name in SERVER)


def test_secrets_are_files(services: dict[str, Any]) -> None:
    for name, service in services.items():
        for key, value in service.get("environment", {}).items():
            assert "PASSWORD" not in key or key.endswith("_FILE"), f"{name}: {key}={value}"


def test_images_are_named_with_a_version(services: dict[str, Any]) -> None:
    for name in ("postgres", "valkey"):
        assert re.search(r":-[\w/]+:\d+-\w+}$", services[name]["image"])


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: str(path.name))
def test_the_base_image_is_an_argument(dockerfile: Path) -> None:
    text = dockerfile.read_text()
    assert "ARG BASE_IMAGE=" in text.split("FROM")[0]
    assert {base.split()[0] for base in re.findall(r"^FROM (.+)$", text, flags=re.MULTILINE)} == {
        "${BASE_IMAGE}"
    }
    for source in re.findall(r"^COPY (docker/\S+)", text, flags=re.MULTILINE):
        assert (ROOT / source).exists()


def test_what_waits_goes_to_live() -> None:
    text = (ROOT / "docker" / "proxy.conf.template").read_text()
    blocks = dict(re.findall(r"location (?:= |~ )?(\S+) \{\s+proxy_pass http://(\w+);", text))
    assert blocks["/live"] == blocks["/agent/v1/wake"] == "live"
    assert blocks["/"] == "web"


@pytest.mark.parametrize("script", ["docker/entrypoint.sh", "docker/proxy.sh", "tools/python.sh", ".ci/run"])
def test_scripts_parse(script: str) -> None:
    shell = "bash" if script == ".ci/run" else "sh"
    subprocess.run([shell, "-n", str(ROOT / script)], check=True)
