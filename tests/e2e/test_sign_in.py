"""Signing in and out, and what happens when it goes wrong."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.console import Console
from tests.e2e.stack import Stack


def test_a_wrong_password_is_refused_in_words(page: Page, stack: Stack) -> None:
    console = Console(page, stack)
    page.goto("/")
    console.enter(stack.username, "not-the-password")
    expect(page.get_by_role("alert")).to_have_text("Name or password is wrong.")
    expect(page).to_have_url(re.compile("/sign-in"))


def test_signing_in_leads_back_to_where_one_wanted_to_go(page: Page, stack: Stack) -> None:
    Console(page, stack).sign_in("/queues")
    expect(page).to_have_url(f"{stack.url}/queues")
    expect(page.get_by_role("heading", name="Queues and quotas")).to_be_visible()


def test_a_return_address_elsewhere_is_not_followed(page: Page, stack: Stack) -> None:
    Console(page, stack).sign_in("/sign-in?next=//example.invalid/")
    expect(page).to_have_url(f"{stack.url}/")


def test_after_signing_out_nothing_is_shown(page: Page, stack: Stack) -> None:
    Console(page, stack).sign_in()
    page.get_by_role("button", name=stack.username).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("#username")).to_be_visible()
    page.goto("/jobs")
    expect(page.locator("#username")).to_be_visible()


def test_an_ended_session_asks_to_sign_in_again(console: Console) -> None:
    console.go("/queues")
    console.page.context.clear_cookies()
    console.page.locator("nav.rail").get_by_role("link", name="Jobs").click()
    expect(console.page.locator("#username")).to_be_visible()
    expect(console.page).to_have_url(re.compile("next=%2Fjobs"))
