"""From YAML text to a PolicyDocument: defaults underneath, and errors that name line, field and reason."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import msgspec
import yaml
from django.utils.translation import gettext as _

from controlplane.policy.contradictions import Path_, contradictions
from controlplane.policy.document import PPM, PolicyDocument, ScoringWeights

DEFAULTS_FILE = Path(__file__).with_name("defaults.yaml")
LARGEST_BYTES = 1 << 20
LARGEST_DEPTH = 20
SECTIONS = {field.encode_name for field in msgspec.structs.fields(PolicyDocument)}
WEIGHTS = {field.encode_name for field in msgspec.structs.fields(ScoringWeights)}


# Not frozen: whoever re-raises an exception writes its traceback.
@dataclass(eq=False)
class PolicyError(Exception):
    """One thing wrong with a document; `line` counts from 1 and is None when no line is to blame."""

    line: int | None
    field: str
    reason: str

    def __str__(self) -> str:
        """The reason is in the language that was active where it was found, the place in the one active now."""
        what = f"{self.field}: {self.reason}" if self.field else self.reason
        params = {"line": self.line, "what": what}
        return _("line %(line)s: %(what)s") % params if self.line else _("document: %(what)s") % params


@dataclass(frozen=True)
class Source:
    """Plain values of a YAML text, and the line of every path in it."""

    values: dict[str, Any]
    lines: dict[Path_, int]

    def error(self, path: Path_, reason: str) -> PolicyError:
        """An error at `path`, or at the nearest enclosing line that the text has."""
        nearest = next((path[:n] for n in range(len(path), -1, -1) if path[:n] in self.lines), ())
        return PolicyError(self.lines.get(nearest), field_name(path), reason)


def field_name(path: Path_) -> str:
    """A path as people write it, `scheduler` being understood: queue-policy.queues[0].quota."""
    path = path[1:] if len(path) > 1 and path[0] == "scheduler" else path
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def read_document(text: str) -> PolicyDocument:
    """The document with defaults filled in; PolicyError names the first thing wrong."""
    return build(read_source(text))


def read_source(text: str) -> Source:
    """Values and lines, with the sections lifted out of `scheduler:`; PolicyError when it is not one YAML mapping."""
    if len(text.encode(errors="replace")) > LARGEST_BYTES:
        raise PolicyError(None, "", _("The document is larger than 1 MiB."))
    root = _compose(text)
    if not isinstance(root, yaml.MappingNode):
        raise PolicyError(1, "", _("The document must be a mapping with the key `scheduler`."))
    lines: dict[Path_, int] = {}
    values = _plain(root, path=(), lines=lines)
    return _lift(Source(values, lines))


def _compose(text: str) -> yaml.Node | None:
    try:
        # Stopped at the first level too many: the parser's own work grows with the square of the depth.
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > LARGEST_DEPTH:
                raise PolicyError(_line_of(event.start_mark), "", _("Nested too deeply."))
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error)
        line = _line_of(getattr(error, "problem_mark", None))
        raise PolicyError(line, "", _("Not valid YAML: %s") % problem) from None


def _line_of(mark: Any) -> int | None:
    return mark.line + 1 if mark else None


def _lift(source: Source) -> Source:
    inner = source.values.get("scheduler")
    if "scheduler" not in source.values:
        return source
    if not isinstance(inner, dict):
        raise source.error(("scheduler",), _("Must be a mapping of sections."))
    values, lines = (
        dict(inner),
        {path[1:]: line for path, line in source.lines.items() if path[:1] == ("scheduler",)},
    )
    for key, value in source.values.items():
        if key == "scheduler":
            continue
        if key in values:
            raise source.error((key,), _("Stands twice: under `scheduler` and beside it."))
        values[key] = value
        lines.update({path: line for path, line in source.lines.items() if path[:1] == (key,)})
    return Source(values, lines)


def _plain(node: yaml.Node, *, path: Path_, lines: dict[Path_, int]) -> Any:
    lines[path] = node.start_mark.line + 1
    # An alias may make a small text an endless or exponential tree.
    if len(path) > LARGEST_DEPTH or len(lines) > 10_000:
        raise PolicyError(lines[path], field_name(path), _("Nested too deeply, or too large."))
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, path=(*path, i), lines=lines) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path=path, lines=lines)
    return _scalar(node, path=path)


def _mapping(node: yaml.MappingNode, *, path: Path_, lines: dict[Path_, int]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key, line = key_node.value, key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise PolicyError(line, field_name(path), _("Keys must be plain text."))
        if key in values:
            raise PolicyError(line, field_name((*path, key)), _("Stands twice."))
        values[key] = _plain(value_node, path=(*path, key), lines=lines)
        lines[(*path, key)] = line
    return values


def _scalar(node: yaml.Node, *, path: Path_) -> Any:
    kind, text = node.tag.rpartition(":")[2], node.value
    try:
        # Decimal keeps what was written: 0.35 is 350000 ppm exactly.
        if kind == "float":
            return Decimal(text.replace("_", ""))
        if kind in {"int", "bool", "null"}:
            return yaml.SafeLoader("").construct_object(node)
    except (InvalidOperation, ValueError):
        raise PolicyError(node.start_mark.line + 1, field_name(path), _("Not a number: %s") % text) from None
    return text


@functools.cache
def default_values() -> dict[str, Any]:
    """The values of defaults.yaml."""
    return read_source(DEFAULTS_FILE.read_text(encoding="utf-8")).values


def build(source: Source) -> PolicyDocument:
    """Check and convert; every rule raises PolicyError with the line in the caller's text."""
    for key in source.values:
        if key not in SECTIONS:
            raise source.error((key,), _("There is no such field."))
    values = _merge(copy.deepcopy(default_values()), source.values)
    _to_ppm(source, values)
    try:
        document = msgspec.convert(values, PolicyDocument)
    except msgspec.ValidationError as error:
        raise _located(source, error) from None
    for path, reason in contradictions(document):
        raise source.error(path, reason)
    return document


def _merge(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return {
            key: _merge(below.get(key), above[key]) if key in above else below[key]
            for key in {**below, **above}
        }
    # An empty section is written as a bare key: it has all the defaults.
    return below if above is None and isinstance(below, dict) else above


def _to_ppm(source: Source, values: dict[str, Any]) -> None:
    weights = values["scoring-weights"]
    if isinstance(weights, dict):
        for name in WEIGHTS & weights.keys():
            weights[name] = _exact(source, ("scoring-weights", name), weights[name], convert=_weight)
        _refuse_zero_fragmentation(source, weights)
    policy = values["queue-policy"]
    queues = policy.get("queues") if isinstance(policy, dict) else None
    if isinstance(queues, list):
        policy["queues"] = [_queue_in_ppm(source, i, queue) for i, queue in enumerate(queues)]


def _queue_in_ppm(source: Source, i: int, queue: Any) -> Any:
    if not isinstance(queue, dict):
        return queue
    path, found = ("queue-policy", "queues", i), dict(queue)
    if found.get("quota") is not None:
        found["quota"] = _exact(source, (*path, "quota"), found["quota"], convert=_share)
    if isinstance(found.get("model-caps"), dict):
        found["model-caps"] = {
            model: _exact(source, (*path, "model-caps", model), share, convert=_share)
            for model, share in found["model-caps"].items()
        }
    return found


def _refuse_zero_fragmentation(source: Source, weights: dict[str, Any]) -> None:
    value = weights["fragmentation-penalty"]
    if isinstance(value, int) and value < PPM // 100:
        reason = _("Must be at least 0.01: without it, free memory falls into pieces that no job fits.")
        raise source.error(("scoring-weights", "fragmentation-penalty"), reason)


def _exact(source: Source, path: Path_, value: object, *, convert: Callable[[object], int]) -> int:
    try:
        return convert(value)
    except ValueError as error:
        raise source.error(path, str(error)) from None


def _weight(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not Decimal(value).is_finite():
        raise ValueError(_("Must be a number such as 0.35."))
    if not 0 <= value <= 1000:
        raise ValueError(_("Must be from 0 to 1000."))
    return _whole_ppm(Decimal(value) * PPM)


def _share(value: object) -> int:
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,10})?) ?%", value) if isinstance(value, str) else None
    if match is None or Decimal(match[1]) > 100:
        raise ValueError(_("Must be a percentage from 0% to 100%, such as 30%."))
    return _whole_ppm(Decimal(match[1]) * (PPM // 100))


def _whole_ppm(value: Decimal) -> int:
    if value != int(value):
        raise ValueError(_("Has more digits than a millionth can hold."))
    return int(value)


def _located(source: Source, error: msgspec.ValidationError) -> PolicyError:
    reason, _sep, where = str(error).partition(" - at `$")
    if not where and " - at `key` in `$" in reason:
        where = reason.partition(" - at `key` in `$")[2]
        reason = _(
            "A name in it is not written as names are: letters, digits, dots, slashes, dashes, underscores."
        )
    parts = re.findall(r"\[(\d+)\]|\.([^.\[\]`]+)", where)
    path: Path_ = tuple(int(index) if index else key for index, key in parts)
    unknown = re.search(r"unknown field `(.*)`", reason)
    if unknown:
        return source.error((*path, unknown[1]), _("There is no such field."))
    return source.error(path, reason)
