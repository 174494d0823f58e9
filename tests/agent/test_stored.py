"""Images and datasets present on a node: indexes of podman, tools of ours on PATH, and folders."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.collect import HostCollector
from agent.config import Config, ConfigError, load_config
from agent.host import images
from agent.host.datasets import DatasetFolders
from agent.host.images import read_images, size_mib, spellings
from agent.protocol import StoredImage
from tests.waiting import eventually

DIGEST = "sha256:" + "1f" * 32


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of our own tools only."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "sleep"):
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def tool(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def store(root: Path, path: str, *, driver: str = "overlay") -> Path:
    """A podman store with one image of two layers and one without a name."""
    folder = root / path
    index, layers = folder / f"{driver}-images/images.json", folder / f"{driver}-layers/layers.json"
    for file in (index, layers):
        file.parent.mkdir(parents=True)
    index.write_text(
        json.dumps(
            [
                {"id": "a", "digest": DIGEST, "names": ["docker.io/acme/train:7"], "layer": "top"},
                {"id": "b", "digest": DIGEST, "layer": "top"},
                {"id": "c", "names": ["localhost/odd:1"], "layer": "gone"},
            ]
        )
    )
    layers.write_text(
        json.dumps(
            [{"id": "base", "diff-size": 300 << 20}, {"id": "top", "parent": "base", "diff-size": 5 << 20}]
        )
    )
    return folder


def test_podmans_index_tells_names_digests_and_sizes(tmp_path: Path, tools: Path) -> None:
    store(tmp_path, images.SYSTEM_STORE)
    found = read_images(tmp_path)
    assert found.images == (
        StoredImage(name="docker.io/acme/train:7", digest=DIGEST, size_mib=305),
        StoredImage(name="localhost/odd:1"),
    )
    assert (
        found.names() == ["acme/train:7", "docker.io/acme/train:7", "localhost/odd:1"] and not found.notices
    )


def test_a_configured_store_and_those_of_users_count(tmp_path: Path, tools: Path) -> None:
    (tmp_path / "etc/containers").mkdir(parents=True)
    (tmp_path / "etc/containers/storage.conf").write_text('[storage]\ngraphroot = "/big/store"\n')
    store(tmp_path, "big/store", driver="vfs")
    name = pwd.getpwuid(os.getuid()).pw_name
    stores = images.podman_stores(tmp_path, [name, "nobody-of-this-name"])
    home = pwd.getpwnam(name).pw_dir.lstrip("/")
    assert stores == [tmp_path / "big/store", tmp_path / home / images.USER_STORE]
    assert len(read_images(tmp_path).images) == 2


def test_an_index_that_cannot_be_read_is_said(tmp_path: Path, tools: Path) -> None:
    folder = store(tmp_path, images.SYSTEM_STORE)
    (folder / "overlay-images/images.json").write_text("[{")
    (said,) = read_images(tmp_path).notices
    assert said.code == "images-unread" and "JSONDecodeError" in said.params["problem"]


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        ("pipe", "no regular file"),
        ("link", "symbolic links"),
        ("nested", "RecursionError"),
        ("odd", "TypeError"),
    ],
)
def test_what_a_user_puts_in_place_of_an_index_holds_nothing_up(
    tmp_path: Path, tools: Path, index: str, problem: str
) -> None:
    path = store(tmp_path, images.SYSTEM_STORE) / "overlay-images/images.json"
    path.unlink()
    if index == "pipe":
        os.mkfifo(path)
    elif index == "link":
        path.symlink_to("/dev/zero")
    else:
        path.write_text("[" * 200_000 if index == "nested" else "5")
    (tools / "lines").write_text(json.dumps({"Repository": "acme/serve", "Tag": "2"}) + "\n" + "[" * 200_000)
    tool(tools, "docker", f"cat {tools}/lines")
    found = read_images(tmp_path)
    assert [image.name for image in found.images] == ["acme/serve:2"]
    (said,) = found.notices
    assert said.params["source"].startswith("podman ") and problem in said.params["problem"]


def test_without_runtimes_nothing_is_known_and_nothing_wrong(tmp_path: Path, tools: Path) -> None:
    assert read_images(tmp_path) == images.Images()


def test_docker_tells_its_images(tmp_path: Path, tools: Path) -> None:
    lines = [
        {"Repository": "acme/serve", "Tag": "2", "Digest": DIGEST, "Size": "1.5GB"},
        {"Repository": "<none>", "Tag": "<none>", "Digest": "<none>", "Size": "9MB"},
        {"Repository": "busybox", "Tag": "1.36", "Digest": "<none>", "Size": "odd"},
    ]
    (tools / "lines").write_text("\n".join(map(json.dumps, lines)) + "\nno json\n")
    tool(tools, "docker", f"cat {tools}/lines")
    found = read_images(tmp_path)
    assert found.images == (
        StoredImage(name="acme/serve:2", digest=DIGEST, size_mib=1430),
        StoredImage(name="busybox:1.36"),
    )
    assert "docker.io/library/busybox:1.36" in found.names()


def test_docker_without_images_is_no_failure_and_without_its_daemon_is_one(
    tmp_path: Path, tools: Path
) -> None:
    tool(tools, "docker", "exit 0")
    assert read_images(tmp_path) == images.Images()
    tool(tools, "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    (said,) = read_images(tmp_path).notices
    assert "Cannot connect" in said.params["problem"]


def test_containerd_is_asked_by_crictl_or_in_all_namespaces(tmp_path: Path, tools: Path) -> None:
    document = {
        "images": [
            {"repoTags": ["r.example/a:1"], "repoDigests": [f"r.example/a@{DIGEST}"], "size": "99999999"}
        ]
    }
    (tools / "document").write_text(json.dumps(document))
    tool(tools, "crictl", f"cat {tools}/document")
    assert read_images(tmp_path).images == (StoredImage(name="r.example/a:1", digest=DIGEST, size_mib=95),)
    (tools / "crictl").unlink()
    table = f"REF TYPE DIGEST SIZE PLATFORMS LABELS\nr.example/b:2 application/x {DIGEST} 27.3 MiB linux/amd64 -\n"
    (tools / "table").write_text(f"{table}sha256:00 application/x {DIGEST} 1 B linux/amd64 -\n")
    tool(tools, "ctr", f'if [ "$1" = namespaces ]; then echo k8s.io; else cat {tools}/table; fi')
    assert read_images(tmp_path).images == (StoredImage(name="r.example/b:2", digest=DIGEST, size_mib=27),)


def test_a_daemon_that_hangs_is_said(tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "TIMEOUT_S", 0.5)
    tool(tools, "docker", "exec sleep 600")
    (said,) = read_images(tmp_path).notices
    assert "no answer within" in said.params["problem"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0B", 0), ("980kB", 0), ("7.05MB", 6), ("2GB", 1907), ("27.3 MiB", 27), ("", None), ("1.2.3MB", None)],
)
def test_sizes(text: str, expected: int | None) -> None:
    assert size_mib(text) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("docker.io/library/a:1", {"docker.io/library/a:1", "library/a:1", "a:1"}),
        ("docker.io/x/a:1", {"docker.io/x/a:1", "x/a:1"}),
        ("a:1", {"a:1", "docker.io/library/a:1"}),
        ("x/a:1", {"x/a:1", "docker.io/x/a:1"}),
        ("r.example/a:1", {"r.example/a:1"}),
        ("host:5000/a:1", {"host:5000/a:1"}),
        ("localhost/a:1", {"localhost/a:1"}),
    ],
)
def test_an_image_is_known_by_all_its_spellings(name: str, expected: set[str]) -> None:
    assert set(spellings(name)) == expected


def test_datasets_are_the_folders_below(tmp_path: Path) -> None:
    for name in ("sets/imagenet", "sets/.hidden", "more/c4", "elsewhere/linked"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "sets/readme").touch()
    (tmp_path / "sets/coco").symlink_to(tmp_path / "elsewhere")
    folders = DatasetFolders([str(tmp_path / "sets"), str(tmp_path / "more"), str(tmp_path / "none")])
    names, notices = folders.read()
    assert names == ["c4", "coco", "imagenet"]
    assert [said.params["folder"] for said in notices] == [str(tmp_path / "none")]


def test_a_folder_that_does_not_answer_is_said(tmp_path: Path, tools: Path) -> None:
    tool(tools, "find", "exec sleep 600")
    names, notices = DatasetFolders([str(tmp_path)], timeout_s=0.3).read()
    assert not names and [said.code for said in notices] == ["datasets-unread"]


def test_a_node_tells_what_it_has_without_waiting_for_it(tmp_path: Path, tools: Path) -> None:
    store(tmp_path, images.SYSTEM_STORE)
    (tmp_path / "sets/laion").mkdir(parents=True)
    tool(tools, "find", f"echo {tmp_path}/sets/laion")
    config = Config(state_dir=str(tmp_path / "state"), dataset_folders=[str(tmp_path / "sets")])
    collector = HostCollector(config, root=tmp_path, probes={})
    assert collector.facts().stored_images == []
    collector.start(lambda: None)
    try:
        eventually(lambda: collector.facts().datasets == ["laion"], within_s=20)
        facts = collector.facts()
    finally:
        collector.close()
    assert "acme/train:7" in facts.images and facts.stored_images[0].size_mib == 305


def test_a_look_that_breaks_is_not_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    collector = HostCollector(Config(state_dir=str(tmp_path / "state")), root=tmp_path, probes={})
    collector._first.set()
    looks: list[str] = []

    def look() -> bool:
        collector._closed = "look" in looks
        looks.append("look")
        raise RuntimeError("the look broke")

    monkeypatch.setattr(collector, "_rest", lambda seconds: looks.append("rest"))
    collector._keep(look, age_s=1.0)
    assert looks == ["look", "rest", "look", "rest"] and "the look broke" in caplog.text


def test_settings_of_lists(tmp_path: Path) -> None:
    environment = {"HEADRACE_AGENT_DATASET_FOLDERS": "/data/a, /data/b", "HEADRACE_AGENT_IMAGE_USERS": "ann"}
    config = load_config(None, flags={}, environment=environment)
    assert (config.dataset_folders, config.image_users) == (["/data/a", "/data/b"], ["ann"])
    with pytest.raises(ConfigError, match="absolute"):
        load_config(None, flags={"dataset_folders": ["data"]}, environment={})


@pytest.fixture
def short_root() -> Iterator[Path]:
    """podman refuses long paths."""
    with tempfile.TemporaryDirectory(prefix="hr-", dir="/tmp", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def podman(short_root: Path) -> list[str]:
    """A real podman with a store of its own; skipped where it does not work."""
    call = ["podman", "--root", str(short_root / images.SYSTEM_STORE), "--runroot", str(short_root / "run")]
    call += ["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]
    if shutil.which("podman") is None:
        pytest.skip("no podman here: apt-get install podman")
    works = subprocess.run([*call, "info"], capture_output=True, check=False)
    if works.returncode != 0:
        pytest.skip(f"podman does not work here: {works.stderr.decode(errors='replace')[:200]}")
    return call


@pytest.mark.acceptance
def test_an_image_made_by_podman_is_found(podman: list[str], short_root: Path, tmp_path: Path) -> None:
    layer = tmp_path / "layer"
    layer.mkdir()
    (layer / "weights").write_bytes(bytes(3 << 20))
    subprocess.run(["tar", "-cf", tmp_path / "image.tar", "-C", layer, "."], check=True)
    made = [*podman, "import", str(tmp_path / "image.tar"), "headrace.example/made:1"]
    subprocess.run(made, check=True, capture_output=True)
    (image,) = [each for each in read_images(short_root).images if "headrace" in each.name]
    assert image.name == "headrace.example/made:1" and image.size_mib == 3
    assert image.digest is not None and image.digest.startswith("sha256:")
