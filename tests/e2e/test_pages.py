"""Every page in both languages, wide and narrow: no stray key, inside its width. Pictures are kept for eyes."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console import Console

PAGES = [
    "/",
    "/map",
    "/jobs",
    "/jobs/new",
    "/queues",
    "/teams",
    "/calendar",
    "/nodes",
    "/images",
    "/policy",
    "/what-if",
    "/health",
    "/accounts",
    "/tokens",
    "/status",
    "/settings",
]
# What a missing translation looks like: the key itself.
KEY = re.compile(
    r"\b(?:accounts|app|calendar|devices|health|inventory|job|jobs|map|nodes|overview|policy|queues|quotas|settings|signin|status|submit|teams|ui|whatif|why)\.[a-z]\w+"
)
WIDTHS = {"wide": 1440, "narrow": 390}


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


def picture_name(path: str, *, language: str, width: int) -> str:
    return f"{path.strip('/').replace('/', '-') or 'overview'}-{language}-{width}.png"


def sideways_px(page: Page) -> int:
    """How far the page itself (not a table inside it) reaches beyond the window."""
    found: int = page.evaluate(
        "document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth"
    )
    return found


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_every_page_in_both_languages(console: Console, pictures: Path, width: int) -> None:
    page = console.page
    page.set_viewport_size({"width": width, "height": 900})
    for turn in range(2):
        if turn:
            console.switch_language()
        for path in PAGES:
            console.go(path)
            page.screenshot(path=pictures / picture_name(path, language=console.language, width=width))
            text = page.locator("body").inner_text()
            assert KEY.findall(text) == [], path
            assert sideways_px(page) <= 0, path
    console.switch_language()


def test_chinese_reaches_the_servers_sentences(console: Console) -> None:
    console.submit("sleep 1", Name="waits in Chinese", Cores="8000")
    console.expect_status("pending")
    expect(console.page.locator(".why")).not_to_have_text("No cycle has looked at this job yet.")
    console.switch_language()
    expect(console.page.locator(".why")).to_have_text(re.compile("[\u4e00-\u9fff]"))
    expect(console.page.get_by_text("为什么在等")).to_be_visible()
    console.switch_language()


def test_this_machine_is_on_the_nodes_page(console: Console) -> None:
    console.go("/nodes")
    expect(console.page.locator("tbody tr").first).to_contain_text("Ready")


def test_keys_lead_to_pages(console: Console) -> None:
    page = console.page
    console.go("/")
    for keys, path in [("gj", "/jobs"), ("gq", "/queues"), ("gm", "/map"), ("go", "/")]:
        for key in keys:
            page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"{path}(\?.*)?$"))
    page.keyboard.press("/")
    expect(page.get_by_role("combobox").first).to_be_focused()


def test_dark_and_light_are_kept(console: Console) -> None:
    page = console.page
    console.go("/settings")
    before = page.locator("html").get_attribute("data-theme")
    page.get_by_role("button", name="Dark or light").click()
    after = "light" if before == "dark" else "dark"
    expect(page.locator("html")).to_have_attribute("data-theme", after)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", after)


def test_the_gauge_shows_two_figures_or_says_what_is_not_measured(console: Console) -> None:
    console.go("/")
    label = console.page.locator(".rail .gauge").get_attribute("aria-label") or ""
    assert re.search(r"booked (\d+ %|unknown), measured (\d+ %|unknown)$", label), label


def test_nothing_stands_at_a_wrong_address(console: Console) -> None:
    console.page.goto("/no-such-page")
    expect(console.page.get_by_text("Nothing stands at this address.")).to_be_visible()
    console.page.goto("/jobs/999999999")
    expect(console.page.get_by_role("heading", name="Job 999999999 does not exist")).to_be_visible()
    console.switch_language()
    expect(console.page.get_by_role("heading", name="作业 999999999 不存在")).to_be_visible()
    console.switch_language()
