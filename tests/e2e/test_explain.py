"""Why a job waits, why it went where it is, what a device could take: in the browser, in both languages."""

import re
from datetime import datetime
from typing import Any

from playwright.sync_api import expect

from tests.e2e.console import Console
from tests.e2e.test_pages import KEY, sideways_px

CHINESE = re.compile("[\u4e00-\u9fff]")
ONE_PIECE: dict[str, Any] = {
    "devices": 1,
    "device_memory": "40 GiB",
    "shareable": True,
    "splittable": False,
    "cores": 1,
}
FULL_NODE: dict[str, Any] = {"devices": 8, "device_memory": "60 GiB", "shareable": True, "cores": 1}


def simulated_job(
    console: Console, name: str, *, seconds: int = 600, limit_s: int | None = None, **resources: Any
) -> int:
    """A job that only simulated nodes take; its number."""
    spec = {
        "name": name,
        "queue": "training",
        "command": ["sleep", str(seconds)],
        "node_labels": {"simulated": "true"},
        "time_limit_s": limit_s,
        "resources": resources,
    }
    job: int = console.call("POST", "jobs/submit", spec)["id"]
    return job


def test_a_waiting_job_says_why_in_both_languages(console: Console) -> None:
    page = console.page
    console.submit("sleep 1", Name="wants the moon", Cores="8000")
    console.expect_status("pending")
    expect(page.locator(".why")).to_contain_text(re.compile(r"8,000 cores"))
    expect(page.get_by_role("img", name=re.compile("What the nearest nodes have"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Nodes left after each"))).to_be_visible()
    for heading in ("Why it waits", "Smallest change that helps", "Estimated start"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    console.switch_language()
    expect(page.locator(".why")).to_have_text(CHINESE)
    for heading in ("为什么在等", "最小的有效改动", "预计开始", "逐级筛选"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert KEY.findall(page.locator("body").inner_text()) == []
    console.switch_language()


def test_the_smallest_change_is_applied_to_a_clone(console: Console) -> None:
    page = console.page
    console.submit("sleep 1", Name="asks less the second time", Cores="8000")
    console.expect_status("pending")
    page.get_by_role("button", name="Apply to a clone").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("asks less the second time")
    expect(page.get_by_label("Cores", exact=True)).not_to_have_value("8000")


def test_memory_in_pieces_is_drawn_with_its_arithmetic(console: Console, simulated: tuple[str, ...]) -> None:
    page = console.page
    jobs = [simulated_job(console, f"holds {name}", **FULL_NODE) for name in simulated]
    try:
        for holder in jobs:
            console.go(f"/jobs/{holder}")
            console.expect_status("running")
        jobs.append(simulated_job(console, "needs one piece", **ONE_PIECE))
        console.go(f"/jobs/{jobs[-1]}")
        expect(page.locator(".why")).to_contain_text("This job needs 40\u202fGiB on one device.")
        picture = page.get_by_role("img", name=re.compile("the job needs .* in one piece"))
        expect(picture).to_contain_text("This job")
        expect(picture).to_contain_text("short")
    finally:
        for job in jobs:
            console.call("POST", f"jobs/{job}/cancel")
    for job in jobs:
        console.go(f"/jobs/{job}")
        console.expect_status("cancelled")


def test_an_estimated_start_is_shown_and_comes_true(console: Console, simulated: tuple[str, ...]) -> None:
    """One of the two nodes is taken for long, the other for half a minute by a job that says so."""
    page = console.page
    long, *short = (
        simulated_job(console, f"fills {name}", limit_s=limit_s, seconds=seconds, devices=8, cores=1)
        for name, limit_s, seconds in zip(simulated, (3600, 40), (3000, 40), strict=True)
    )
    jobs = [long, *short]
    try:
        for job in jobs:
            console.go(f"/jobs/{job}")
            console.expect_status("running")
        jobs.append(simulated_job(console, "waits for an end", devices=1, cores=1))
        waits = jobs[-1]
        console.go(f"/jobs/{waits}")
        estimate = page.locator(".estimate")
        expect(estimate).to_contain_text("in ")
        expect(estimate.locator(".after")).to_contain_text(f"fills {simulated[1]}")
        told = console.call("GET", f"jobs/{waits}/explain")["estimate"]
        assert told["basis"] == "time-limit" and [one["job"] for one in told["after_jobs"]] == short
        console.expect_status("running")
        expect(estimate).to_have_count(0)
        started = datetime.fromisoformat(console.call("GET", f"jobs/{waits}")["started_at"])
        assert abs((started - datetime.fromisoformat(told["at"])).total_seconds()) < 30
    finally:
        for job in jobs:
            console.call("POST", f"jobs/{job}/cancel")


def test_the_score_sheet_explains_every_term_in_both_languages(
    console: Console, simulated: tuple[str, ...]
) -> None:
    page = console.page
    job = simulated_job(console, "scored", devices=1, cores=2)
    console.go(f"/jobs/{job}")
    console.expect_status("running")
    sheet = page.locator(".sheet-table")
    expect(page.get_by_role("heading", name="Why there")).to_be_visible()
    expect(page.locator(".lead")).to_contain_text(re.compile("2 nodes that could take it"))
    for name in simulated:
        expect(sheet.get_by_role("columnheader", name=name)).to_be_visible()
    expect(sheet).to_contain_text("How closely the device suits the request")
    expect(sheet.locator("tbody tr")).not_to_have_count(0)
    console.switch_language()
    expect(page.get_by_role("heading", name="为什么在那里")).to_be_visible()
    expect(sheet).to_contain_text("设备与请求是否贴合")
    assert KEY.findall(page.locator("body").inner_text()) == []
    page.set_viewport_size({"width": 390, "height": 900})
    assert sideways_px(page) <= 0
    page.set_viewport_size({"width": 1440, "height": 900})
    console.switch_language()
    console.call("POST", f"jobs/{job}/cancel")


def test_a_device_says_what_it_could_run(console: Console, simulated: tuple[str, ...]) -> None:
    page = console.page
    console.go(f"/map?device={simulated[0]}.0")
    sheet = page.get_by_role("complementary")
    expect(sheet.get_by_role("heading", name="What could run here")).to_be_visible()
    expect(sheet).to_contain_text(re.compile(r"largest request, alone\s*1 × 8\d\s?GiB"))
    expect(sheet).to_contain_text("waiting jobs that fit")
    node = console.call("GET", f"nodes?search={simulated[0]}")["results"][0]
    device = console.call("GET", f"devices?node={node['id']}")["results"][0]
    console.call("POST", f"devices/{device['id']}/cordon", {"reason": "browser test"})
    expect(sheet).to_contain_text("Nothing now. An operator closed the device.")
    console.switch_language()
    expect(sheet).to_contain_text("操作员关闭了该设备。")
    console.switch_language()
    console.call("POST", f"devices/{device['id']}/uncordon", {"reason": "browser test"})
