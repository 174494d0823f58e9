"""Affinity: what the job needs is already there - its image (40), its datasets (30), its own earlier run (30).

A missing image costs by its size: half of its part at 4 GiB, little when it is small, all of it when nobody knows.
Parts the job does not ask for are left out; a job that asks for none of them has full affinity everywhere.
"""

from __future__ import annotations

import numpy as np

from scheduling.engine.frame import Frame
from scheduling.engine.quantities import Ints
from scheduling.engine.rows import Rows
from scheduling.engine.scores.scale import Scale
from scheduling.engine.shapes import Demand
from scheduling.engine.types import PPM

_IMAGE, _DATASETS, _PREVIOUS = 40, 30, 30
_HALF_IMAGE_MIB = 4096


def value(frame: Frame, demand: Demand, rows: Rows, scale: Scale) -> Ints:
    """Per row, in ppm."""
    request = demand.request
    points = np.zeros(len(frame), dtype=np.int64)
    asked = 0
    if request.image is not None:
        asked += _IMAGE
        points += _IMAGE * np.where(
            frame.nodes_with("images", request.image), PPM, _without(request.image_mib)
        )
    if request.datasets:
        asked += _DATASETS
        present = sum(frame.nodes_with("datasets", name).astype(np.int64) for name in request.datasets)
        points += _DATASETS * PPM * present // len(request.datasets)
    if request.previous_nodes:
        asked += _PREVIOUS
        points += _PREVIOUS * PPM * np.isin(frame.node.id, np.array(request.previous_nodes, dtype=np.int64))
    if not asked:
        return np.full(len(rows), PPM, dtype=np.int64)
    return points[rows.node] // asked


def _without(image_mib: int | None) -> int:
    """Affinity of a node that has to fetch an image of this size first."""
    return 0 if image_mib is None else PPM * _HALF_IMAGE_MIB // (_HALF_IMAGE_MIB + image_mib)
