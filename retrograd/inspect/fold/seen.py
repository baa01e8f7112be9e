"""The visible part of a folded graph as a ``Graph`` with one node per box, for code that reads graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..graphs.graph import Graph
from .view import View

SUMMED = ("time_us", "saved_bytes", "nan_count", "inf_count")
"""Measures whose parts add up; of the others a box shows the largest."""


def seen_snapshot(view: View) -> Graph:
    """Return a graph whose node ``i`` is box ``i`` of the view and whose edge ``j`` is its edge ``j``.

    A closed scope has its label as ``op``, its kind as ``kind``, and the shape of its last operator's output.
    Measures are summed over all nodes of a box, or their maximum is taken (see ``SUMMED``).
    """
    folded, original = view.folded, view.folded.original
    heads = [folded.heads[box.begin] for box in view.boxes]
    made = Graph(engine=original.engine, label=original.label)
    for column in ("op", "kind", "name", "scope", "shape", "dtype", "source", "call", "seq"):
        values = getattr(original, column)
        setattr(made, column, [values[head] for head in heads])
    for number, box in enumerate(view.boxes):
        if box.scope >= 0:
            scope = folded.scopes[box.scope]
            made.op[number], made.kind[number], made.scope[number] = scope.label, scope.kind, scope.path
            made.name[number] = made.source[number] = made.seq[number] = None
            made.call[number] = ""
    boxes = view.box_of[np.asarray(folded.atom_of, dtype=np.int64)] if len(folded) else np.zeros(0, dtype=np.int64)
    counted = [None if value is None else float(value) for value in original.saved_bytes]
    saved = gathered("saved_bytes", counted, boxes, len(heads))
    made.saved_bytes = [None if value is None else int(value) for value in saved]
    for name, values in original.measures.items():
        made.measures[name] = gathered(name, values, boxes, len(heads))
    _put_edges(view, made)
    made.roots = [view.box_of_node(root) for root in original.roots]
    made.root_names = list(original.root_names)
    return made


def _put_edges(view: View, made: Graph) -> None:
    """Fill in the edge columns."""
    folded, original = view.folded, view.folded.original
    made.edge_source, made.edge_target = list(view.sources), list(view.targets)
    made.edge_input_nr = [original.edge_input_nr[folded.first_edges[edge]] for edge in view.edges]
    made.edge_output_nr = [original.edge_output_nr[folded.last_edges[edge]] for edge in view.edges]


def gathered(name: str, values: Sequence[float | None], boxes: np.ndarray, count: int) -> list[float | None]:
    """Return a measure per box from the measure per node: added up, or the largest; NaN where one is NaN."""
    known = np.asarray([value is not None for value in values], dtype=bool)
    numbers = np.asarray([math.nan if value is None else value for value in values], dtype=float)[known]
    places = boxes[known]
    if name in SUMMED:
        found = np.zeros(count)
        np.add.at(found, places, numbers)
    else:
        found = np.full(count, -math.inf)
        with np.errstate(invalid="ignore"):  # NaN is larger than everything, which is what is wanted
            np.maximum.at(found, places, numbers)
    has = np.zeros(count, dtype=bool)
    has[places] = True
    return [value if here else None for value, here in zip(found.tolist(), has.tolist(), strict=True)]
