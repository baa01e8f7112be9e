"""Our layered layout: the loss on top, gradients flow downward; linear time, deterministic, no external program."""

from __future__ import annotations

from collections.abc import Sequence

from ..graphs.graph import Graph
from ..progress import tick
from . import bands as bands_
from .base import Layout, Size
from .coordinates import place
from .layers import Layered, build
from .net import Net, net_of
from .ordering import reduce_crossings
from .pages import SCREEN, cut_into_pages
from .routes import lane_users, routes
from .sheet import Placed, close_up, lay_out_pages, layer_extents


def layout(snapshot: Graph, sizes: Sequence[Size], label_widths: Sequence[float] | None = None) -> Layout:
    """Place cards of the given sizes and route all edges; edges leave ports ``label_widths`` apart where they can."""
    return layout_net(net_of(snapshot), sizes, label_widths)


def layout_net(
    net: Net, sizes: Sequence[Size], label_widths: Sequence[float] | None = None, screen: Size = SCREEN
) -> Layout:
    """Place and route a net, in columns where it is too tall for the ``screen``; ports have boxes without height."""
    if not len(net):
        return Layout([], [], 0.0, 0.0)
    tick()
    layered = build(net)
    tick()
    reduce_crossings(layered)
    grids = bands_.wrapped_layers(layered, sizes)
    way_points = [0.0] * (layered.count - layered.nodes)
    widths = [size.width for size in sizes] + way_points
    anchors = [net.anchors.get(node, size.width / 2) for node, size in enumerate(sizes)] + way_points
    rights = [width - anchor for width, anchor in zip(widths, anchors, strict=True)]
    centres = place(layered, anchors, rights, set(grids))
    bands = bands_.stack(layered, sizes, anchors, centres, grids)
    placed = Placed(layered, sizes, anchors, centres)
    extents = layer_extents(placed, bands)
    cuts = cut_into_pages(bands, extents, _passing(layered, net), screen, (int(layered.tops), int(layered.bottoms)))
    if bands.pages and bands.pages[-1]:
        close_up(placed, bands)
        extents = layer_extents(placed, bands)
    sheet = lay_out_pages(placed, bands, extents, lane_users(layered, net, bands.pages))
    tick()
    labels = label_widths if label_widths is not None else [0.0] * net.edge_count
    edges = routes(net, sheet, labels)
    return Layout([sheet.box(node) for node in range(layered.nodes)], edges, sheet.width, sheet.height, cuts)


def _passing(layered: Layered, net: Net) -> list[float]:
    """Return how many lines run from each layer to the next; those that end together count less, for they meet."""
    above, below = layered.above.starts, layered.below.starts
    starts = [sum(below[vertex + 1] > below[vertex] for vertex in layer) for layer in layered.layers]
    ports: dict[int, set[float]] = {}
    for edge, distance in net.enters_at.items():
        ports.setdefault(net.edge_target[edge], set()).add(distance)
    ends = [
        sum(len(ports.get(vertex, "1")) for vertex in layer if above[vertex + 1] > above[vertex])
        for layer in layered.layers
    ]
    return [(start + 3 * end) / 4 for start, end in zip(starts, [*ends[1:], 0], strict=True)]
