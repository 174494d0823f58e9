"""Browser tests drive a real Chromium against a real server; what the browser complains about fails the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.conftest import browser_path
from tests.e2e.console import Console
from tests.e2e.simulated import simulated_nodes, two_whole
from tests.e2e.stack import Stack, running_stack
from tests.policies import UNCAPPED

PATIENCE_MS = 20_000
# The browser logs every answer above 399, also those that a page expects.
EXPECTED = ("Failed to load resource",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.xdist_group("e2e"))


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    with running_stack() as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=str(browser_path()), args=["--no-sandbox", "--headless"]
        )
        yield chromium
        chromium.close()


def new_context(browser: Browser, stack: Stack, **options: Any) -> BrowserContext:
    made = browser.new_context(
        base_url=stack.url,
        locale="en-GB",
        timezone_id="Asia/Shanghai",
        viewport={"width": 1440, "height": 900},
        **options,
    )
    made.set_default_timeout(PATIENCE_MS)
    return made


@pytest.fixture(scope="session")
def session_state(browser: Browser, stack: Stack) -> Any:
    """Cookies of one signed-in session, so that only the tests about signing in do it by hand. The cluster is too small
    for quotas: no queue has one.
    """
    context = new_context(browser, stack)
    console = Console(context.new_page(), stack)
    console.sign_in()
    console.call("POST", "policies", {"document": UNCAPPED, "reason": "two nodes"})
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture(scope="session")
def simulated(
    browser: Browser, stack: Stack, session_state: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, ...]]:
    """The names of two simulated nodes with eight accelerators each, ready for jobs that ask for them."""
    context = new_context(browser, stack, storage_state=session_state)
    page = context.new_page()
    page.goto("/")
    with simulated_nodes(Console(page, stack), tmp_path_factory.mktemp("simulated"), two_whole()) as names:
        yield names
    context.close()


@contextmanager
def watched(context: BrowserContext) -> Iterator[Page]:
    """A page whose errors, refused scripts among them, fail the test at its end."""
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED):
            complaints.append(message.text)

    opened = context.new_page()
    opened.on("console", hear)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


@pytest.fixture
def page(browser: Browser, stack: Stack) -> Iterator[Page]:
    """A page of somebody who is not signed in."""
    with watched(new_context(browser, stack)) as opened:
        yield opened


@pytest.fixture
def console(browser: Browser, stack: Stack, session_state: Any) -> Iterator[Console]:
    """The console, signed in, in English."""
    with watched(new_context(browser, stack, storage_state=session_state)) as opened:
        yield Console(opened, stack)
