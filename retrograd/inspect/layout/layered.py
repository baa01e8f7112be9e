"""Our own layered layout: the loss on top, gradients flow downward; linear in the graph, deterministic, no binary."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.inspect.snapshot import GraphSnapshot

from . import bands as bands_
from .base import Layout, Size
from .coordinates import place
from .frame import frame
from .layers import build
from .ordering import reduce_crossings
from .routes import lane_users, routes


def layout(snapshot: GraphSnapshot, sizes: Sequence[Size], label_widths: Sequence[float] | None = None) -> Layout:
    """Place cards of the given sizes and route all edges; edges leave ports ``label_widths`` apart where they can."""
    if not len(snapshot):
        return Layout([], [], 0.0, 0.0)
    layered = build(snapshot)
    reduce_crossings(layered)
    grids = bands_.wrapped_layers(layered, sizes)
    widths = [size.width for size in sizes] + [0.0] * (layered.count - layered.nodes)
    centres = place(layered, widths, set(grids))
    bands = bands_.stack(layered, sizes, centres, grids)
    bands_.cut_into_pages(bands, max(centres) - min(centres) + max(widths))
    framed = frame(layered, sizes, centres, bands, lane_users(layered, snapshot, bands.pages))
    labels = label_widths if label_widths is not None else [0.0] * snapshot.edge_count
    edges = routes(snapshot, framed, labels)
    return Layout([framed.box(node) for node in range(layered.nodes)], edges, framed.width, framed.height)
