"""What a team lead does with the team's quota, and is refused."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import new_context, watched
from tests.e2e.console import Console
from tests.e2e.stack import Stack


@pytest.fixture
def lead(browser: Browser, stack: Stack, session_state: Any) -> Iterator[tuple[Console, dict[str, int]]]:
    """The console of a lead of one of two teams that have quotas; the quotas by team."""
    context = new_context(browser, stack, storage_state=session_state)
    page = context.new_page()
    page.goto("/")
    admin = Console(page, stack)
    user = admin.call("POST", "users", {"username": "lea", "role": "member"})
    quotas = {}
    for team in ("optics", "acoustics"):
        admin.call("POST", "teams", {"slug": team, "name": team.title()})
        wish = {"queue": "training", "team": team, "quota_milli": 4000}
        quotas[team] = admin.call("POST", "team-quotas", wish)["id"]
    admin.call("PUT", "teams/optics/members/lea", {"role": "lead"})
    context.close()
    with watched(new_context(browser, stack)) as opened:
        console = Console(opened, stack)
        opened.goto("/queues")
        console.enter("lea", user["password"])
        expect(opened.locator("nav.rail")).to_be_visible()
        yield console, quotas


def test_a_lead_divides_the_teams_quota_and_is_refused_another_teams(
    lead: tuple[Console, dict[str, int]],
) -> None:
    console, quotas = lead
    page = console.page
    console.go("/queues")
    share = page.get_by_role("button", name="Share of lea in training, team optics")
    expect(page.get_by_role("button", name="Quota of optics in training")).to_have_count(0)
    expect(page.get_by_text("acoustics")).to_have_count(0)
    share.click()
    dialog = page.get_by_role("dialog")
    amount = dialog.get_by_label("Devices at most, all models")
    amount.fill("1.5")
    expect(dialog.get_by_role("button", name="Set it")).to_be_disabled()
    dialog.get_by_role("button", name="What would follow").click()
    expect(dialog.get_by_role("status")).to_contain_text("Nobody would be over.")
    dialog.get_by_role("button", name="Set it").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("listitem").filter(has_text="lea")).to_contain_text("1.5")
    share.click()
    amount.fill("9")
    dialog.get_by_role("button", name="What would follow").click()
    dialog.get_by_role("button", name="Set it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("more than the team's quota")
    dialog.get_by_role("button", name=re.compile("Leave it|Change nothing", re.IGNORECASE)).click()
    expect(page.get_by_role("button", name="Caps of training")).to_have_count(0)
    expect(page.get_by_role("button", name="New quota")).to_have_count(0)
    mine = console.call("GET", f"team-quotas/{quotas['optics']}")
    assert mine["shares"] == [{"username": "lea", "share_milli": 1500}]
    token = next(c["value"] for c in page.context.cookies() if c["name"] == "headrace_csrf")
    refused = page.context.request.put(
        f"/api/v1/team-quotas/{quotas['acoustics']}/shares/lea",
        data={"share_milli": 1},
        headers={"X-CSRFToken": token},
    )
    assert refused.status == 404
    # The only team: its page opens at once, with the member, the share and the quota.
    console.go("/teams")
    page.wait_for_url("**/teams/optics")
    row = page.get_by_role("row", name="lea lead")
    expect(row).to_contain_text("training all models: 1.5")
    expect(page.get_by_role("img", name=re.compile("hours per day"))).to_be_visible()
    expect(page.get_by_text("Nothing of the team runs or waits.")).to_be_visible()
    for path in ("teams/acoustics/use", "teams/acoustics/use/members"):
        assert page.context.request.get(f"/api/v1/{path}").status == 404
