"""A node without an agent is added over SSH in the console, its host key compared, changed, confirmed and removed."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from inventory.remote import keys
from tests.e2e.console import Console
from tests.e2e.test_pages import KEY
from tests.inventory.sshd import SSHD, Machine, nvidia_smi

LOOKS_MS = 45_000


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine that lets nobody in yet."""
    if (SSHD is None or shutil.which("ssh-keygen") is None) and not os.environ.get("CI"):
        pytest.skip("no sshd here: apt-get install openssh-server")
    found = Machine(tmp_path / "machine", key="browser-test")
    found.be("b0b0ca7e" * 4, boot="22222222-aaaa-4bbb-8ccc-000000000002")
    found.tool("nvidia-smi", nvidia_smi(0))
    found.start()
    yield found
    found.stop()


def fingerprint(machine: Machine) -> str:
    return keys.fingerprint(keys.parse_host_key(machine.host_key))


def add(console: Console, machine: Machine) -> Locator:
    """Through the dialog; the row of the new entry."""
    page, way = console.page, machine.way
    console.go("/nodes")
    page.get_by_role("button", name="Watch a node over SSH").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("The server's SSH key").select_option(label="Make a new one…")
    dialog.get_by_label("Name of the new key").fill(machine.key)
    dialog.get_by_role("button", name="Make the key").click()
    line = dialog.locator("pre", has_text="ssh-ed25519")
    expect(line).to_be_visible()
    machine.accept(line.inner_text())
    for label, value in (("Address", way.address), ("Port", str(way.port)), ("User", way.user)):
        dialog.get_by_label(label, exact=True).fill(value)
    dialog.get_by_role("button", name="Read its host key").click()
    expect(dialog.locator("[data-fingerprint]")).to_have_text(fingerprint(machine))
    dialog.get_by_role("button", name="They are the same: watch this node").click()
    expect(dialog).to_have_count(0)
    return page.locator("tr", has_text=f"{way.user}@{way.address}:{way.port}")


def test_a_node_is_watched_over_ssh_and_a_new_host_key_is_believed_only_when_compared(
    console: Console, machine: Machine
) -> None:
    page = console.page
    row = add(console, machine)
    expect(row).to_contain_text(re.compile("fine, .* ago"), timeout=LOOKS_MS)
    node = row.get_by_role("link")
    number = re.sub(r"\D", "", node.inner_text())
    console.switch_language()
    expect(row).to_contain_text("正常")
    assert KEY.findall(page.locator("body").inner_text()) == []
    console.switch_language()
    machine.stop()
    machine.host_key = machine.new_host_key()
    machine.start()
    expect(row).to_contain_text("another host key", timeout=LOOKS_MS)
    row.get_by_role("button", name="Look at its new key…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("[data-fingerprint]")).to_have_text(fingerprint(machine))
    dialog.get_by_role("button", name="They are the same: believe the new key").click()
    expect(dialog).to_have_count(0)
    expect(row).to_contain_text(re.compile("fine, .* ago"), timeout=LOOKS_MS)
    node.click()
    expect(page.locator("main")).to_contain_text("NVIDIA L40S")
    console.go("/nodes")
    row.get_by_role("button", name="Remove…").click()
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(row).to_have_count(0)
    console.call("POST", f"nodes/{number}/maintenance", {"reason": "browser test is over"})
