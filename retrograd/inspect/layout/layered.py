"""Our own layered layout: the loss on top, gradients flow downward; linear in the graph, deterministic, no binary."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.inspect.progress import tick
from retrograd.inspect.snapshot import GraphSnapshot

from . import bands as bands_
from .base import Layout, Size
from .coordinates import place
from .frame import Placed, frame
from .layers import Layered, build
from .net import Net, net_of
from .ordering import reduce_crossings
from .routes import lane_users, routes


def layout(snapshot: GraphSnapshot, sizes: Sequence[Size], label_widths: Sequence[float] | None = None) -> Layout:
    """Place cards of the given sizes and route all edges; edges leave ports ``label_widths`` apart where they can."""
    return layout_net(net_of(snapshot), sizes, label_widths)


def layout_net(net: Net, sizes: Sequence[Size], label_widths: Sequence[float] | None = None) -> Layout:
    """Place and route a net; ports at its top and bottom have boxes without height."""
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
    bands_.cut_into_pages(bands, max(centres) - min(centres) + max(widths), _passing(layered))
    framed = frame(Placed(layered, sizes, anchors, centres), bands, lane_users(layered, net, bands.pages))
    labels = label_widths if label_widths is not None else [0.0] * net.edge_count
    tick()
    edges = routes(net, framed, labels)
    return Layout([framed.box(node) for node in range(layered.nodes)], edges, framed.width, framed.height)


def _passing(layered: Layered) -> list[int]:
    """Return how many lines run from each layer to the next."""
    starts = layered.below.starts
    return [sum(starts[vertex + 1] - starts[vertex] for vertex in layer) for layer in layered.layers]
