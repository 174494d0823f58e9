"""What tests of reports share."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.agentapi import report


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the reports that were not quiet."""
    taken: list[int] = []
    usual = report._observe

    def counted(node_id: int, *arguments: Any) -> Any:
        taken.append(node_id)
        return usual(node_id, *arguments)

    monkeypatch.setattr(report, "_observe", counted)
    return taken
