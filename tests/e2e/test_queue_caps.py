"""What an administrator does with the caps of queues and the first quota of a team: the consequence is seen first."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.console import Console


@pytest.fixture
def as_before(console: Console) -> Iterator[None]:
    """The policy is the whole server's: what a test made of it is undone."""
    console.page.goto("/")
    before = console.call("GET", "policies/active")["document"]
    yield
    console.call("POST", "policies", {"document": before, "reason": "as before"})


@pytest.mark.usefixtures("as_before")
def test_a_cap_is_edited_with_its_consequence_shown_first(console: Console) -> None:
    page = console.page
    console.go("/queues")
    page.get_by_role("button", name="Caps of offline").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("At most, in %").fill("12.5")
    dialog.get_by_label("may use what others leave idle").check()
    expect(dialog.get_by_role("button", name="Set it")).to_be_disabled()
    dialog.get_by_role("button", name="What would follow").click()
    expect(dialog.get_by_role("status")).to_contain_text("Nobody would be over.")
    expect(dialog.get_by_role("button", name="Set it")).to_be_disabled()
    dialog.get_by_label("Reason").fill("nights are enough")
    dialog.get_by_role("button", name="What would follow").click()
    dialog.get_by_role("button", name="Set it").click()
    expect(dialog).to_have_count(0)
    expect(
        page.get_by_role("img", name=re.compile(r"^offline: booked 0.0\s%, quota 12.5\s%"))
    ).to_be_visible()
    queue = console.call("GET", "queues/offline")
    assert (queue["quota_percent"], queue["borrow"]) == (12.5, True)
    version = console.call("GET", "policies/active")
    assert version["reason"] == "nights are enough" and "12.5%" in version["document"]
    (entry,) = console.call("GET", "audit?action=queue-edit&limit=1")["results"]
    assert entry["details"]["before"] == {"quota": None, "borrow": False}


def test_the_first_quota_of_a_team_is_set_and_taken_away(console: Console) -> None:
    page = console.page
    page.goto("/")
    console.call("POST", "teams", {"slug": "geodesy", "name": "Geodesy"})
    console.go("/queues")
    page.get_by_role("button", name="New quota").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Queue").select_option("training")
    dialog.get_by_label("Team").select_option("geodesy")
    dialog.get_by_label("Devices at most").fill("2.5")
    dialog.get_by_role("button", name="What would follow").click()
    expect(dialog.get_by_role("status")).to_contain_text("Nobody would be over.")
    dialog.get_by_role("button", name="Set it").click()
    expect(dialog).to_have_count(0)
    row = page.get_by_role("row", name="geodesy")
    expect(row).to_contain_text("2.5")
    row.get_by_role("button", name="Quota of geodesy in training").click()
    dialog.get_by_role("button", name="Take it away").click()
    expect(row).to_have_count(0)
    assert console.call("GET", "team-quotas?team=geodesy")["results"] == []
