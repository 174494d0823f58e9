"""What a person does in the console, as verbs."""

import re
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.stack import Stack

WORD = {"en": "Sign in", "zh": "登录"}


@dataclass(frozen=True)
class Console:
    """One browser page on the console."""

    page: Page
    stack: Stack

    def sign_in(self, path: str = "/") -> None:
        """Open an address signed out, and arrive there signed in."""
        self.page.goto(path)
        self.enter(self.stack.username, self.stack.password)
        expect(self.page.locator("nav.rail")).to_be_visible()
        # The account may have kept another language from an earlier test.
        if self.language != "en":
            self.switch_language()

    def enter(self, username: str, password: str) -> None:
        self.page.locator("#username").fill(username)
        self.page.locator("#password").fill(password)
        self.page.locator("form button[type=submit]").click()

    @property
    def language(self) -> str:
        return self.page.locator("html").get_attribute("lang") or ""

    def switch_language(self) -> None:
        """To the other one of the two."""
        other = "zh-CN" if self.language == "en" else "en"
        self.page.locator(f"header.top button[lang={other}]").click()
        expect(self.page.locator("html")).to_have_attribute("lang", other)

    def go(self, path: str) -> None:
        """To a page, until it has read what it shows."""
        self.page.goto(path)
        expect(self.page.locator("main .page, main .map, main canvas").first).to_be_visible()
        expect(self.page.locator("main .still")).to_have_count(0)

    def fill_job(self, command: str, **fields: str) -> None:
        """The submit form; fields by their labels."""
        self.go("/jobs/new")
        self.page.get_by_label("Command").fill(command)
        for label, value in fields.items():
            self.page.get_by_label(label.replace("_", " "), exact=True).fill(value)

    def submit(self, command: str, **fields: str) -> int:
        """A job through the form; its number."""
        self.fill_job(command, **fields)
        self.page.get_by_role("button", name="Submit", exact=True).click()
        self.page.wait_for_url(re.compile(r"/jobs/\d+$"))
        return int(self.page.url.rsplit("/", 1)[1])

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The API as the page itself would call it, in the same session; the answer's body, None where it has none."""
        cookies = {cookie["name"]: cookie["value"] for cookie in self.page.context.cookies()}
        answer = self.page.context.request.fetch(
            f"/api/v1/{path}",
            method=method,
            data=body,
            headers={"X-CSRFToken": cookies.get("headrace_csrf", "")},
        )
        assert answer.ok, answer.text()
        return None if answer.status == 204 else answer.json()

    def expect_status(self, status: str) -> None:
        expect(self.page.locator(f".head [data-status={status}]")).to_be_visible(timeout=60_000)
