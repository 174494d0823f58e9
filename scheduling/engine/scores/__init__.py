"""Score terms: what each means, and the weighted sum of them per candidate row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Ints
from scheduling.engine.rows import Rows
from scheduling.engine.scores import affinity, balance, fragmentation, power, resource_fit, topology
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM, Term, TermScore

Value = Callable[[Frame, Demand, Rows, Scale], Ints]

Terms = tuple[tuple[Term, Value], ...]

TERMS: Terms = (
    (Term.RESOURCE_FIT, resource_fit.value),
    (Term.AFFINITY, affinity.value),
    (Term.TOPOLOGY, topology.value),
    (Term.BALANCE, balance.value),
    (Term.FRAGMENTATION, fragmentation.value),
    (Term.POWER, power.value),
)


def terms_in_use(weights_ppm: dict[Term, int]) -> Terms:
    """Terms with a weight; the others are not computed."""
    return tuple((term, value) for term, value in TERMS if weights_ppm.get(term, 0) > 0)


def term_scores(weights_ppm: dict[Term, int], values_ppm: Sequence[int]) -> tuple[TermScore, ...]:
    """The score sheet of a row; each contribution is rounded down, so their sum may be a few ppm below the score."""
    weights = [(term, weights_ppm[term]) for term, _ in TERMS if weights_ppm.get(term, 0) > 0]
    return tuple(
        TermScore(term, value, weight, weight * value // PPM)
        for (term, weight), value in zip(weights, values_ppm, strict=True)
    )


def score(
    frame: Frame, demand: Demand, rows: Rows, scale: Scale, used: Terms | None = None
) -> tuple[Ints, Ints]:
    """Values per term in use and row (ppm), and sum(weight * value) // PPM per row."""
    used = terms_in_use(scale.policy.weights_ppm) if used is None else used
    values = np.empty((len(used), len(rows)), dtype=np.int64)
    total = np.zeros(len(rows), dtype=np.int64)
    for line, (term, value) in enumerate(used):
        values[line] = value(frame, demand, rows, scale)
        total += scale.policy.weights_ppm[term] * values[line]
    return values, total // PPM
