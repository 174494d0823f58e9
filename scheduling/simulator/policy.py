"""Policies of simulations: named presets, and files with the weights or with a whole policy of the engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scheduling.engine.codec import CodecError, decode
from scheduling.engine.types import PPM, EnginePolicy, QueueInfo, Term
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.files import open_text
from scheduling.simulator.traces.ranges import (
    LEAST_FRAGMENTATION_PPM,
    MOST_WEIGHT_PPM,
    OutOfRange,
    check_document,
)

INFERENCE, TRAINING, OFFLINE = 1, 2, 3
QUEUES = (
    QueueInfo(INFERENCE, "inference", 100, 300_000, preemptable=False),
    QueueInfo(TRAINING, "training", 70, 500_000, preemptable=False),
    QueueInfo(OFFLINE, "offline", 30, 200_000, preemptable=True),
)
_LARGEST_WEIGHT = MOST_WEIGHT_PPM // PPM
# `sample` are the weights of the sample policy document; `packing` lets the fragmentation term decide.
PRESETS: dict[str, dict[Term, int]] = {
    "sample": {
        Term.RESOURCE_FIT: 350_000,
        Term.AFFINITY: 250_000,
        Term.TOPOLOGY: 200_000,
        Term.BALANCE: 120_000,
        Term.FRAGMENTATION: 80_000,
    },
    "packing": {Term.FRAGMENTATION: PPM},
}


def preset(name: str) -> EnginePolicy:
    """A preset with the three default queues and the default pre-check."""
    return EnginePolicy(weights_ppm=dict(PRESETS[name]), queues=QUEUES)


def without_precheck(policy: EnginePolicy) -> EnginePolicy:
    """The same policy with a memory pre-check of factor 1.0."""
    return replace(policy, precheck_num=1, precheck_den=1)


def read_policy(path: Path, beside: EnginePolicy) -> EnginePolicy:
    """A policy from a file: a whole one in the engine's codec (JSON with `weights_ppm`), or only the `scoring-weights`
    of a policy document (YAML), all else as in `beside`. TraceError names what is wrong.
    """
    with open_text(path) as file:
        text = file.read()
    if text.lstrip().startswith("{"):
        return _engine_policy(path, text)
    weights = _yaml_weights(path, text)
    if weights.get(Term.FRAGMENTATION, 0) < LEAST_FRAGMENTATION_PPM:
        fix = "give it at least 0.01"
        raise TraceError(str(path), "has too little weight", fix=fix, column=Term.FRAGMENTATION.value)
    return replace(beside, weights_ppm=weights)


def _engine_policy(path: Path, text: str) -> EnginePolicy:
    try:
        found = decode(EnginePolicy, text)
        check_document(found)
    except CodecError as error:
        where, _, problem = str(error).partition(": ")
        raise TraceError(str(path), problem, fix="correct the field", column=where) from error
    except OutOfRange as error:
        raise TraceError(str(path), error.problem, fix=error.fix, column=error.where) from error
    except (ValueError, RecursionError) as error:
        raise TraceError(str(path), f"is no JSON ({error})", fix="write the policy alone") from error
    return found


def _yaml_weights(path: Path, text: str) -> dict[Term, int]:
    """The block below `scoring-weights:`, one `term: number` a line, further indented."""
    weights: dict[Term, int] = {}
    indent: int | None = None
    for number, raw in enumerate(text.splitlines(), start=1):
        content = raw.partition("#")[0].rstrip()
        depth = len(content) - len(content.lstrip())
        if content.strip() == "scoring-weights:":
            indent = depth
        elif indent is not None and content:
            if depth <= indent:
                break
            term, weight = _weight(path, number, content)
            if term in weights:
                raise TraceError(str(path), "stands twice", fix="remove one", line=number, column=term.value)
            weights[term] = weight
    if not weights:
        fix = "give the weights below `scoring-weights:`, one `term: number` a line"
        raise TraceError(str(path), "names no scoring weights", fix=fix)
    return weights


def _weight(path: Path, line: int, content: str) -> tuple[Term, int]:
    name, _, value = (part.strip() for part in content.partition(":"))
    try:
        term = Term(name)
    except ValueError as error:
        known = ", ".join(Term)
        raise TraceError(str(path), "is no score term", fix=f"use {known}", line=line, column=name) from error
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= _LARGEST_WEIGHT:
        problem = f"{value[:40]!r} is no weight"
        fix = f"give a number between 0 and {_LARGEST_WEIGHT}"
        raise TraceError(str(path), problem, fix=fix, line=line, column=name)
    return term, round(weight * PPM)
