"""When a job may start, on the command line: after others, as an array, held, put off."""

from __future__ import annotations

from typing import Annotated

import typer

from client.api import JSON
from client.errors import Misuse
from client.messages import say

After = Annotated[
    list[str] | None,
    typer.Option(help="JOB[:ok|failed|any] that must end first (ok when not given); may be repeated."),
]
Array = Annotated[
    str | None, typer.Option(help="TASKS[:AT_ONCE]: so many tasks, HEADRACE_ARRAY_INDEX tells them apart.")
]
Hold = Annotated[bool, typer.Option("--hold", help="Wait until somebody releases it.")]
Deferrable = Annotated[
    bool, typer.Option("--deferrable", help="Wait for the valley window, or an idle cluster.")
]


def conditions(after: list[str] | None, array: str | None, *, hold: bool, deferrable: bool) -> JSON:
    """The members of the request, as far as they were said."""
    found: JSON = {}
    if after:
        found["after"] = [_after(text) for text in after]
    if array:
        tasks, _colon, at_once = array.partition(":")
        found["array"] = {"tasks": _whole("--array", tasks, array)}
        if at_once:
            found["array"]["at_once"] = _whole("--array", at_once, array)
    if hold:
        found["on_hold"] = True
    if deferrable:
        found["deferrable"] = True
    return found


def _after(text: str) -> JSON:
    job, _colon, ends = text.partition(":")
    return {"job": _whole("--after", job, text), **({"ends": ends} if ends else {})}


def _whole(option: str, digits: str, text: str) -> int:
    if digits.isascii() and digits.isdigit():
        return int(digits)
    raise Misuse(say("bad-number", option=option, value=text))
