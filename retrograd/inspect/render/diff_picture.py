"""A comparison as one picture: both graphs in one drawing, in every format that draws graphs."""

from __future__ import annotations

from dataclasses import replace

from ...errors import NoGraphError
from ..fold import STEPS
from ..graphs.graph_diff import GraphDiff
from ..lineup.lineup import Lineup
from ..recording.events import Recording
from .base import RenderOptions

FOLD = tuple(step for step in STEPS if step != "repeats")
"""Folding steps for both graphs; without ``repeats``, since a block that differs is not a repeat."""


def chosen_diff(found: Lineup | GraphDiff) -> GraphDiff:
    """Return the two graphs to draw: of two runs the graphs that differ, of more those of the first difference.

    Raises ``NoGraphError`` when there is nothing to draw.
    """
    if isinstance(found, GraphDiff):
        return found
    parted = found.divergence.differences if found.divergence else []
    graphs = found.graphs or next((one.graphs for one in parted if one.graphs is not None), None)
    if graphs is None:
        raise NoGraphError(
            "The runs have no two graphs that differ, so there is no picture.",
            "Write the comparison as .json or .html.",
        )
    return graphs


def sides(found: Lineup) -> str:
    """Return the names of the two runs whose graphs are drawn."""
    parting = found.divergence
    pair = [parting.groups[0][0], parting.differences[0].runs[0]] if parting and not found.graphs else [0, 1]
    return " → ".join(found.names[number] for number in pair)


def diff_picture(found: GraphDiff, title: str, options: RenderOptions) -> tuple[Recording, RenderOptions]:
    """Return a recording whose one graph holds both, and the options with which any renderer draws it."""
    union, differences = found.union()
    recording = Recording(script=title, engine=union.engine, graphs=[union])
    return recording, replace(options, differences=differences, fold=FOLD)
