"""Our layered layout: the loss on top, gradients flow downward; linear time, deterministic, no external program.

Edges are routed by ports, way points and lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from ..graphs.graph import Graph
from ..progress import followed, tick
from . import bands as bands_
from .base import Layout, Point, Size, straight, vertical
from .coordinates import place
from .layers import Layered, build
from .net import Net, net_of
from .ordering import reduce_crossings
from .pages import SCREEN, Screen, cut_into_pages
from .sheet import Lane, Placed, Sheet, close_up, lay_out_pages, layer_extents
from .spacing import spread

_FLAT, _WIDER, _FARTHEST = 14.0, 0.035, 29.0
"""How far a turn reaches: so much, more the wider it is, at most so far; a narrow one is half a circle."""
_ROUND = 0.5523
"""Positions of the control points of a quarter circle, from its ends to its corner."""


def u_turn(start: Point, end: Point, heading: float) -> list[Point]:
    """Return the points after ``start`` of a turn to another place on the same height: corner, straight, corner.

    A wide turn reaches farther than a narrow one, and corners are round, so that one within another does not meet it.
    """
    (x0, y), (x1, _) = start, end
    width = abs(x1 - x0)
    deep = min(width / 2, _FLAT + _WIDER * width, _FARTHEST)
    side, far = (deep if x1 > x0 else -deep), y + heading * deep
    first, last = (x0 + side, far), (x1 - side, far)
    near = y + heading * deep * _ROUND
    turn = [(x0, near), (x0 + side * (1 - _ROUND), far), first]
    turn += straight(first, last)
    turn += [(x1 - side * (1 - _ROUND), far), (x1, near)]
    return [*((round(x, 1), round(y, 1)) for x, y in turn), end]


def curve(points: Iterable[Point]) -> list[Point]:
    """Return Bezier points through way points; two on one height are joined by a U-turn."""
    way = _without_straights(points)
    bezier = [way[0]]
    heading = 1.0
    for start, end in pairwise(way):
        if start[1] == end[1]:
            bezier += u_turn(start, end, heading)
            heading = -heading
        elif start[0] == end[0]:
            bezier += straight(start, end)
            heading = 1.0 if end[1] > start[1] else -1.0
        else:
            bezier += vertical(start, end)
            heading = 1.0 if end[1] > start[1] else -1.0
    return bezier


def _without_straights(points: Iterable[Point]) -> list[Point]:
    """Return the way points without doubled ones and without the inner ones of a vertical line."""
    way: list[Point] = []
    for x, y in points:
        point = (round(x, 1), round(y, 1))
        if way and way[-1] == point:
            continue
        if (
            len(way) > 1
            and way[-1][0] == way[-2][0] == point[0]
            and (way[-1][1] > way[-2][1]) == (point[1] > way[-1][1])
        ):
            way[-1] = point
        else:
            way.append(point)
    return way


_CORNER = 10.0


def ports(centre: float, width: float, wishes: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return places on a side for lines that want to go to ``wishes`` (sorted), ``gaps`` apart if there is room."""
    half = max(width / 2 - _CORNER, 0.0)
    if len(wishes) == 1:
        return [min(max(wishes[0], centre - half), centre + half)]
    total = sum(gaps)
    shrink = min(1.0, 2 * half / total) if total else 1.0
    spaces = [gap * shrink for gap in gaps]
    # A line that can run straight down keeps its place; the others are at the corner anyway.
    weights = [100.0 if abs(wish - centre) <= half else 1.0 for wish in wishes]
    places = spread([min(max(wish, centre - half), centre + half) for wish in wishes], weights, spaces)
    # Least squares under bounds is the unbounded answer, clamped: gaps before a port bound it from the left.
    before, after = 0.0, total * shrink
    bounded = []
    for index, spot in enumerate(places):
        bounded.append(min(max(spot, centre - half + before), centre + half - after))
        if index < len(spaces):
            before, after = before + spaces[index], after - spaces[index]
    return bounded


_IN_GAP = 16.0
"""Distance between arrow heads on one box."""


def lane_users(layered: Layered, net: Net, pages: list[int]) -> list[Lane]:
    """Return what runs in the corridors: lane edges, and links from one page to the next."""
    users: list[Lane] = []
    for edge in layered.lanes:
        source, target = net.edge_source[edge], net.edge_target[edge]
        page, end = pages[layered.ranks[source]], pages[layered.ranks[target]]
        number = net.edge_output_nr[edge]
        users.append((page, ("up" if end != page else "lane", target, number)))
        if end != page:
            users.append((max(end - 1, 0), ("down", target, number)))
    numbers = _numbers(layered, net) if pages and pages[-1] else {}
    for layer, (before, page) in enumerate(pairwise(pages), 1):
        if page != before:
            # The line farthest to the left turns around all others, below and above.
            for vertex in reversed(layered.layers[layer]):
                users += [(before, ("next", vertex, number)) for number in numbers.get(vertex, [0])]
    return users


def _numbers(layered: Layered, net: Net) -> dict[int, list[int]]:
    """Return for each node the outputs from which lines run between layers: each has its own path."""
    in_lane, found = set(layered.lanes), {}  # type: set[int], dict[int, set[int]]
    for edge, (target, number) in enumerate(zip(net.edge_target, net.edge_output_nr, strict=True)):
        if edge not in in_lane:
            found.setdefault(target, set()).add(number)
    return {node: sorted(numbers, reverse=True) for node, numbers in found.items()}


def routes(net: Net, sheet: Sheet, label_widths: Sequence[float]) -> list[list[Point]]:
    """Return the Bezier points of all edges."""
    layered, in_lane = sheet.layered, set(sheet.layered.lanes)
    paths = [
        [source, target] if bundle is None or edge in in_lane else layered.path(edge, source, target)
        for edge, (source, target, bundle) in enumerate(
            zip(net.edge_source, net.edge_target, layered.bundles, strict=True)
        )
    ]
    starts = _out_ports(net, sheet, paths, label_widths)
    ends = _in_ports(net, sheet, paths, starts, in_lane)
    ranks, pages, rows = layered.ranks, sheet.bands.pages, sheet.bands.rows
    drawn = []
    for edge, path in followed(enumerate(paths)):
        source, target = path[0], path[-1]
        if edge in in_lane:
            drawn.append(curve(_lane_path(sheet, path, net.edge_output_nr[edge], starts[edge], ends[edge])))
        elif len(path) > 2 or source in rows or target in rows or pages[ranks[source]] != pages[ranks[target]]:
            drawn.append(curve(_layer_path(sheet, path, net.edge_output_nr[edge], starts[edge], ends[edge])))
        else:
            drawn.append(_next_layer(sheet, source, target, starts[edge], ends[edge]))
    return drawn


def _next_layer(sheet: Sheet, source: int, target: int, start: float, end: float) -> list[Point]:
    """Return the curve of an edge from one layer to the next: straight down past its layer, then over.

    This is what ``curve`` makes of that way; most edges of a drawing are such.
    """
    bands, ranks = sheet.bands, sheet.layered.ranks
    own = round(sheet.top(source) + sheet.sizes[source].height, 1)
    below, top = round(bands.bottoms[ranks[source]], 1), round(bands.tops[ranks[target]], 1)
    x0, x1 = round(start, 1), round(end, 1)
    if x0 == x1:
        return [(x0, own), *straight((x0, own), (x1, top))]
    bezier = [(x0, own)]
    if own != below:
        bezier += straight((x0, own), (x0, below))
    return bezier + vertical((x0, below), (x1, top))


def _out_ports(net: Net, sheet: Sheet, paths: list[list[int]], label_widths: Sequence[float]) -> list[float]:
    """Return where every edge leaves its source: toward its next vertex, with room for its label."""
    wishes = [sheet.centres[path[1]] for path in paths]
    places = [0.0] * len(paths)
    for node, edges in followed(_grouped(net.edge_source).items()):
        middle, width = sheet.middle(node), sheet.sizes[node].width
        if len(edges) == 1:
            (places[edges[0]],) = ports(middle, width, [wishes[edges[0]]], ())
            continue
        edges.sort(key=lambda edge: (round(wishes[edge], 1), edge))
        gaps = [_out_gap(net, a, b, label_widths[a] + label_widths[b]) for a, b in pairwise(edges)]
        for edge, spot in zip(edges, ports(middle, width, [wishes[edge] for edge in edges], gaps), strict=True):
            places[edge] = spot
    for edge, distance in net.leaves_at.items():
        places[edge] = sheet.left(net.edge_source[edge]) + distance
    return places


def _out_gap(net: Net, one: int, other: int, labels: float) -> float:
    """Return how far apart two lines leave: lines to one card stay together until past their labels."""
    together = net.edge_target[one] == net.edge_target[other]
    return max(_IN_GAP, labels * (0.5 if together else 0.375) + 4)


def _in_ports(net: Net, sheet: Sheet, paths: list[list[int]], starts: list[float], in_lane: set[int]) -> list[float]:
    """Return where every edge enters its target: edges that share their last way point or lane share the port."""
    places = [0.0] * len(paths)
    for node, edges in followed(_grouped(net.edge_target).items()):
        centre = sheet.middle(node)
        if len(edges) == 1:
            places[edges[0]] = centre
            continue
        keys = [_arrival(net, sheet, paths[edge], edge, edge in in_lane) for edge in edges]
        wishes = {key: _coming_from(sheet, key, starts) for key in keys}
        ordered = sorted(wishes, key=lambda key: (wishes[key], key))
        gaps = [_in_gap(net, starts, one, other) for one, other in pairwise(ordered)]
        width = min(sheet.sizes[node].width, 2 * sum(gaps) + 20)
        found = ports(centre, width, [wishes[key] for key in ordered], gaps)
        by_key = dict(zip(ordered, found, strict=True))
        for edge, key in zip(edges, keys, strict=True):
            places[edge] = by_key[key]
    for edge, distance in net.enters_at.items():
        places[edge] = sheet.left(net.edge_target[edge]) + distance
    return places


def _in_gap(net: Net, starts: list[float], one: tuple[str, int], other: tuple[str, int]) -> float:
    """Return how far apart two lines arrive: the same distance as at their start, if they run side by side."""
    (kind, edge), (other_kind, twin) = one, other
    beside = kind == other_kind == "edge" and net.edge_source[edge] == net.edge_source[twin]
    return max(_IN_GAP, starts[twin] - starts[edge]) if beside else _IN_GAP


def _arrival(net: Net, sheet: Sheet, path: list[int], edge: int, laned: bool) -> tuple[str, int]:
    """Return what an edge shares its port with: nothing ("edge"), its last way point, or its lane."""
    if laned:
        return "lane", net.edge_output_nr[edge]
    return ("point", path[-2]) if path[-2] >= sheet.layered.nodes else ("edge", edge)


def _coming_from(sheet: Sheet, key: tuple[str, int], starts: list[float]) -> float:
    """Return from where the line of a port comes: its way point, its port above, or the right (lanes)."""
    kind, number = key
    if kind == "lane":
        return sheet.width
    return sheet.centres[number] if kind == "point" else starts[number]


def _grouped(ends: list[int]) -> dict[int, list[int]]:
    """Return the edges of every node that has some, by their ends."""
    groups: dict[int, list[int]] = {}
    for edge, node in enumerate(ends):
        groups.setdefault(node, []).append(edge)
    return groups


def _layer_path(sheet: Sheet, path: list[int], number: int, start: float, end: float) -> list[Point]:
    """Return the way points of an edge that runs from layer to layer."""
    bands, ranks, centres = sheet.bands, sheet.layered.ranks, sheet.centres
    way = sheet.exit(path[0], start)
    page = bands.pages[ranks[path[0]]]
    for index in range(1, len(path)):
        vertex = path[index]
        rank = ranks[vertex]
        if bands.pages[rank] != page:
            page = bands.pages[rank]
            key = ("next", vertex, number if vertex < sheet.layered.nodes else 0)
            arrival = sheet.entry(vertex, end)[0][0] if index == len(path) - 1 else centres[vertex]
            way += _page_turn(sheet, path[index - 1], key, way[-1][0], arrival)
        if index == len(path) - 1:
            return way + sheet.entry(vertex, end)
        way.append((centres[vertex], bands.tops[rank]))
        way.append((centres[vertex], bands.bottoms[rank]))
    return way


def _page_turn(sheet: Sheet, upper: int, key: tuple[str, int, int], x0: float, x1: float) -> list[Point]:
    """Return the way up the corridor between two pages, from ``x0`` below one to ``x1`` above the next."""
    page = sheet.page(upper)
    lane, (below, above) = sheet.lane(page, key), sheet.turns(page, key)
    bands, ranks = sheet.bands, sheet.layered.ranks
    bottom, top = bands.bottoms[ranks[upper]] + below, bands.tops[ranks[key[1]]] - above
    return [(x0, bottom), (lane, bottom), (lane, top), (x1, top)]


def _lane_path(sheet: Sheet, path: list[int], number: int, start: float, end: float) -> list[Point]:
    """Return the way points of an edge that runs beside the drawing."""
    source, target = path
    bands, ranks = sheet.bands, sheet.layered.ranks
    bottom, top = bands.bottoms[ranks[source]], bands.tops[ranks[target]]
    page, end_page = sheet.page(source), sheet.page(target)
    way = sheet.exit(source, start)
    if page == end_page:
        lane = sheet.lane(page, ("lane", target, number))
        if top > bottom:
            turns = [(lane, min(bottom + 30, (top + bottom) / 2)), (lane, max(top - 30, (top + bottom) / 2))]
        else:
            turns = [(lane, bottom), (lane, top)]
    else:
        up = sheet.lane(page, ("up", target, number))
        turns = [(up, bottom), (up, sheet.headroom)]
        if top > sheet.headroom:
            down = sheet.lane(max(end_page - 1, 0), ("down", target, number))
            turns += [(down, sheet.headroom), (down, top - 30)]
    return way + turns + sheet.entry(target, end)


def layout(snapshot: Graph, sizes: Sequence[Size], label_widths: Sequence[float] | None = None) -> Layout:
    """Place cards of the given sizes and route all edges; edges leave ports ``label_widths`` apart where they can."""
    return layout_net(net_of(snapshot), sizes, label_widths)


def layout_net(
    net: Net, sizes: Sequence[Size], label_widths: Sequence[float] | None = None, screen: Screen = SCREEN
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
