"""A comparison as one picture: both graphs in one, in every format that draws graphs."""

from __future__ import annotations

from dataclasses import replace

from ...errors import NoGraphError
from ..events import Recording
from ..graph_diff import STATUSES, Differences, GraphDiff
from ..lineup.lineup import Lineup
from ..snapshot import GraphSnapshot
from ..subgraph import subgraph
from .base import RenderOptions

WHOLE = 400
"""Nodes up to which all of both graphs is drawn; larger ones show only what lies around the differences."""
AROUND = 2
"""Edges that such a surrounding reaches."""


def chosen_diff(found: Lineup | GraphDiff) -> GraphDiff:
    """Return the two graphs to draw: of two runs those that differ, of many those of the first difference.

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


def diff_picture(found: GraphDiff, title: str, options: RenderOptions) -> tuple[Recording, RenderOptions]:
    """Return a recording whose one graph holds both, and the options with which any renderer draws it."""
    union, differences = found.union()
    if len(union) > WHOLE:
        middle = {node for node, kind in enumerate(union.kind) if kind in STATUSES}
        middle.update(end for source, target, *_ in differences.edges for end in (source, target))
        union, differences = around(union, differences, middle)
    recording = Recording(script=title, engine=union.engine, snapshots=[union])
    return recording, replace(options, differences=differences)


def around(
    snapshot: GraphSnapshot, differences: Differences, middle: set[int], reach: int = AROUND
) -> tuple[GraphSnapshot, Differences]:
    """Return the part of a graph that lies at most ``reach`` edges from the nodes in the middle."""
    chosen = set(middle or snapshot.roots)
    for _ in range(reach):
        ends = zip(snapshot.edge_source, snapshot.edge_target, strict=True)
        chosen.update([node for pair in ends for node in pair if not chosen.isdisjoint(pair)])
    rows = sorted(chosen)
    place = {old: new for new, old in enumerate(rows)}
    part = subgraph(snapshot, rows)
    part.label += " · around the differences"
    words = {place[node]: said for node, said in differences.words.items() if node in place}
    marked = {(place[s], place[t], i, o): status for (s, t, i, o), status in differences.edges.items()}
    return part, Differences(words, marked)
