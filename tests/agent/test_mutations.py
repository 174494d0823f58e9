"""No damaged output raises, and none makes a healthy device out of an error."""

import os
import time
from pathlib import Path

import pytest

from agent.vendors import PARSERS
from agent.vendors.base import Readout
from agent.vendors.reading.documents import find_json
from agent.vendors.worker import _answer
from tests.agent.mutations import Sample, devices_of, faults, mutants, read_sample, sample_paths

PATHS = sample_paths()
CASES = int(os.environ.get("HEADRACE_MUTATIONS", "20000"))
SHOWN = 3


def broken_law(sample: Sample, count: int) -> list[str]:
    """What went wrong, with the damaged text."""
    found = []
    for mutant in mutants(sample, count):
        try:
            problems = faults(sample, mutant)
        except Exception as error:
            problems = [f"{type(error).__name__}: {error}"]
        found += [f"{'; '.join(problems)}\n{mutant.text}\n" for _ in problems[:1]]
        if len(found) >= SHOWN:
            break
    return found


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_damage_raises_nothing_and_heals_nothing(path: Path) -> None:
    found = broken_law(read_sample(path), -(-CASES // len(PATHS)))
    assert not found, "\n".join(found)


def test_every_damage_is_the_same_every_time() -> None:
    sample = read_sample(PATHS[0])
    first, second = ([mutant.text for mutant in mutants(sample, 40)] for _ in range(2))
    assert first == second and len(set(first)) > 20


# Of what a stuck terminal, a binary or a broken pipe leaves behind; every one is repeated to a long line.
GARBAGE = ("x", " ", "9", "| ", "x ", ": ", "9/", "a(", "<", "<log>", "[", "\\", "=", ",", "GPU 0: ")
LINE_CHARS, LONGEST_LINE_CHARS = 8000, 1 << 17
MOST_CPU_S = 3.0


@pytest.mark.parametrize("vendor", sorted(PARSERS))
def test_long_lines_of_garbage_cost_little(vendor: str) -> None:
    for garbage in GARBAGE:
        for chars, lines in ((LINE_CHARS, 1), (LONGEST_LINE_CHARS, 1)):
            text = ((garbage * chars)[:chars] + "!\n") * lines
            began_s = time.process_time()
            devices_of(vendor, text)
            took_s = time.process_time() - began_s
            assert took_s < MOST_CPU_S, f"{lines} x {chars} of {garbage!r}: {took_s:.1f} s"


def test_half_a_character_in_a_document_is_a_question_mark() -> None:
    (found,), rest = find_json('{"a\\udc00": "x\\ud800", "b": "\\ud83d\\ude00"}')
    assert (found, rest) == ({"a?": "x?", "b": "\U0001f600"}, "")


def test_a_probe_that_says_what_no_message_can_hold_is_a_failed_probe() -> None:
    class Odd:
        def read(self) -> Readout:
            return Readout(vendor="\ud800")

    assert b"UnicodeEncodeError" in _answer(Odd())  # type: ignore[arg-type]
