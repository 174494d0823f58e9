"""A token made in the console opens the API, once it is shown, and no longer after it is revoked."""

import json
import urllib.error
import urllib.request

from playwright.sync_api import expect

from tests.e2e.console import Console


def whoami(url: str, token: str) -> tuple[int, dict[str, object]]:
    request = urllib.request.Request(f"{url}/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_token_is_shown_once_works_and_is_revoked(console: Console) -> None:
    page = console.page
    console.go("/tokens")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("Name").fill("browser test")
    page.get_by_role("button", name="Create").click()
    token = page.get_by_role("dialog").locator("pre").inner_text()
    assert whoami(console.stack.url, token)[1]["username"] == console.stack.username
    page.get_by_role("button", name="Done").click()
    page.reload()
    row = page.locator("tr", has_text="browser test").first
    expect(row).to_be_visible()
    assert token not in page.content()
    row.get_by_role("button", name="Revoke…").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke the token").click()
    expect(page.locator("tr", has_text="browser test")).to_have_count(0)
    assert whoami(console.stack.url, token)[0] == 401
