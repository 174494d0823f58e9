"""No damaged output raises, and none makes a healthy device out of an error."""

import os
from pathlib import Path

import pytest

from tests.agent.mutations import Sample, faults, mutants, read_sample, sample_paths

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
