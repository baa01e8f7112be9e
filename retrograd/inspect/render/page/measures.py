"""Measured columns of one step as the page reads them: NaN, infinities and "not measured" are distinct."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graphs.graph import Graph
from ..scale import MEASURES, known_measures, scale
from .packing import Packing
from .structure import safe

_NUMBER, _ABSENT, _NAN, _PLUS, _MINUS = range(5)


def measure_data(snapshot: Graph, color_by: str | None, packing: Packing) -> dict[str, Any]:
    """Return for each name the numbers and, if not all are finite, the kind of each entry (0 is a number).

    Among them is the sum of columns that ``color_by`` may stand for.
    """
    columns = dict(snapshot.measures)
    if color_by in MEASURES and len(MEASURES[color_by]) > 1 and color_by in known_measures(snapshot):
        columns[color_by] = scale(snapshot, color_by).values
    return {safe(name): _column(values, packing) for name, values in columns.items()}


def _column(measured: list[float | None], packing: Packing) -> dict[str, Any]:
    """Return one measure."""
    absent = np.asarray([value is None for value in measured], dtype=bool)
    values = np.asarray([0.0 if value is None else value for value in measured], dtype=np.float64)
    states = np.select(
        [absent, np.isnan(values), values == np.inf, values == -np.inf], [_ABSENT, _NAN, _PLUS, _MINUS], _NUMBER
    )
    column: dict[str, Any] = {"values": packing.floats(np.where(states == _NUMBER, values, 0.0))}
    if states.any():
        column["states"] = packing.numbers(states)
    return column
