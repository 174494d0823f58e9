"""JSON and XML inside what a tool printed, between warnings of its own and whatever else came along."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from agent.vendors.base import without_long_lines
from agent.vendors.reading.tables import Entry

_STARTS_JSON = re.compile(r"^[ \t]*([\[{])", re.MULTILINE)
_OPENS = re.compile(r'^[ \t]*[\[{][ \t]*(?:$|["\[{])', re.MULTILINE)
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
MOST_DEPTH = 12
WASTED_CHARS = 1 << 20  # of documents that end in an error, beyond the length of the text


def find_json(text: str) -> tuple[list[Any], str]:
    """(all JSON objects and arrays that begin a line, what is left of the text). A text of which much was read in vain
    is left from there on.
    """
    decoder = json.JSONDecoder()
    halves = _HALF.search(text) is not None
    found: list[Any] = []
    rest: list[str] = []
    position = 0
    left = len(text) + WASTED_CHARS
    while left > 0 and (match := _STARTS_JSON.search(text, position)):
        rest.append(text[position : match.start()])
        try:
            value, position = decoder.raw_decode(text, match.start(1))
            found.append(_without_halves(value) if halves else value)
        except RecursionError:  # so would be what begins on each of the next lines
            position = match.start()
            break
        except ValueError as error:
            left -= error.pos - match.start() if isinstance(error, json.JSONDecodeError) else 0
            end = text.find("\n", match.start(1))
            end = len(text) if end < 0 else end
            rest.append(text[match.start() : end])
            position = end
    return found, without_long_lines("".join([*rest, text[position:]]))


def _without_halves(value: Any) -> Any:
    """The same with a question mark for every half of a character, which no message can hold."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def looks_cut(rest: str) -> bool:
    """Whether what is left beside the documents is a document itself, damaged."""
    return _OPENS.search(rest) is not None


def as_text(value: Any) -> str | None:
    """A leaf as text with its unit: `{"value": 3, "unit": "W"}` is "3 W"; None for anything else than a leaf."""
    if isinstance(value, dict):
        inner, unit = value.get("value"), value.get("unit")
        text = None if isinstance(inner, (dict, list)) else as_text(inner)
        return f"{text} {unit}" if text and isinstance(unit, str) else text
    if value is None or isinstance(value, list):
        return None
    return str(value).strip()


def dig(value: Any, *path: str) -> Any:
    """What stands at a path of keys, whatever their case; None where there is nothing."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = next((inner for key, inner in value.items() if str(key).strip().lower() == name), None)
    return value


def entries_of(value: Any, path: tuple[str, ...] = ()) -> Iterator[Entry]:
    """A document's leaves as the entries of an indented list would be."""
    pairs = value.items() if isinstance(value, dict) and len(path) < MOST_DEPTH else ()
    for key, inner in pairs:
        here = (*path, " ".join(str(key).split()).lower())
        if isinstance(inner, list):
            for item in inner:
                yield from entries_of(item, here)
        elif (text := as_text(inner)) is not None:
            yield Entry(here, text)
        else:
            yield from entries_of(inner, here)


def read_elements(text: str, tag: str) -> tuple[list[Element], dict[str, str], bool]:
    """(all complete elements of this name, texts of the elements outside of them, whether the document was whole)."""
    parser: Any = ElementTree.XMLPullParser(["start", "end"])
    found: list[Element] = []
    outside: dict[str, str] = {}
    depth, inside = 0, 0
    whole = False
    try:
        parser.feed(text[max(0, text.find("<?xml")) :].strip())
        parser.close()
    except ElementTree.ParseError:
        pass
    try:
        for kind, element in parser.read_events():
            depth += 1 if kind == "start" else -1
            inside += (1 if kind == "start" else -1) if element.tag == tag else 0
            if kind == "end" and element.tag == tag and inside == 0:
                found.append(element)
            elif kind == "end" and inside == 0 and element.text:
                outside[str(element.tag)] = element.text.strip()
            whole = kind == "end" and depth == 0
    except ElementTree.ParseError:
        whole = False
    return found, outside, whole


def entries_of_element(element: Element, path: tuple[str, ...] = ()) -> Iterator[Entry]:
    """An element's leaves, with blanks for the underscores of their names."""
    for child in element:
        here = (*path, str(child.tag).replace("_", " ").lower())
        if len(child) and len(here) < MOST_DEPTH:
            yield from entries_of_element(child, here)
        else:
            yield Entry(here, (child.text or "").strip())
