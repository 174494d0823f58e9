"""Supposing something, comparing both plans, and the control plane about itself, in the browser."""

import re

from playwright.sync_api import expect

from tests.e2e.console import Console
from tests.e2e.test_pages import KEY


def test_a_what_if_is_composed_run_and_kept_in_the_address(console: Console) -> None:
    page = console.page
    console.go("/what-if")
    expect(page.get_by_role("button", name="Compare")).to_be_disabled()
    page.get_by_label("Suppose").select_option("add-job")
    page.get_by_label("How many").fill("2")
    page.get_by_label("Cores", exact=True).fill("8000")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".edits li")).to_contain_text("2 more jobs in training")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Jobs whose decision changes")).to_be_visible()
    expect(page.get_by_role("heading", name="What the others wait for")).to_be_visible()
    expect(page.locator("tr", has_text="supposed").first).to_contain_text("waits for")
    expect(page.get_by_text("/api/v1/what-if")).to_be_visible()
    expect(page).to_have_url(re.compile("run=1"))
    page.reload()
    expect(page.locator("tr", has_text="supposed").first).to_be_visible()
    console.switch_language()
    expect(page.get_by_role("heading", name="决策改变的作业")).to_be_visible()
    assert KEY.findall(page.locator("body").inner_text()) == []
    console.switch_language()


def test_a_drained_node_turns_jobs_away(console: Console) -> None:
    page = console.page
    console.go("/what-if")
    name = console.call("GET", "nodes?limit=1")["results"][0]["name"]
    page.locator(".editform input").fill(name)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".edits li")).to_contain_text(f"{name} takes nothing new")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".panel.main .why")).not_to_be_empty()
    page.get_by_role("button", name="Remove supposition 1").click()
    expect(page.get_by_text("Nothing is different yet.")).to_be_visible()


def test_what_the_server_refuses_is_told_at_its_supposition(console: Console) -> None:
    page = console.page
    console.go('/what-if?edits=[{"kind":"drain-node","node":987654321}]&run=1')
    expect(page.get_by_role("alert")).to_contain_text("Supposition 1")


def test_the_status_page_shows_the_scheduler_and_hands_out_recordings(console: Console) -> None:
    page = console.page
    console.submit("true", Name="leaves a recording")
    console.expect_status("succeeded")
    console.go("/status")
    for name in ("Cycle, P95", "Own CPU, of one core", "Skipped cycles", "Longest gap"):
        expect(page.get_by_text(name)).to_be_visible()
    expect(page.get_by_role("heading", name="Agents by version")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("link", name=re.compile("Download recording")).first.click()
    assert waiting.value.suggested_filename.startswith("headrace-recording-")
