"""What people and logs put around a tool's lines changes nothing of what is read from them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.vendors import PARSERS
from agent.vendors.base import document, plain
from agent.vendors.reading.captures import tidy

SAMPLES = Path(__file__).parent / "samples"
READ = (
    "nvidia/table-535-one-dead.txt",
    "nvidia/report-text.txt",
    "nvidia/query-units.csv",
    "nvidia/p100-old-driver.xml",
    "nvidia/topo-blanks-empty-cells.txt",
    "nvidia/nvlink-two-down.txt",
    "ascend/910c-two-dies.txt",
    "amd/rocm-smi-nameless.json",
    "cpu/lscpu-two-sockets.txt",
)


def before_each(words: str) -> Callable[[str], str]:
    """The words before every line."""
    return lambda text: "\n".join(words + line for line in text.split("\n"))


def with_stamps(text: str) -> str:
    lines = enumerate(text.split("\n"))
    return "\n".join(f"2031-02-03T04:{at // 60 % 60:02}:{at % 60:02}.5Z {line}" for at, line in lines)


def in_a_message(text: str) -> str:
    indented = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"This is what my box says:\n\n{indented}\n\nThank you."


PASTED: dict[str, Callable[[str], str]] = {
    "stamps": with_stamps,
    "clock": before_each("[04:05:06] "),
    "syslog": before_each("Feb  3 04:05:06 rack7-n2 watch[812]: "),
    "container log": before_each("2031-02-03T04:05:06.123456789Z stdout F "),
    "host": before_each("rack7-n2: "),
    "host in brackets": before_each("[rack7-n2] "),
    "quote": before_each("> "),
    "quoted quote": before_each("> > "),
    "comment": before_each("# "),
    "comment in a block": before_each(" * "),
    "trimmed quote": lambda text: "\n".join(f"> {line}".rstrip() for line in text.split("\n")),
    "indented": before_each("    "),
    "tab": before_each("\t"),
    "message": in_a_message,
    "no-break": lambda text: text.replace("  ", "\u00a0 "),
    "full-width": lambda text: text.replace("  ", " \u3000"),
    "double": lambda text: text.replace("\n", "\n\n"),
}


def conclusions(vendor: str, text: str) -> dict[str, Any]:
    """The document without its sentences, which quote the text."""
    found: dict[str, Any] = json.loads(json.dumps(document(PARSERS[vendor](text))))
    del found["warnings"]
    for device in found["devices"]:
        device["reasons"] = [reason.partition(":")[0] for reason in device["reasons"]]
    return found


@pytest.mark.parametrize("paste", PASTED)
@pytest.mark.parametrize("name", READ)
def test_nothing_is_lost_by_pasting_and_logging(name: str, paste: str) -> None:
    vendor, text = name.partition("/")[0], (SAMPLES / name).read_text()
    expected = conclusions(vendor, text)
    assert expected["devices"] or expected["links"] or expected["numa"]
    assert conclusions(vendor, PASTED[paste](text)) == expected


@pytest.mark.parametrize("path", sorted((SAMPLES / "nvidia").glob("[!p]*")), ids=lambda path: path.name)
def test_an_output_as_it_is_stays_as_it_is(path: Path) -> None:
    text = path.read_text()
    assert tidy(text) == plain(text)


def test_a_commented_table_in_a_log_with_other_lines() -> None:
    text = (SAMPLES / "nvidia/pasted-table-comments.txt").read_text()
    (device,) = conclusions("nvidia", text)["devices"]
    assert (device["memory_total_mib"], device["temperature_c"]) == (2004, 47)
    stages = text.replace("#|", "# [before] >> |").replace("#+", "# [before] >> +")
    assert conclusions("nvidia", stages)["devices"] == [device]


def test_one_line_of_a_log_is_read_as_well() -> None:
    bare = '[{"gpu": 0}]'
    for prefix in ("2031-02-03T04:05:06Z ", "rack7-n2: ", "# ", "[rack7-n2] "):
        assert tidy(prefix + bare) == bare
    complaint = "Unable to determine the device handle for GPU 0000:8A:00.0: GPU is lost."
    assert tidy(f"[rack7-n2] {complaint}") == complaint


def test_what_looks_like_a_prefix_and_is_the_output_stays() -> None:
    for text in (
        "NVRM: Xid (PCI:0000:17:00): 79\n" * 4,
        "ERROR: GPU[0] cannot be read\n" * 4,
        "GPU 0: one\nGPU 1: two\nGPU 2: three\n",
        "# a comment\n# CPU,Core,Socket\n0,0,0\n1,1,0\n",
        "head: 1\n    child: 2\n    child: 3\n",
        "[N/A], 1\n[N/A], 2\n[N/A], 3\n",
    ):
        assert tidy(text) == text


def test_escaped_documents_are_read() -> None:
    text = (SAMPLES / "nvidia/p100-old-driver.xml").read_text()
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert conclusions("nvidia", escaped) == conclusions("nvidia", text)
    half = text.replace("\t", "&nbsp; &nbsp; ").replace(">", "&gt;")
    assert conclusions("nvidia", half) == conclusions("nvidia", text)
