"""The graph as the layout works on it: nodes and way points in layers, joined by links one layer long.

An edge over several layers runs through way points (dummy vertices).  Edges into the same output of the same
node share them, so that twelve uses of one weight become one line; edges of one source to one target stay apart.
Way points are paid from a budget linear in the graph; the edges that do not fit run in a side lane instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .net import Net
from .ranks import Adjacency, light_nodes, net_ranks

_SPARE = 2000
"""Way points that even a small graph may have beyond four per node and edge."""


class Bundle(NamedTuple):
    """Edges that share their way points: vertices ``first, first + 1, ...`` in layers ``top, top + 1, ...``."""

    first: int
    top: int


class Ports(NamedTuple):
    """Horizontal positions of the fixed ends of links on their cards, between 0 and 1; 1/2 for all others."""

    leaves: list[float]
    """Per link its upper end,"""
    enters: list[float]
    """and its lower one."""


@dataclass(slots=True)
class Layered:
    """Vertices (nodes first, then way points) in layers and the links between neighbouring layers."""

    nodes: int
    """How many vertices are nodes."""
    ranks: list[int]
    """Layer of every vertex."""
    layers: list[list[int]]
    """Vertices of every layer, from left to right."""
    below: Adjacency
    above: Adjacency
    bundles: list[Bundle | None]
    """Per edge its way points; ``None`` for an edge that needs none."""
    lanes: list[int]
    """Edges that run in a side lane."""
    light: bytearray
    """Per vertex whether it should give way: leaves and the way points of skip connections."""
    tops: bool = False
    """Whether the first layer holds ports to the outside instead of nodes."""
    bottoms: bool = False
    ports: Ports | None = None
    """Where links leave and enter cards with ports."""

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.ranks)

    def path(self, edge: int, source: int, target: int) -> list[int]:
        """Return the vertices that an edge visits, from its source to its target."""
        bundle = self.bundles[edge]
        if bundle is None:
            return [source, target]
        start = bundle.first + self.ranks[source] + 1 - bundle.top
        length = self.ranks[target] - self.ranks[source] - 1
        return [source, *range(start, start + length), target]


def build(net: Net) -> Layered:
    """Return the layered form of a graph; the layers are in the order of a depth first walk from the roots."""
    count = len(net)
    ranks = net_ranks(net)
    light = light_nodes(net, ranks)
    bundles, lanes = _bundle(net, ranks, light, _main_child(net, ranks, light))
    uppers, lowers, edges = _links(net, ranks, bundles, lanes)
    below, above = Adjacency(len(ranks), uppers, lowers), Adjacency(len(ranks), lowers, uppers)
    layered = Layered(count, ranks, [], below, above, bundles, lanes, light, net.tops > 0, net.bottoms > 0)
    layered.ports = _ports(net, edges)
    layered.layers = _depth_first_layers(layered, net.roots)
    return layered


def _main_child(net: Net, ranks: list[int], light: bytearray) -> bytearray:
    """Return per node whether a heavy node hangs right below it: then its longer edges are skip connections."""
    has = bytearray(len(net))
    for source, target in zip(net.edge_source, net.edge_target, strict=True):
        if not light[target] and ranks[target] == ranks[source] + 1:
            has[source] = 1
    return has


def _bundle(net: Net, ranks: list[int], light: bytearray, has_main: bytearray) -> tuple[list[Bundle | None], list[int]]:
    """Give long edges their way points (appended to ``ranks`` and ``light``); return them and the lane edges."""
    bundles: list[Bundle | None] = [None] * net.edge_count
    lanes, groups = _long_edges(net, ranks)
    budget = 4 * (len(net) + net.edge_count) + _SPARE
    sources, targets = net.edge_source, net.edge_target
    costs = [(sum(ranks[targets[edge]] - ranks[sources[edge]] for edge in edges), edges) for edges in groups]
    for cost, edges in sorted(costs, key=lambda pair: pair[0]):
        budget -= cost
        if budget < 0:
            lanes.extend(edges)
            continue
        bottom = ranks[targets[edges[0]]]
        top = min(ranks[sources[edge]] for edge in edges) + 1
        bundle = Bundle(len(ranks), top)
        skips = all(has_main[sources[edge]] for edge in edges) or light[targets[edges[0]]]
        ranks.extend(range(top, bottom))
        light.extend([1 if skips else 0] * (bottom - top))
        for edge in edges:
            bundles[edge] = bundle
    return bundles, lanes


def _long_edges(net: Net, ranks: list[int]) -> tuple[list[int], list[list[int]]]:
    """Return the edges that run upward or level (only in a cycle), and the long edges grouped by what they share."""
    upward: list[int] = []
    groups: dict[tuple[int, int, int], list[int]] = {}
    parallel: dict[tuple[int, int, int], int] = {}
    columns = (net.edge_source, net.edge_target, net.edge_output_nr)
    for edge, (source, target, number) in enumerate(zip(*columns, strict=True)):
        span = ranks[target] - ranks[source]
        if span < 1:
            upward.append(edge)
        elif span > 1:
            twin = parallel.get((source, target, number), 0)
            parallel[source, target, number] = twin + 1
            groups.setdefault((target, number, twin), []).append(edge)
    return upward, list(groups.values())


Links = tuple[list[int], list[int], list[tuple[int, int]]]
"""Upper and lower end of every link, and the edges (-1 for none) that leave and enter a card by it."""


def _links(net: Net, ranks: list[int], bundles: list[Bundle | None], lanes: list[int]) -> Links:
    """Return all links, each link of a bundle once."""
    in_lane = set(lanes)
    uppers: list[int] = []
    lowers: list[int] = []
    edges: list[tuple[int, int]] = []
    for edge, (source, target) in enumerate(zip(net.edge_source, net.edge_target, strict=True)):
        bundle = bundles[edge]
        if edge in in_lane:
            continue
        uppers.append(source)
        lowers.append(target if bundle is None else bundle.first + ranks[source] + 1 - bundle.top)
        edges.append((edge, edge if bundle is None else -1))
    seen: set[int] = set()
    for edge, bundle in enumerate(bundles):
        if bundle is None or bundle.first in seen:
            continue
        seen.add(bundle.first)
        target = net.edge_target[edge]
        last = bundle.first + ranks[target] - 1 - bundle.top
        uppers.extend(range(bundle.first, last + 1))
        lowers.extend([*range(bundle.first + 1, last + 1), target])
        edges += [(-1, -1)] * (last - bundle.first)
        edges.append((-1, edge))
    return uppers, lowers, edges


def _ports(net: Net, edges: list[tuple[int, int]]) -> Ports | None:
    """Return where links meet cards with ports: by the order of the ports on each side, for widths do not matter."""
    if not (net.leaves_at or net.enters_at):
        return None
    leaves, enters = _shares(net.leaves_at, net.edge_source), _shares(net.enters_at, net.edge_target)
    return Ports([leaves.get(edge, 0.5) for edge, _ in edges], [enters.get(edge, 0.5) for _, edge in edges])


def _shares(distances: dict[int, float], cards: list[int]) -> dict[int, float]:
    """Return for each edge the relative position of its port among all ports on that side of the card."""
    sides: dict[int, set[float]] = {}
    for edge, distance in distances.items():
        sides.setdefault(cards[edge], set()).add(distance)
    order = {card: sorted(found) for card, found in sides.items()}
    return {
        edge: (order[cards[edge]].index(distance) + 1) / (len(order[cards[edge]]) + 1)
        for edge, distance in distances.items()
    }


def _depth_first_layers(layered: Layered, roots: list[int]) -> list[list[int]]:
    """Return the layers filled in the order of a depth first walk: subtrees stay together and cross little."""
    layers: list[list[int]] = [[] for _ in range(max(layered.ranks, default=-1) + 1)]
    seen = bytearray(layered.count)
    starts, items = layered.below.starts, layered.below.items
    for start in [*roots, *range(layered.count)]:
        stack = [] if seen[start] else [start]
        while stack:
            vertex = stack.pop()
            if seen[vertex]:
                continue
            seen[vertex] = 1
            layers[layered.ranks[vertex]].append(vertex)
            stack.extend(reversed(items[starts[vertex] : starts[vertex + 1]]))
    return layers
