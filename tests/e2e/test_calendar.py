"""What people read of the coming days, and how they keep a request as a template."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.console import Console


def test_the_calendar_shows_windows_and_the_forecast_in_both_languages(console: Console) -> None:
    page = console.page
    console.go("/calendar")
    expect(page.get_by_role("img", name=re.compile("Valley windows: .+Peak hours: "))).to_be_visible()
    chart = page.get_by_role("img", name=re.compile(r"^Free (cores|devices): now \d"))
    expect(chart).to_be_visible()
    expect(page.get_by_text("New jobs are not foreseen.")).to_be_visible()
    expect(page.get_by_text("Nothing is promised.")).to_be_visible()
    page.get_by_role("button", name="Table").click()
    expect(page.get_by_role("columnheader", name="held, end unknown")).to_be_visible()
    console.switch_language()
    expect(page.get_by_text("未预计新作业。")).to_be_visible()
    console.switch_language()


@pytest.mark.usefixtures("simulated")
def test_a_job_that_can_wait_shows_the_forecast(console: Console) -> None:
    """Held by a person besides, so that no season starts it under the eyes of the test."""
    console.page.goto("/")
    spec = {
        "queue": "training",
        "command": ["true"],
        "deferrable": True,
        "on_hold": True,
        "resources": {"cores": 1},
    }
    job = console.call("POST", "jobs/submit", spec)["id"]
    console.go(f"/jobs/{job}")
    expect(console.page.get_by_role("heading", name="Free capacity, expected")).to_be_visible()
    expect(console.page.get_by_role("img", name=re.compile("^Free devices: now"))).to_be_visible()
    console.call("POST", f"jobs/{job}/cancel", {})


@pytest.fixture
def lead_of_tides(console: Console) -> Iterator[None]:
    """Only for a while: who is in several teams has to name one with every job."""
    console.page.goto("/")
    console.call("POST", "teams", {"slug": "tides", "name": "Tides"})
    member = f"teams/tides/members/{console.call('GET', 'me')['username']}"
    console.call("PUT", member, {"role": "lead"})
    yield
    console.call("DELETE", member)


@pytest.mark.usefixtures("lead_of_tides")
def test_a_request_is_kept_as_a_template_and_used(console: Console) -> None:
    page = console.page
    console.fill_job("python3 -c 'print(1)'", Name="tide-table", Cores="1")
    page.get_by_role("button", name="Keep as a template").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Team").select_option("tides")
    dialog.get_by_label("Name of the template").fill("tide table")
    dialog.get_by_role("button", name="Keep it").click()
    page.wait_for_url(re.compile(r"template=\d+"))
    expect(page.get_by_label("Template")).to_contain_text("tides / tide table")
    expect(page.get_by_label("Command")).to_have_value("python3 -c 'print(1)'")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    job = console.call("GET", f"jobs/{page.url.rsplit('/', 1)[1]}")
    assert (job["template"], job["team"], job["name"]) == ("tide table", "tides", "tide-table")
    console.call("POST", f"jobs/{job['id']}/cancel", {})
    assert [one["name"] for one in console.call("GET", "job-templates?team=tides")["results"]] == [
        "tide table"
    ]
