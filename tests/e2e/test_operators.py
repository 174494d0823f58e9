"""What operators do: pausing, recording, draining; slices, failed devices with evidence, alerts, labels, charts."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.e2e.conftest import new_context
from tests.e2e.console import Console
from tests.e2e.simulated import NODE_SET, SLICES, simulated_nodes, sliced_and_frail
from tests.e2e.stack import Stack
from tests.e2e.test_pages import KEY

REASON = "Reason, kept in the audit trail"


@pytest.fixture(scope="module")
def lab(
    browser: Browser, stack: Stack, session_state: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, int]]:
    """A sliced node and one with a failed device, by name; afterwards nobody's jobs find them."""
    context = new_context(browser, stack, storage_state=session_state)
    page = context.new_page()
    page.goto("/")
    console = Console(page, stack)
    with simulated_nodes(console, tmp_path_factory.mktemp("lab"), sliced_and_frail()) as names:
        rows = console.call("GET", "nodes?limit=100")["results"]
        found = {row["name"]: row["id"] for row in rows if row["name"] in names}
        yield found
        for node in found.values():
            console.call("POST", f"nodes/{node}/maintenance", {"reason": "browser test is over"})
    context.close()


def confirm(console: Console, button: Locator, action: str, reason: str = "") -> None:
    """Press what asks first, give the reason, and do it."""
    button.click()
    dialog = console.page.get_by_role("dialog")
    if reason:
        dialog.get_by_label(REASON).fill(reason)
    dialog.get_by_role("button", name=action, exact=True).click()
    expect(dialog).to_have_count(0)


def test_a_paused_cluster_starts_nothing_until_it_is_resumed(console: Console) -> None:
    page = console.page
    console.go("/status")
    confirm(
        console, page.get_by_role("button", name="Pause the whole cluster"), "Pause", "power works at 3 a.m."
    )
    strip = page.locator("div.pause")
    try:
        expect(strip).to_contain_text("The cluster is paused: nothing new starts")
        expect(strip).to_contain_text("power works at 3 a.m.")
        job = console.submit("true", Name="waits for the resume")
        expect(page.locator(".why")).to_contain_text(re.compile("paused", re.IGNORECASE))
        console.switch_language()
        expect(strip).to_contain_text("集群已暂停")
        expect(page.locator(".why")).to_contain_text("暂停")
        console.switch_language()
        assert console.call("GET", f"jobs/{job}")["status"] == "pending"
    finally:
        confirm(console, strip.get_by_role("button", name="Resume the cluster"), "Resume")
    expect(strip).to_have_count(0)
    console.expect_status("succeeded")


def test_a_queue_and_a_node_set_are_paused_alone(console: Console, lab: dict[str, int]) -> None:
    page = console.page
    console.go("/queues")
    confirm(
        console, page.get_by_role("button", name="Pause the queue offline"), "Pause", "quota is negotiated"
    )
    expect(page.locator(".tag", has_text="paused")).to_have_count(1)
    expect(page.locator("div.pause")).to_have_count(0)
    confirm(console, page.get_by_role("button", name="Resume the queue offline"), "Resume")
    expect(page.locator(".tag", has_text="paused")).to_have_count(0)
    console.go("/nodes")
    page.get_by_role("link", name=NODE_SET, exact=True).first.click()
    expect(page).to_have_url(re.compile(f"node_set={NODE_SET}"))
    confirm(
        console, page.get_by_role("button", name=f"Pause the node set {NODE_SET}"), "Pause", "new switches"
    )
    expect(page.locator("tbody .tag.sig", has_text="paused")).to_have_count(len(lab))
    assert [one["scope"] for one in console.call("GET", "pauses")] == ["node-set"]
    confirm(console, page.get_by_role("button", name=f"Resume the node set {NODE_SET}"), "Resume")
    expect(page.locator("tbody .tag.sig")).to_have_count(0)


def test_the_next_cycle_is_recorded_when_somebody_asks(console: Console) -> None:
    page = console.page
    console.submit("true", Name="makes a cycle", Cores="8000")
    console.expect_status("pending")
    before = console.call("GET", "recordings?limit=1")["results"]
    console.go("/status")
    confirm(
        console, page.get_by_role("button", name="Record the next cycle"), "Record it", "why does it wait"
    )
    newest = page.locator("tr", has=page.get_by_role("link", name=re.compile("Download recording"))).first
    last = f"Download recording {before[0]['id'] if before else 0}"
    expect(newest.get_by_role("link").first).not_to_have_attribute("aria-label", last)
    taken = console.call("GET", "recordings?limit=1")["results"][0]
    assert taken["id"] > (before[0]["id"] if before else 0)
    newest.get_by_role("link", name="what if").click()
    expect(page).to_have_url(re.compile(f"recording={taken['id']}"))


def test_a_node_is_drained_by_a_deadline_and_opened_again(console: Console, lab: dict[str, int]) -> None:
    page = console.page
    spec = {"name": "runs on", "queue": "training", "command": ["sleep", "600"], "resources": {"cores": 1}}
    labels = {"simulated": "true", "lab": "sliced"}
    job = console.call("POST", "jobs/submit", {**spec, "node_labels": labels})["id"]
    console.go(f"/jobs/{job}")
    console.expect_status("running")
    console.go(f"/nodes/{lab['sliced-01']}")
    until = datetime.fromisoformat(page.evaluate("new Date().toISOString()")) + timedelta(hours=10)
    page.get_by_role("button", name="Drain…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Without one, all running jobs may finish.")
    dialog.get_by_label(re.compile("^Deadline")).fill(until.strftime("%Y-%m-%dT%H:%M"))
    expect(dialog).to_contain_text("What still runs then is moved to other nodes.")
    dialog.get_by_label(REASON).fill("disk swap")
    dialog.get_by_role("button", name="Drain", exact=True).click()
    state = page.locator(".sheetstate")
    expect(state).to_contain_text(
        re.compile(r"Draining.*no new jobs; what still runs at .*reason: disk swap")
    )
    console.switch_language()
    expect(state).to_contain_text("排空中")
    console.switch_language()
    confirm(console, page.get_by_role("button", name="Open…"), "Open", "done")
    expect(state).to_contain_text("Ready")
    console.call("POST", f"jobs/{job}/cancel")


def test_slices_are_on_the_map_and_on_the_sheet_of_their_device(
    console: Console, lab: dict[str, int]
) -> None:
    page = console.page
    console.go("/map?find=sliced-01&table=true")
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page.locator(".maptable tbody tr")).to_have_count(1 + len(SLICES))
    console.go("/map?device=sliced-01.0")
    sheet = page.locator("aside.sheet")
    expect(sheet).to_contain_text("Jobs run on the slices; the whole device takes none beside them.")
    expect(sheet).to_contain_text("Slices of one memory group share their memory; it counts once.")
    rows = sheet.locator("section", has=page.get_by_role("heading", name="Slices")).locator("tbody tr")
    expect(rows).to_have_count(len(SLICES))
    expect(rows.filter(has_text="1g.10gb")).to_contain_text("9.8")
    rows.first.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(r"device=sliced-01\.0(/|%2F)1"))
    expect(sheet).to_contain_text("Slice of device 0")
    console.switch_language()
    assert KEY.findall(page.locator("body").inner_text()) == []
    console.switch_language()


def test_a_failed_device_shows_its_history_with_the_raw_evidence(
    console: Console, lab: dict[str, int]
) -> None:
    page = console.page
    console.go("/map?device=frail-01.0")
    sheet = page.locator("aside.sheet")
    expect(sheet.locator(".sheetstate")).to_contain_text("Quarantined", timeout=30_000)
    history = sheet.locator("section", has=page.get_by_role("heading", name="Health history"))
    expect(history.locator("li").first).to_contain_text(re.compile("Quarantined.*xid-79", re.DOTALL))
    expect(history.locator(".ev").first).to_be_hidden()
    history.get_by_text(re.compile("raw evidence")).first.click()
    expect(history.locator(".ev").first).to_have_text("simulated")
    expect(sheet.get_by_role("button", name=re.compile("^Release"))).to_be_disabled()
    console.switch_language()
    expect(sheet.get_by_role("heading", name="健康历史")).to_be_visible()
    console.switch_language()


def test_an_alert_is_acknowledged_silenced_and_heard_again(console: Console, lab: dict[str, int]) -> None:
    page = console.page
    console.go("/health")
    mine = page.locator("ul.alerts:not(.bare) > li", has_text="frail-01").filter(has_text="xid-79")
    mine.get_by_role("button", name="Acknowledge").click()
    expect(mine).to_contain_text("Acknowledged by admin")
    mine.get_by_role("button", name="Unacknowledge").click()
    expect(mine).not_to_contain_text("Acknowledged by")
    confirm(console, mine.get_by_role("button", name="Silence…"), "Silence", "replacement is ordered")
    silenced = page.locator("section.panel", has=page.get_by_role("heading", name="Silenced", exact=True))
    expect(silenced).to_contain_text("frail-01")
    silences = page.locator("section.panel", has=page.get_by_role("heading", name="Silences"))
    expect(silences).to_contain_text(re.compile("frail-01.*replacement is ordered", re.DOTALL))
    silences.get_by_role("button", name="End it").click()
    expect(silenced).to_have_count(0)
    expect(mine.get_by_role("button", name="Acknowledge")).to_be_visible()


def test_of_two_who_edit_labels_the_second_is_told(console: Console, lab: dict[str, int]) -> None:
    page, path = console.page, f"nodes/{lab['frail-01']}"
    console.go(f"/{path}")
    page.get_by_role("button", name="Edit…").click()
    lines = page.get_by_label("One key=value per line")
    lines.fill("rack=r-01")
    console.call("PUT", f"{path}/labels", {"labels": {"row": "7"}, "reason": "somebody else"})
    page.get_by_label(REASON).fill("moved")
    page.get_by_role("button", name="Save labels").click()
    expect(page.get_by_role("alert")).to_contain_text("changed since you read it")
    page.get_by_role("button", name="Leave it").click()
    page.get_by_role("button", name="Edit…").click()
    expect(lines).to_have_value("row=7")
    lines.fill("row=7\nrack=r-01")
    page.get_by_label(REASON).fill("moved")
    page.get_by_role("button", name="Save labels").click()
    expect(page.get_by_text(re.compile(r"rack=r-01.*row=7|row=7.*rack=r-01"))).to_be_visible()


def test_charts_of_cluster_and_node_keep_their_time_in_the_address(
    console: Console, lab: dict[str, int]
) -> None:
    page = console.page
    console.go("/")
    use = page.get_by_role("slider", name=re.compile("^Measured busy over time"))
    expect(use).to_be_visible()
    page.get_by_role("button", name="7 d").click()
    expect(page).to_have_url(re.compile("span=7d"))
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page.get_by_role("columnheader", name="Booked")).to_be_visible()
    console.go(f"/nodes/{lab['sliced-01']}")
    cores = page.get_by_role("slider", name=re.compile("^CPU cores in use over time"))
    expect(cores).to_have_attribute("aria-valuetext", re.compile("cores"), timeout=30_000)
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page.get_by_role("columnheader", name="P99").first).to_be_visible()
