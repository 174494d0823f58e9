"""What captured texts go through before a vendor's parser: what pasting and logging put around the tool's lines."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from agent.vendors.base import Readout, plain

MOST_PREFIXES = 5
FEWEST_LINES = 3
_BLANKS = {ord(mark): " " for mark in "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"}
_NOTHING = dict.fromkeys(map(ord, "\u200b\u2060"))
_BREAK = re.compile(r"<br\s?/?>", re.IGNORECASE)
_TAG = re.compile(r"</?(?:p|pre|code|div|span)(?:\s[^<>\n]{0,80})?>", re.IGNORECASE)
_ESCAPED = re.compile(r"&(?:lt|quot);")
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_DATE = r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d )"
_TIME = rf"\[?(?:{_DATE})?{_CLOCK}(?: ?Z| ?[+-]\d\d:?\d\d)?\]?"
# What may stand before every line: of any wording, and with the same words on all lines.
_VARYING = (
    re.compile(r">{1,3}(?: |$|(?=[+|>]))"),
    re.compile(r"#+(?: |$|(?=[+|#]))"),
    re.compile(r"\*+(?: |$|(?=[+|]))"),
    re.compile(rf"{_TIME}(?::? |$)"),
    re.compile(r"\[?(?:INFO|DEBUG|NOTICE)\]?(?::| -|) "),
)
_CONSTANT = (
    re.compile(r"\[[^\]|]*[A-Za-z][^\]|]*\](?::? |$)(?:>{1,3} ?)?"),
    re.compile(r"(?!NVRM|[A-Z]+:)[\w.-]*[A-Za-z][\w.-]*(?: [\w./-]+\[\d+\])?:(?: |$)"),
    re.compile(r"[\w.-]+ [\w./-]+(?:\[\d+\])?:(?: |$)"),
    re.compile(r"std(?:out|err) [FP] "),
)
_FRAMED = re.compile(
    rf"((?:(?:>{{1,3}}|[#*]|//|\[[^\]|]{{1,40}}\]:?|{_TIME}|[\w.-]{{1,64}}(?:\[\d+\])?:) ?){{1,5}})(?=[|]|\+[-=])"
)
_DOCUMENT = re.compile(
    rf"^(?:(?:{_TIME}|std(?:out|err) [FP]|[>#*]+|[\w.-]{{1,64}}(?:\[\d+\])?:"
    rf"|\[[^\]]*\]|[\w.-]+(?= [\w.-]+\[\d+\]:)) ){{1,5}}(?=[{{<]|\[{{)"
)
_STAMP = re.compile(r"^\[[^\]|]*\d[^\]|]*\]:? (?=[A-Za-z])")
_KERNEL = re.compile(r"\bNVRM\b")
# Lines that may stand unindented beside an indented capture: rules, fences, prompts, prose.
_NEUTRAL = re.compile(
    r"[=~`*-]{3,}|\.\. |\$ |>>> |\w[\w.-]*@[^|]*[#$]|(?:Every \d|Script (?:started|done) |[A-Z][a-z]{2} [A-Z][a-z]{2} )"
    r"|[A-Za-z\u4e00-\u9fff][^|:,\d{}<>\[\]]+[.:]{0,2}$"
)


def tidied(parse: Callable[[str], Readout]) -> Callable[[str], Readout]:
    """A vendor's parser, for captures as people paste and log them."""
    return lambda captured: parse(tidy(captured))


def tidy(captured: str) -> str:
    """The tool's own lines: without prefixes that most lines have, common indentation, special blanks, a page's tags
    and doubled line ends. A text that has none of this stays as it is.
    """
    text = plain(captured).translate(_BLANKS | _NOTHING)
    text = text.replace("&nbsp;", " ").replace("&gt;", ">")  # browsers escape less than a whole document
    if _ESCAPED.search(text) and "<" not in text:
        text = html.unescape(text)
    text = _TAG.sub("", _BREAK.sub("\n", text)) if "<" in text else text
    lines = _single_spaced(text.split("\n"))
    for _ in range(MOST_PREFIXES):
        lines, before = _without_prefix(_dedented(lines)), lines
        if lines == before:
            break
    return "\n".join(_without_frame_prefix(lines))


def _single_spaced(lines: list[str]) -> list[str]:
    """Where a blank line follows nearly every line, half of the blank lines."""
    full = [at for at, line in enumerate(lines) if line.strip()]
    close = sum(after == at + 1 for at, after in pairwise(full))
    if len(full) < FEWEST_LINES or close * 20 > len(full):
        return lines
    kept: list[str] = []
    run = 0
    for line in lines:
        run = 0 if line.strip() else run + 1
        if run == 0 or run % 2 == 0:
            kept.append(line)
    return kept


def _dedented(lines: list[str]) -> list[str]:
    """Without the indentation of all lines that are of a tool."""
    full = [line for line in lines if line.strip()]
    widths = {len(line) - len(line.lstrip(" \t")) for line in full if not _NEUTRAL.match(line)}
    width = min(widths, default=0)
    indents = {line[:width] for line in full if not _NEUTRAL.match(line)}
    if not width or len(indents) > 1:
        return lines
    return [line[width:] if line[:width] in indents else line for line in lines]


def _without_prefix(lines: list[str]) -> list[str]:
    """Without one kind of prefix that most lines have; lines of the kernel's log keep what they begin with."""
    full = [line for line in lines if line.strip()]
    if len(full) < FEWEST_LINES:
        return [line if _KERNEL.search(line) else _STAMP.sub("", _DOCUMENT.sub("", line)) for line in lines]
    for kind in (*_VARYING, *_CONSTANT):
        found = [match.group() for line in full if (match := kind.match(line)) and not _KERNEL.search(line)]
        if len(found) * 5 < len(full) * 4:
            continue
        same = Counter(words.strip() for words in found)
        common = {same.most_common(1)[0][0]} if kind in _CONSTANT else set(same)
        if sum(same[words] for words in common) * 5 >= len(full) * 4:
            return [_cut(line, kind, common) for line in lines]
    return lines


def _cut(line: str, kind: re.Pattern[str], common: set[str]) -> str:
    match = kind.match(line)
    return line[match.end() :] if match and match.group().strip() in common else line


def _without_frame_prefix(lines: list[str]) -> list[str]:
    """Without what stands before the frames of tables, there and on other lines that begin with the same."""
    framed = Counter(match.group(1) for line in lines if (match := _FRAMED.match(line)))
    if framed.total() < FEWEST_LINES:
        return lines
    longest = sorted(framed, key=len, reverse=True)
    return [_shortened(line, longest) for line in lines]


def _shortened(line: str, prefixes: list[str]) -> str:
    found = (prefix for prefix in prefixes if line.startswith(prefix) or line == prefix.rstrip())
    return line[len(next(found, "")) :]
