"""Images ahead of demand: fetched as asked, told once, and only those removed that were fetched so."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import protocol
from agent.image_keeper import ImageKeeper
from agent.protocol import ImageAction, ImageOrders, ImageReport
from agent.runners.containers import Containers, EngineSettings
from agent.transport import Unreachable
from tests.agent.containers import IMAGE, engine_command, make_image, run, why_no_containers


class Engine:
    def __init__(self) -> None:
        self.here: set[str] = {"others:1"}
        self.problem = ""

    def has_image(self, image: str) -> bool:
        return image in self.here

    def fetch_image(self, image: str, secret: str | None = None) -> str:
        if not self.problem:
            self.here.add(image)
        return self.problem

    def remove_image(self, image: str) -> str:
        self.here.discard(image)
        return ""


class Server:
    def __init__(self, *orders: ImageOrders) -> None:
        self.orders = list(orders)
        self.told: list[ImageReport] = []

    def __call__(self, report: ImageReport) -> ImageOrders:
        self.told.append(report)
        return self.orders.pop(0) if self.orders else ImageOrders(protocol.VERSION)


def keeper(tmp_path: Path, server: Server, engine: Engine) -> ImageKeeper:
    return ImageKeeper(server, engine, state_dir=tmp_path)


def test_what_is_asked_is_done_and_told_at_once(tmp_path: Path) -> None:
    server, engine = Server(ImageOrders(1, pull=["a:1"], again_s=30)), Engine()
    one = keeper(tmp_path, server, engine)
    assert one.round() == 0.0 and engine.here == {"a:1", "others:1"}
    assert one.round() == 60 and one.round() == 60
    (result,) = server.told[1].results
    assert (result.image, result.action, result.ok) == ("a:1", ImageAction.PULL, True)
    assert server.told[2].results == []


def test_what_was_there_by_somebody_elses_wish_is_not_fetched_and_never_ours(tmp_path: Path) -> None:
    server, engine = Server(ImageOrders(1, pull=["others:1"]), ImageOrders(1, prune=["others:1"])), Engine()
    engine.problem = "it was asked for"
    one = keeper(tmp_path, server, engine)
    for _ in range(3):
        one.round()
    assert [(r.ok, r.ours) for r in server.told[1].results + server.told[2].results] == [
        (True, False),
        (False, True),
    ]
    assert engine.here == {"others:1"} and one.fetched() == set()


def test_a_failure_is_told_with_its_reason(tmp_path: Path) -> None:
    server, engine = Server(ImageOrders(1, pull=["a:1"])), Engine()
    engine.problem = "manifest unknown"
    one = keeper(tmp_path, server, engine)
    one.round()
    one.round()
    assert [(r.ok, r.problem) for r in server.told[1].results] == [(False, "manifest unknown")]


def test_only_what_was_fetched_by_orders_is_removed_also_after_a_restart(tmp_path: Path) -> None:
    server, engine = Server(ImageOrders(1, pull=["a:1"]), ImageOrders(1, prune=["a:1", "others:1"])), Engine()
    keeper(tmp_path, server, engine).round()
    again = keeper(tmp_path, server, engine)
    again.round()
    again.round()
    assert engine.here == {"others:1"} and again.fetched() == set()
    assert [r.ok for r in server.told[-1].results] == [True, False]


def test_what_others_fetched_meanwhile_stays_theirs(tmp_path: Path) -> None:
    pull, prune = ImageOrders(1, pull=["others:1"]), ImageOrders(1, prune=["others:1"])
    server, engine = Server(pull, prune), Engine()
    one = keeper(tmp_path, server, engine)
    for _ in range(3):
        one.round()
    assert engine.here == {"others:1"} and one.fetched() == set()
    assert [(r.action, r.ok) for told in server.told for r in told.results] == [
        ("pull", True),
        ("prune", False),
    ]


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[" * 100_000, b"[3]"])
def test_a_damaged_list_is_put_aside_and_its_images_stay(
    tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "fetched-images.json").write_bytes(data)
    server, engine = Server(ImageOrders(1, pull=["a:1"], prune=["others:1"])), Engine()
    keeper(tmp_path, server, engine).round()
    assert engine.here == {"a:1", "others:1"}
    assert (tmp_path / "fetched-images.json.damaged").read_bytes() == data
    assert keeper(tmp_path, server, engine).fetched() == {"a:1"}
    assert "put aside" in caplog.text


def test_what_could_not_be_told_is_told_later(tmp_path: Path) -> None:
    server, engine = Server(ImageOrders(1, pull=["a:1"])), Engine()
    one = keeper(tmp_path, server, engine)
    one.round()

    def away(report: ImageReport) -> ImageOrders:
        raise Unreachable("away")

    one._ask = away
    with pytest.raises(Unreachable):
        one.round()
    one._ask = server
    one.round()
    assert [r.image for r in server.told[-1].results] == ["a:1"]


@pytest.fixture
def short_path() -> Iterator[Path]:
    """podman refuses long paths for what it keeps while it runs."""
    with tempfile.TemporaryDirectory(prefix="hr-") as name:
        yield Path(name)


@pytest.mark.acceptance
@pytest.mark.skipif(bool(why_no_containers()), reason=why_no_containers() or "it can")
def test_podman_fetches_and_removes_an_image(short_path: Path) -> None:
    elsewhere, here = short_path / "elsewhere", short_path / "here"
    for folder in (elsewhere, here):
        folder.mkdir()
    source = engine_command(elsewhere)
    make_image(source, elsewhere)
    archive = f"docker-archive:{elsewhere}/saved.tar"
    run(source, "push", IMAGE, f"{archive}:{IMAGE}")
    engine = Containers(
        EngineSettings(command=tuple(engine_command(here))),
        state_dir=short_path,
        most_processes=64,
        most_files=64,
    )
    assert not engine.has_image(IMAGE)
    assert engine.fetch_image(archive) == ""
    assert engine.has_image(IMAGE)
    assert "headrace-test" in run(engine_command(here), "images")
    assert engine.remove_image(IMAGE) == "" == engine.remove_image(IMAGE)
    assert "headrace-test" not in run(engine_command(here), "images")
    assert engine.fetch_image("localhost:1/no/such:1") != ""
    assert engine.fetch_image("localhost:1/no/such:1", "team-a").startswith("image_secret: team-a")
    assert engine.has_image("localhost:1/no/such:1") is False
    assert "no name" in engine.fetch_image("--privileged")
