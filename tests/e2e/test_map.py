"""The resource map: what it shows, how it is narrowed, and the sheets that open from it; simulated nodes."""

import re

from playwright.sync_api import expect

from tests.e2e.console import Console


def test_the_address_holds_the_view(console: Console, simulated: tuple[str, ...]) -> None:
    page = console.page
    console.go("/map")
    expect(page.locator("canvas.big").first).to_have_attribute("aria-label", re.compile(r"^Map of \d+ nodes"))
    page.get_by_role("button", name="Health", exact=True).click()
    page.get_by_label("Group by").select_option("rack")
    page.get_by_label("Filter by name").fill(simulated[0])
    expect(page).to_have_url(re.compile(rf"mode=health.*by=rack.*find={simulated[0]}"))
    expect(page.get_by_text("1 node", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_label("Filter by name")).to_have_value(simulated[0])
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page.locator(".maptable tbody tr")).to_have_count(8)


def test_the_keyboard_reaches_devices_and_leaves_their_sheets(
    console: Console, simulated: tuple[str, ...]
) -> None:
    page = console.page
    console.go(f"/map?find={simulated[0]}&node={simulated[0]}")
    expect(page.locator("aside.sheet h1")).to_have_text(simulated[0])
    page.locator("canvas.big").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("0")
    expect(page.locator("aside.sheet").get_by_text("Readings over time")).to_be_visible()
    page.locator("aside.sheet").press("Escape")
    expect(page.locator("aside.sheet")).to_have_count(0)
    expect(page.locator("canvas.big").first).to_be_focused()


def test_charts_of_a_device_are_read_by_keys_and_as_tables(
    console: Console, simulated: tuple[str, ...]
) -> None:
    page = console.page
    console.go(f"/map?device={simulated[0]}.0")
    sheet = page.locator("aside.sheet")
    chart = sheet.get_by_role("slider", name=re.compile("^In use over time"))
    expect(chart).to_have_attribute("aria-valuetext", re.compile(r"%"), timeout=30_000)
    newest = int(chart.get_attribute("aria-valuenow") or "0")
    chart.press("ArrowLeft")
    expect(chart).to_have_attribute("aria-valuenow", str(newest - 1))
    sheet.get_by_role("button", name="6 h").click()
    expect(page).to_have_url(re.compile("span=6h"))
    sheet.get_by_role("button", name="Table", exact=True).click()
    expect(sheet.get_by_role("columnheader", name="P99").first).to_be_visible()
    expect(page).to_have_url(re.compile("charts=table"))


def test_an_operator_closes_and_opens_a_device_and_labels_its_node(
    console: Console, simulated: tuple[str, ...]
) -> None:
    page = console.page
    console.go(f"/map?device={simulated[1]}.1")
    sheet = page.locator("aside.sheet")
    for action, after in (("Cordon device", "Open device"), ("Open device", "Cordon device")):
        sheet.get_by_role("button", name=re.compile(f"^{action}")).click()
        page.get_by_label("Reason, kept in the audit trail").fill("fan is replaced")
        page.get_by_role("dialog").get_by_role("button", name=action, exact=True).click()
        expect(sheet.get_by_role("button", name=re.compile(f"^{after}"))).to_be_visible()
    node = console.call("GET", f"nodes?search={simulated[1]}")["results"][0]["id"]
    console.go(f"/nodes/{node}")
    page.get_by_role("button", name="Edit…").click()
    page.get_by_label("One key=value per line").fill("rack=r-07")
    page.get_by_label("Reason, kept in the audit trail").fill("moved")
    page.get_by_role("button", name="Save labels").click()
    expect(page.get_by_text("rack=r-07")).to_be_visible()
