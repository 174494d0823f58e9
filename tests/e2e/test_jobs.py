"""From the submit form to the exit code, in the browser."""

import re

from playwright.sync_api import expect

from tests.e2e.console import Console

PROOF = "python3 -c \"import os; print('cores', sorted(os.sched_getaffinity(0))); print('uid', os.getuid())\""


def test_a_job_is_submitted_runs_and_shows_its_log(console: Console) -> None:
    page = console.page
    console.submit(PROOF, Name="proof of cores")
    console.expect_status("succeeded")
    log = page.locator("pre.log")
    expect(log).to_contain_text(re.compile(r"cores \[\d+\]\s+uid \d+"))
    expect(page.locator(".why")).to_contain_text("It succeeded.")
    booked = page.locator("dl.facts dd").filter(has_text="CPU").first.inner_text()
    core = re.search(r"cores \[(\d+)\]", log.inner_text())
    assert core is not None and f"CPU\u202f{core[1]})" in booked
    expect(page.locator(".timeline li")).not_to_have_count(0)
    expect(page.get_by_role("heading", name="Why there")).to_be_visible()


def test_a_log_grows_while_it_is_watched(console: Console) -> None:
    page = console.page
    console.submit("sh -c 'echo first; sleep 3; echo last'")
    expect(page.locator("pre.log")).to_contain_text("first", timeout=60_000)
    expect(page.locator("pre.log")).to_contain_text("last")
    console.expect_status("succeeded")


def test_a_log_is_searched_and_a_match_shown_where_it_stands(console: Console) -> None:
    page = console.page
    console.submit("sh -c 'seq -f step-%g 3000; echo Loss is NaN; echo done'")
    console.expect_status("succeeded")
    box = page.get_by_role("searchbox", name="Search this log")
    box.fill("nan")
    box.press("Enter")
    expect(page.get_by_text("1 line holds this text.")).to_be_visible()
    page.get_by_role("button", name="Show line 3,001 in the log").click()
    mark = page.locator("pre.log mark")
    expect(mark).to_have_text("Loss is NaN")
    expect(mark).to_be_in_viewport()
    page.get_by_role("button", name="Back to the matches").click()
    page.get_by_label("match case").check()
    box.press("Enter")
    expect(page.get_by_text("No line holds this text.")).to_be_visible()


def test_a_failing_command_says_its_exit_code(console: Console) -> None:
    console.submit("sh -c 'echo before the end; exit 3'")
    console.expect_status("failed")
    expect(console.page.locator(".why")).to_contain_text("exit code 3")
    expect(console.page.locator("pre.log")).to_contain_text("before the end")


def test_the_dry_run_says_where_it_would_go_and_submits_nothing(console: Console) -> None:
    page = console.page
    console.fill_job("sleep 1", Name="never submitted")
    page.get_by_role("button", name="Dry run").click()
    expect(page.locator(".why")).to_contain_text("It would start now on")
    expect(page.get_by_text("headrace submit")).to_be_visible()
    console.go("/jobs?search=never%20submitted")
    expect(page.get_by_text("No job matches these filters.")).to_be_visible()


def test_a_job_that_cannot_start_says_why_and_can_be_cancelled(console: Console) -> None:
    page = console.page
    console.submit("sleep 1", Name="asks for too much", Cores="8000")
    console.expect_status("pending")
    expect(page.get_by_role("heading", name="Why it waits")).to_be_visible()
    expect(page.locator(".why")).not_to_have_text("No cycle has looked at this job yet.")
    expect(page.get_by_role("img", name=re.compile("Nodes left after each"))).to_be_visible()
    page.get_by_role("button", name="Cancel job…").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
    console.expect_status("cancelled")


def test_a_running_job_is_cancelled(console: Console) -> None:
    console.submit("sleep 600", Name="long sleep")
    console.expect_status("running")
    console.page.get_by_role("button", name="Cancel job…").click()
    console.page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
    console.expect_status("cancelled")


def test_a_bad_number_is_told_at_its_field(console: Console) -> None:
    page = console.page
    console.fill_job("sleep 1", Host_memory="12 parsecs")
    page.get_by_role("button", name="Dry run").click()
    field = page.get_by_label("Host memory")
    expect(field).to_have_attribute("aria-invalid", "true")


def test_a_missing_command_is_told_before_anything_is_sent(console: Console) -> None:
    console.go("/jobs/new")
    console.page.get_by_role("button", name="Submit", exact=True).click()
    expect(console.page.get_by_text("This is needed.")).to_be_visible()


def test_the_table_changes_by_itself(console: Console) -> None:
    page = console.page
    console.go("/jobs?search=live%20row")
    expect(page.get_by_text("No job matches these filters.")).to_be_visible()
    other = page.context.new_page()
    Console(other, console.stack).submit("true", Name="live row")
    other.close()
    expect(page.get_by_role("link", name="live row")).to_be_visible()
    expect(page.locator("tr", has_text="live row").locator("[data-status=succeeded]")).to_be_visible(
        timeout=60_000
    )


def test_a_clone_starts_from_the_same_request(console: Console) -> None:
    page = console.page
    console.submit("sh -c 'echo original'", Name="original")
    page.get_by_role("link", name="Clone").click()
    expect(page.get_by_label("Command")).to_have_value("sh -c 'echo original'")
    expect(page.get_by_label("Name", exact=True)).to_have_value("original")
