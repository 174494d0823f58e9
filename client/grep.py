"""Lines of a log that hold a text, printed as grep prints them: `12:` before a match, `11-` before a line around it,
`--` between groups that do not touch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from client.api import JSON
from client.render import escape_controls

MARK, UNMARK = "\x1b[1;31m", "\x1b[0m"


def grep_lines(matches: Iterable[JSON], *, context: int, colour: bool) -> Iterator[str]:
    """The lines to print; a line that two matches have around them comes once."""
    printed, after = 0, list[tuple[int, str]]()
    for match in matches:
        number = match["line"]
        yield from (f"{at}-{line}" for at, line in after if at < number)
        printed = max([printed, *(at for at, _line in after if at < number)])
        begin = number - len(match["lines_before"])
        around = [(begin + i, line) for i, line in enumerate(match["lines_before"])]
        fresh = [(at, line) for at, line in around if at > printed]
        if context and printed and (fresh[0][0] if fresh else number) > printed + 1:
            yield "--"
        yield from (f"{at}-{_safe(line)}" for at, line in fresh)
        yield f"{number}:{_matched(match, colour=colour)}"
        printed = number
        after = [(number + i, _safe(line)) for i, line in enumerate(match["lines_after"], 1)]
    yield from (f"{at}-{line}" for at, line in after)


def print_matches(matches: Iterable[JSON], *, context: int) -> bool:
    """Whether there was any."""
    found = False
    for line in grep_lines(matches, context=context, colour=sys.stdout.isatty()):
        sys.stdout.write(line + "\n")
        found = True
    sys.stdout.flush()
    return found


def _matched(match: JSON, *, colour: bool) -> str:
    before, text, after = (_safe(match[name]) for name in ("before", "match", "after"))
    return f"{before}{MARK}{text}{UNMARK}{after}" if colour else f"{before}{text}{after}"


def _safe(text: str) -> str:
    """The server wrote controls out; another one might not."""
    return escape_controls(text, keep="\t")
