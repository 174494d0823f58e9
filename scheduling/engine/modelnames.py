"""The one rule by which a requested accelerator name matches a reported model name.

Both names are cut into lower-case words at everything that is not a letter or a digit. Then
1. every requested word that is no maker's word must be a whole word of the reported name (or up to three neighbouring
   words joined, on either side: "mlu370x8" is "MLU370-X8"); never a part of a word, so "a10" is not A100 and "v100"
   is not V1000;
2. a maker's word ("nvidia", "huawei", "ascend") is satisfied when the reported name shows that maker, or shows no
   maker at all; a name made only of maker's words needs a reported name that does show the maker ("huawei-ascend"
   takes "Ascend 910B3" and "910B3");
3. a slice of a partitioned device ("... MIG 1g.10gb", "... vNPU vir04", "... slice 2") matches only a name that says
   "mig", "vnpu" or "slice" too. An unknown model matches no name.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z0-9]+")
_JOINED_AT_MOST = 3
_SLICE_WORDS = frozenset({"mig", "vnpu", "slice"})
_MAKER_WORDS = {
    "nvidia": "nvidia",
    "tesla": "nvidia",
    "geforce": "nvidia",
    "quadro": "nvidia",
    "huawei": "huawei",
    "ascend": "huawei",
    "atlas": "huawei",
    "amd": "amd",
    "instinct": "amd",
    "radeon": "amd",
    "cambricon": "cambricon",
    "mlu": "cambricon",
    "hygon": "hygon",
    "dcu": "hygon",
    "mthreads": "mthreads",
    "moore": "mthreads",
    "threads": "mthreads",
    "iluvatar": "iluvatar",
    "metax": "metax",
    "tenstorrent": "tenstorrent",
}
_MAKER_PATTERNS = (
    (re.compile(r"(ascend)?(310|910)(p|pro|a|b|c)?[0-9]?"), "huawei"),
    (re.compile(r"mlu[0-9]+[a-z0-9]*"), "cambricon"),
    (re.compile(r"(mi|gfx)[0-9]+[a-z]*"), "amd"),
    (re.compile(r"mtt"), "mthreads"),
    (re.compile(r"mx[cn][0-9]+[a-z]*"), "metax"),
    (re.compile(r"(rtx|gtx)[0-9]*"), "nvidia"),
)


def matches(requested: str, reported: str | None) -> bool:
    """Whether a device that reports this model may serve a job that names `requested`."""
    if reported is None:
        return False
    asked, shown = _words(requested), _words(reported)
    if not asked or _SLICE_WORDS.intersection(shown).difference(asked):
        return False
    shown_makers = {maker for maker in map(_maker, shown) if maker}
    asked_makers = {_MAKER_WORDS[word] for word in asked if word in _MAKER_WORDS}
    if asked_makers and shown_makers and not asked_makers & shown_makers:
        return False
    models = [word for word in asked if word not in _MAKER_WORDS]
    if not models:
        return bool(asked_makers & shown_makers)
    return _covered(models, _joined(shown))


def _words(name: str) -> list[str]:
    return _WORD.findall(name.lower())


def _maker(word: str) -> str | None:
    if word in _MAKER_WORDS:
        return _MAKER_WORDS[word]
    return next((maker for pattern, maker in _MAKER_PATTERNS if pattern.fullmatch(word)), None)


def _joined(words: list[str]) -> set[str]:
    spans = range(1, _JOINED_AT_MOST + 1)
    return {"".join(words[i : i + span]) for span in spans for i in range(len(words) - span + 1)}


def _covered(words: list[str], known: set[str]) -> bool:
    if not words:
        return True
    spans = range(1, min(_JOINED_AT_MOST, len(words)) + 1)
    return any("".join(words[:span]) in known and _covered(words[span:], known) for span in spans)
