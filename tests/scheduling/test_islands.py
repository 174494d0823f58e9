"""Devices that hang together by direct links."""

from scheduling.engine.types import LinkInfo
from scheduling.islands import islands


def links(*pairs: tuple[int, int], kind: str = "HCCS") -> list[LinkInfo]:
    return [LinkInfo(a, b, kind) for a, b in pairs]


def test_an_island_is_all_that_direct_links_join_named_by_its_lowest_device():
    assert islands(links((7, 8), (5, 6), (6, 7), (11, 12))) == {5: 5, 6: 5, 7: 5, 8: 5, 11: 11, 12: 11}


def test_paths_over_pcie_and_unknown_ones_join_nothing():
    for kind in ("PIX", "pxb", "PIB", "PCIE", "PHB", "NODE", "SYS", "new-thing"):
        assert islands(links((1, 2), kind=kind)) == {}
    assert islands([*links((1, 2), kind="NV"), *links((2, 3), kind="SYS")]) == {1: 1, 2: 1}


def test_loops_and_repeated_links_change_nothing():
    assert islands(links((1, 2), (2, 1), (2, 3), (3, 1), (4, 4))) == {1: 1, 2: 1, 3: 1}
