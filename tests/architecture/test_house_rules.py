"""The clone obeys the house rules."""

from collections.abc import Callable

import pytest

from tests.architecture import files, habits, purity, sizes, writers
from tests.architecture.tree import CLONE, Tree


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(CLONE)


@pytest.mark.parametrize(
    "law",
    [sizes.findings, writers.findings, purity.findings, habits.findings],
    ids=["sizes", "writers", "purity", "habits"],
)
def test_law(tree: Tree, law: Callable[[Tree], list[str]]) -> None:
    found = law(tree)
    assert not found, "\n" + "\n".join(found)


def test_every_named_writer_writes(tree: Tree) -> None:
    """A rule about a module that is gone, or that writes no more, would guard nothing."""
    by_path = {module.path: module for module in tree.server}
    idle = [
        f"{path}: {fact.model}.{fact.column}"
        for fact in writers.FACTS
        for path in fact.writers
        if path not in by_path or not list(writers.writes(by_path[path], fact))
    ]
    assert idle == []


def test_locks_name_no_address() -> None:
    assert files.lock_findings(CLONE) == []


def test_migrations_are_named_and_linear() -> None:
    assert files.migration_findings(CLONE) == []


def test_nothing_belongs_to_one_machine() -> None:
    found = files.local_findings(CLONE, files.tracked_files(CLONE))
    assert not found, "\n" + "\n".join(found)


def test_the_rules_see_the_whole_tree(tree: Tree) -> None:
    seen = {module.path.split("/")[0] for module in tree.sources}
    assert {"controlplane", "inventory", "queues", "scheduling", "agent", "client", "tools"} <= seen
    assert tree.pure
