"""A text looked for in a log: what may be asked, and the shape of the answer."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from controlplane.base.problems import Fault, invalid
from controlplane.base.texts import has_control_character
from scheduling.log_search import Found, Search

SEARCH = "search"
IGNORE_CASE = "ignore_case"
MOST_TEXT = 200
# Only for searches.
NUMBERS: Mapping[str, tuple[int, int]] = {"line": (1, 2**53), "context": (0, 5), "most": (1, 200)}
DEFAULT_MOST = 100
PARAMETERS = [
    OpenApiParameter(
        SEARCH,
        {"type": "string", "minLength": 1, "maxLength": MOST_TEXT},
        description="Answer with the lines that hold this text, taken literally. One answer looks through a bounded "
        "part of the log: go on with `next_offset` and `next_line` as `offset` and `line` until `at_end`.",
    ),
    OpenApiParameter(
        IGNORE_CASE, {"type": "integer", "enum": [0, 1]}, description="With search: 1 ignores case."
    ),
    OpenApiParameter(
        "line",
        {"type": "integer", "minimum": 1, "maximum": NUMBERS["line"][1]},
        description="With search: the number of the line at `offset`; without it lines beyond the first part are "
        "not numbered.",
    ),
    OpenApiParameter(
        "context",
        {"type": "integer", "minimum": 0, "maximum": NUMBERS["context"][1]},
        description="With search: so many lines before and after each match.",
    ),
    OpenApiParameter(
        "most",
        {"type": "integer", "minimum": 1, "maximum": NUMBERS["most"][1]},
        description="With search: so many matches in one answer.",
    ),
]


class LogMatchSerializer(serializers.Serializer):
    """A line that holds the text, and the lines around it; long lines are cut (…), control characters escaped.
    `offset` is where the line begins in the log.
    """

    line = serializers.IntegerField(allow_null=True)
    offset = serializers.IntegerField()
    before = serializers.CharField(allow_blank=True)
    match = serializers.CharField()
    after = serializers.CharField(allow_blank=True)
    lines_before = serializers.ListField(child=serializers.CharField(allow_blank=True))
    lines_after = serializers.ListField(child=serializers.CharField(allow_blank=True))


class LogMatchesSerializer(serializers.Serializer):
    """Matches of one part of a log. `at_end`: this is all that has arrived so far; `complete`: nothing follows."""

    attempt = serializers.IntegerField()
    offset = serializers.IntegerField()
    next_offset = serializers.IntegerField()
    next_line = serializers.IntegerField(allow_null=True)
    matches = LogMatchSerializer(many=True)
    at_end = serializers.BooleanField()
    complete = serializers.BooleanField()
    truncated = serializers.BooleanField()


def read_search(query: Mapping[str, str], numbers: Mapping[str, int]) -> Search:
    """The search that a query asks for; 400 names what is wrong with it."""
    text = query[SEARCH]
    if not text:
        raise invalid(SEARCH, Fault.EMPTY)
    if len(text) > MOST_TEXT:
        raise invalid(SEARCH, Fault.MAX_LENGTH, limit=MOST_TEXT)
    if has_control_character(text, allowed="\t"):
        raise invalid(SEARCH, Fault.CONTROL_CHARACTER)
    if query.get(IGNORE_CASE, "0") not in ("0", "1"):
        raise invalid(IGNORE_CASE, Fault.CHOICE, options="0, 1")
    offset = numbers.get("offset", 0)
    return Search(
        text=text,
        offset=offset,
        line=numbers.get("line", 1 if offset == 0 else None),
        ignore_case=query.get(IGNORE_CASE) == "1",
        context=numbers.get("context", 0),
        most=numbers.get("most", DEFAULT_MOST),
    )


def refuse_mixed(query: Mapping[str, str]) -> None:
    """What belongs to reading does not go with a search, nor the other way round."""
    if SEARCH in query:
        for name in ("limit", "wait_s"):
            if name in query:
                raise invalid(name, Fault.INVALID, message=_("Does not go with search. Remove one of them."))
        return
    for name in (IGNORE_CASE, *NUMBERS):
        if name in query:
            raise invalid(name, Fault.INVALID, message=_("Goes with search only. Give that, too."))


def matches_of(found: Found, *, attempt: int, offset: int) -> dict[str, object]:
    """The answer."""
    return {"attempt": attempt, "offset": offset} | {
        name: getattr(found, name)
        for name in ("next_offset", "next_line", "matches", "at_end", "complete", "truncated")
    }
