"""Every reason that jobs may wait for has its words in the console, in both languages."""

import pytest

from scheduling.engine.types import ReasonCode
from tools.console import ROOT

OTHERS = ("paused", "queue-paused", "not-looked-at", "no-nodes")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_reason_has_words(language):
    text = (ROOT / f"frontend/src/features/why/i18n.{language}.ts").read_text()
    words = text[text.index("waitsFor: {") :]
    known = {line.strip().split(":")[0].strip('"') for line in words.splitlines()}
    assert not {*ReasonCode, *OTHERS} - known
