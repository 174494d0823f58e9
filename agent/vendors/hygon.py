"""Hygon devices: hy-smi, and the rocm-smi of its toolkit, which speak rocm-smi's language with other names."""

from __future__ import annotations

from agent.protocol import CheckResult, Vendor
from agent.vendors.base import plain
from agent.vendors.command import CommandProbe, Tool
from agent.vendors.reading import rocm
from agent.vendors.reading.complaints import add_complaints, nothing_found, with_damage
from agent.vendors.reading.documents import find_json, looks_cut
from agent.vendors.reading.findings import COMMON_RULES, Capture, Table, merge, rule

TABLE = Table(
    rules=(
        rule(r"^warning$", CheckResult.FAILED, "error-state"),
        rule(r"hydcu.*(reset|hang)|ring \S+ timeout", CheckResult.FAILED, "driver-timeout"),
        *COMMON_RULES,
    ),
    good_states=frozenset({"healthy", "ok", "normal"}),
    too_hot_c=105,
)
TOOLS = ("hy-smi", "rocm-smi")
FOLDERS = ("/opt/hyhal/bin", "/usr/local/hyhal/bin", "/opt/dtk/bin")
MARKS = ("sys/module/hydcu", "dev/mkfd")
QUESTIONS = (
    (
        "--showuse",
        "--showmeminfo",
        "vram",
        "--showtemp",
        "--showpower",
        "--showmaxpower",
        "--showbus",
        "--showuniqueid",
        "--showproductname",
        "--json",
    ),
    ("--healthcheck",),
    ("--showtoponuma",),
    ("--showdriverversion",),
    ("--showmemavailable",),
)


def collect(captured: str) -> Capture:
    """All that is said in this text; "available" memory is the size, not what is free."""
    clean = plain(captured)
    documents, rest = find_json(clean)
    captures = [rocm.read_document(document) for document in documents if isinstance(document, dict)]
    captures += [rocm.read_lines(rest), rocm.read_table(rest), rocm.read_csv(rest)]
    lines, asides = rocm.split_asides(rocm.loose(rest), TABLE)
    capture = merge([add_complaints(merge(captures), lines, TABLE), asides])
    return nothing_found(with_damage(capture, looks_cut(rest), tool="hy-smi"), clean, tool="hy-smi")


class HygonProbe(CommandProbe):
    """Live and captured output."""

    tool = Tool(
        Vendor.HYGON,
        TABLE,
        collect,
        names=TOOLS,
        questions=QUESTIONS,
        marks=MARKS,
        folders=FOLDERS,
        # A rocm-smi alone is AMD's.
        own=1,
    )
