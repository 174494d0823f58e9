"""B8: the live map of openb's size in a real Chromium before real servers: loading, panning, changes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

import httpx
import msgspec
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from agent import protocol
from agent.protocol import Check, CheckResult, Reply
from bench import fleet
from bench.agents import Agent, Orders
from bench.data import at_least
from bench.frames import CATEGORIES, frame_times
from bench.instance import CLONE, wait_until
from bench.map import SIZES
from bench.servers import Servers, servers
from bench.statistics import summary
from controlplane.embedded.plan import Address, child, child_environment, web_child, worker
from controlplane.embedded.processes import ChildSpec, end_session, mark_of, start_child
from controlplane.embedded.valkey import free_port
from tests.conftest import browser_path
from tools.frontend import ensure_console

TARGET = {"interactive_ms": 2000, "script_p50_ms": 16, "script_p95_ms": 33, "visible_ms": 1000}
PLACED = 1000
REPORT_S = 10
DEVICES = 8
START_S = 120.0
VIEW: ViewportSize = {"width": 1440, "height": 900}
# From the corner of the map's canvas to the middle of its first tile.
FIRST_TILE = {"x": 30, "y": 43}
# The first moment at which the map answers the pointer, in ms since the navigation began.
ANSWERS = """
(at) => new Promise((done) => {
  const ask = () => {
    if (document.querySelector('.tip')) return done(performance.now());
    const canvas = document.querySelector('canvas.big');
    if (canvas) {
      const box = canvas.getBoundingClientRect();
      const where = { clientX: box.left + at.x, clientY: box.top + at.y, bubbles: true };
      canvas.dispatchEvent(new PointerEvent('pointermove', where));
    }
    requestAnimationFrame(ask);
  };
  ask();
})
"""
# When the count of quarantined devices next changed and the frame after it was drawn, as Unix ms.
WATCH = """
() => {
  const bar = document.querySelector('.mapbar .chips');
  const shown = () => bar.textContent;
  const before = shown();
  window.seenAt = new Promise((done) => {
    const watching = new MutationObserver(() => {
      if (shown() === before) return;
      watching.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.timeOrigin + performance.now())));
    });
    watching.observe(bar, { subtree: true, characterData: true, childList: true });
  });
}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument(
        "--loads", type=at_least(1), default=10, help="how often the page is loaded (default 10)"
    )
    parser.add_argument("--seconds", type=at_least(2), default=15, help="length of the panning (default 15)")
    parser.add_argument(
        "--changes", type=at_least(1), default=20, help="how many changes are awaited (default 20)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds: a load counts from its navigation until the map answers the pointer, a change from the moment its
    report is sent until it is drawn, script is what ran in the page between two frames.
    """
    with redirect_stdout(sys.stderr):
        ensure_console()
    with servers(web_workers=1, threads=2, with_workers=True) as found, _console(found) as url:
        fleet.connect(found.env)
        nodes = fleet.make_nodes(len(SIZES), sizes=SIZES)
        fleet.make_readings()
        first = fleet.make_jobs(PLACED, columns={}, status="running")
        fleet.make_placements(nodes[-PLACED:], first_job=first, devices=True)
        fleet.analyze()
        load = [round(os.getloadavg()[0], 2)]
        changing = _changing(nodes, options.changes)
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox", "--headless"]
            browser = playwright.chromium.launch(executable_path=str(browser_path()), args=arguments)
            shown = Shown(browser, url, _signed_in(browser, url, found))
            loads = shown.loads(options.loads)
            others = sorted({*nodes} - {agent.node for agent in changing})
            with _reporting(url, others):
                load.append(round(os.getloadavg()[0], 2))
                frames = shown.pan(options.seconds)
                changes = shown.changes(changing)
            browser.close()
    return {
        "target": TARGET,
        "nodes": len(SIZES),
        "devices": sum(SIZES),
        "reports_per_s": round(len(SIZES) / REPORT_S),
        "load_average": [*load, round(os.getloadavg()[0], 2)],
        "interactive_ms": loads,
        **frames,
        "visible_ms": changes,
    }


@contextmanager
def _console(found: Servers) -> Iterator[str]:
    """One ASGI process for pages, API and websockets, as `manage.py up` starts it, and the worker of the cycle."""
    address = Address(host="127.0.0.1", port=free_port())
    env = child_environment(
        state=found.state,
        address=address,
        database_url=found.database_url,
        redis_url=found.redis_url,
        environ=found.env,
    )
    web = replace(
        web_child(found.state, address, {**env, "HEADRACE_ORIGIN": address.url}), name="web-console"
    )
    cycle = child("worker-cycle", worker("cycle", "--pool", "solo"), state=found.state, env=env)
    with _running(web), _running(cycle):
        wait_until(lambda: _answers(address.ready_url), within_s=START_S, what="the web process")
        yield address.url


@contextmanager
def _running(spec: ChildSpec) -> Iterator[None]:
    mark = mark_of(start_child(spec).pid, stop_signal=spec.stop_signal)
    try:
        yield
    finally:
        if mark is not None:
            end_session(mark, grace_s=20.0)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2.0, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _changing(nodes: list[int], count: int) -> list[Agent]:
    """Agents of the nodes whose first devices fail, one after the other."""
    with_devices = [node for node in nodes if SIZES[node % len(SIZES)]]
    return [Agent(node, SIZES[node % len(SIZES)]) for node in with_devices[:count]]


def _signed_in(browser: Browser, url: str, found: Servers) -> Any:
    context = browser.new_context(base_url=url, locale="en-GB")
    page = context.new_page()
    page.goto("/sign-in")
    page.locator("#username").fill("admin")
    page.locator("#password").fill(found.state.admin_password.read_text().strip())
    page.locator("form button[type=submit]").click()
    page.locator("nav.rail").wait_for(timeout=START_S * 1000)
    state = context.storage_state()
    context.close()
    return state


@contextmanager
def _reporting(url: str, nodes: list[int]) -> Iterator[None]:
    """Every node reports every ten seconds, until the block ends."""
    host, port = url.removeprefix("http://").split(":")
    orders = Orders(
        host=host, port=int(port), rate=max(1, len(nodes) // REPORT_S), seconds=3600, warm_up_s=0, connections=8,
        devices=DEVICES, nodes=nodes, placements=[],
    )  # fmt: skip
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(msgspec.json.encode(orders))
        file.flush()
        command = [sys.executable, "-m", "bench.agents", file.name]
        process = subprocess.Popen(command, cwd=CLONE, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)


@dataclass(frozen=True)
class Shown:
    """The console in a browser, signed in."""

    browser: Browser
    url: str
    session: Any

    def loads(self, count: int) -> dict[str, Any]:
        """First visits, with nothing in the cache, and visits after those."""
        cold, warm = [], []
        for number in range(count):
            with self._page() as page:
                cold.append(_interactive_ms(page))
                warm.append(_interactive_ms(page))
            sys.stderr.write(f"\r{number + 1}/{count} loads")
        sys.stderr.write("\n")
        return {"first_visit": summary(cold), "again": summary(warm)}

    def pan(self, seconds: int) -> dict[str, Any]:
        """Drag the map to and fro and zoom, while readings of all nodes come in."""
        with self._page() as page:
            _interactive_ms(page)
            page.wait_for_timeout(2000)
            self.browser.start_tracing(page=page, categories=list(CATEGORIES))
            _drag(page, seconds)
            trace = json.loads(self.browser.stop_tracing())
        wall_ms, cpu_ms = frame_times(trace["traceEvents"])
        return {"script_per_frame_ms": summary(wall_ms), "script_cpu_per_frame_ms": summary(cpu_ms)}

    def changes(self, agents: list[Agent]) -> dict[str, Any]:
        """A device each fails for good; the map shows it."""
        took_ms = []
        with self._page() as page, httpx.Client(base_url=self.url, trust_env=False, timeout=30.0) as http:
            _interactive_ms(page)
            page.wait_for_timeout(2000)
            for agent in agents:
                page.evaluate(WATCH)
                sent_ms = time.time() * 1000
                _fail_first(http, agent)
                took_ms.append(page.evaluate("() => window.seenAt") - sent_ms)
                page.wait_for_timeout(700)
        return summary(took_ms)

    @contextmanager
    def _page(self) -> Iterator[Page]:
        context = self.browser.new_context(
            base_url=self.url, storage_state=self.session, viewport=VIEW, locale="en-GB"
        )
        context.set_default_timeout(START_S * 1000)
        yield context.new_page()
        context.close()


def _interactive_ms(page: Page) -> float:
    page.goto("/map", wait_until="commit")
    return float(page.evaluate(ANSWERS, FIRST_TILE))


def _drag(page: Page, seconds: int) -> None:
    mouse = page.mouse
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        for way in (-1, 1):
            mouse.move(700, 450)
            mouse.down()
            for step in range(40):
                mouse.move(700 + way * step * 8, 450 + way * step * 5)
            mouse.up()
            mouse.wheel(0, way * 120)


def _fail_first(http: httpx.Client, agent: Agent) -> None:
    agent.checks = [Check(name, CheckResult.OK) for name in agent.identities]
    agent.checks[0] = Check(agent.identities[0], CheckResult.FATAL, "xid-79")
    answer = http.post(
        "/agent/v1/report",
        content=protocol.encode(agent.report()),
        headers={
            "Authorization": f"Bearer {fleet.secret_of(agent.node)}",
            "Content-Type": "application/json",
        },
    )
    if answer.status_code != 200:
        raise RuntimeError(f"report: {answer.status_code} {answer.text[:500]}")
    agent.obey(protocol.decode(answer.content, Reply))
