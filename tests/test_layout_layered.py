"""The layered layout: boxes apart, edges from bottom to top sides, layers, symmetry, sizes without recursion."""

from __future__ import annotations

import itertools
import time
from unittest import mock

import pytest
from crossings import crossings
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.layout import Box, Layout, Size, bands, layered, layers
from retrograd.inspect.layout.net import net_of
from retrograd.inspect.layout.pages import Screen
from retrograd.inspect.layout.ranks import longest_path_ranks

CARD = Size(120, 60)
Pairs = list[tuple[int, int]]


def graph(count: int, pairs: Pairs) -> Graph:
    """A snapshot with nothing but nodes and edges."""
    snapshot = Graph(roots=[0] if count else [], root_names=[None] if count else [])
    senders = {source for source, _ in pairs}
    for node in range(count):
        snapshot.op.append("MulBackward0" if node in senders else "AccumulateGrad")
        snapshot.kind.append("op" if node in senders else "leaf")
    for column in (snapshot.name, snapshot.shape, snapshot.dtype, snapshot.source, snapshot.saved_bytes, snapshot.seq):
        column.extend([None] * count)
    snapshot.scope.extend([""] * count)
    for source, target in pairs:
        snapshot.edge_input_nr.append(snapshot.edge_source.count(source) if count < 500 else 0)
        snapshot.edge_source.append(source)
        snapshot.edge_target.append(target)
        snapshot.edge_output_nr.append(0)
    return snapshot


def placed(count: int, pairs: Pairs, size: Size = CARD) -> Layout:
    """The layout of a graph of equal cards."""
    return layered.layout(graph(count, pairs), [size] * count, [24.0] * len(pairs))


@st.composite
def acyclic(draw: st.DrawFn, most: int = 24) -> tuple[int, Pairs]:
    """A graph whose edges run from lower to higher numbers, parallel ones included."""
    count = draw(st.integers(1, most))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] < pair[1])
    pairs = draw(st.lists(ends, max_size=3 * count)) if count > 1 else []
    return count, pairs


sizes = st.builds(Size, st.integers(20, 400), st.integers(20, 120))


def overlapping(boxes: list[Box]) -> list[tuple[int, int]]:
    """All pairs of boxes that share area."""
    return [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(boxes), 2)
        if a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height
    ]


def assert_ends_on_sides(made: Layout, source: int, target: int, edge: int) -> None:
    """The edge starts on the bottom side of its source and ends on the top side of its target."""
    (x0, y0), (x1, y1) = made.edges[edge][0], made.edges[edge][-1]
    above, below = made.boxes[source], made.boxes[target]
    assert y0 == pytest.approx(above.y + above.height, abs=0.11)
    assert above.x <= x0 <= above.x + above.width
    assert y1 == pytest.approx(below.y, abs=0.11)
    assert below.x <= x1 <= below.x + below.width


@settings(max_examples=150, deadline=None)
@given(acyclic(), st.data())
def test_any_graph_is_drawn_without_overlap_and_downward(shape: tuple[int, Pairs], data: st.DataObject) -> None:
    """Boxes never overlap, lie on the sheet and keep their size; each edge runs downward between the right sides."""
    count, pairs = shape
    cards = data.draw(st.lists(sizes, min_size=count, max_size=count))
    made = layered.layout(graph(count, pairs), cards, [30.0] * len(pairs))

    assert overlapping(made.boxes) == []
    assert [(box.width, box.height) for box in made.boxes] == [tuple(card) for card in cards]
    assert all(0 <= b.x and b.x + b.width <= made.width and 0 <= b.y for b in made.boxes)
    assert all(b.y + b.height <= made.height for b in made.boxes)
    for edge, (source, target) in enumerate(pairs):
        assert len(made.edges[edge]) % 3 == 1
        assert_ends_on_sides(made, source, target, edge)
        heights = [y for _, y in made.edges[edge]]
        assert heights == sorted(heights)


@settings(max_examples=40, deadline=None)
@given(acyclic())
def test_edges_do_not_cross_boxes(shape: tuple[int, Pairs]) -> None:
    """Sampled points of every edge lie outside the boxes of all nodes."""
    count, pairs = shape
    made = placed(count, pairs)
    for points in made.edges:
        for x, y in sampled(points):
            for box in made.boxes:
                inside = box.x + 1 < x < box.x + box.width - 1 and box.y + 1 < y < box.y + box.height - 1
                assert not inside


def sampled(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Eight points of every Bezier piece, worked out from the definition."""
    found = []
    for start in range(0, len(points) - 1, 3):
        piece = points[start : start + 4]
        for step in range(9):
            t = step / 8
            share = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
            found.append(tuple(sum(w * p[axis] for w, p in zip(share, piece, strict=True)) for axis in (0, 1)))
    return found


@settings(max_examples=60, deadline=None)
@given(acyclic())
def test_layers_are_the_longest_paths_from_the_roots(shape: tuple[int, Pairs]) -> None:
    """Each rank equals the longest path from a node without predecessor, found by plain relaxation."""
    count, pairs = shape
    longest = [0] * count
    for _ in range(count):
        for source, target in pairs:
            longest[target] = max(longest[target], longest[source] + 1)

    assert longest_path_ranks(count, [a for a, _ in pairs], [b for _, b in pairs]) == longest


@settings(max_examples=30, deadline=None)
@given(acyclic())
def test_same_graph_gives_the_same_layout(shape: tuple[int, Pairs]) -> None:
    """Two runs agree to the last digit."""
    assert placed(*shape) == placed(*shape)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.data())
def test_a_recording_with_cycles_is_drawn(count: int, data: st.DataObject) -> None:
    """Edges that no backward graph has (cycles, loops) still get a place and the right sides; nothing overlaps."""
    node = st.integers(0, count - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=20))
    made = placed(count, pairs)

    assert overlapping(made.boxes) == []
    for edge, (source, target) in enumerate(pairs):
        assert_ends_on_sides(made, source, target, edge)


def centre(made: Layout, node: int) -> float:
    """The middle of a box."""
    return made.boxes[node].x + made.boxes[node].width / 2


def test_diamond_is_symmetrical() -> None:
    """Both arms of a diamond stand equally far from the line through its ends."""
    made = placed(4, [(0, 1), (0, 2), (1, 3), (2, 3)])

    assert centre(made, 0) == pytest.approx(centre(made, 3), abs=0.2)
    assert centre(made, 0) - centre(made, 1) == pytest.approx(centre(made, 2) - centre(made, 0), abs=0.2)
    assert centre(made, 1) < centre(made, 2)


def test_trunk_is_straight_beside_its_parameters_and_skip() -> None:
    """In residual blocks the trunk is one vertical; weights and the skip edge stand aside."""
    trunk = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)]
    weights = [(2, 8), (4, 9), (6, 10)]
    made = placed(11, [*trunk, *weights, (1, 5)])

    middles = {centre(made, node) for node in range(7)}
    assert max(middles) - min(middles) < 0.2
    assert all(len({x for x, _ in points}) == 1 for points in made.edges[:6])
    skip = made.edges[-1]
    assert max(abs(x - centre(made, 3)) for x, _ in skip) > 60


def test_skip_edge_is_one_vertical_beside_cards_of_any_width() -> None:
    """A skip edge past narrow and wide cards has one lane: no x but its ends' and the lane's."""
    pairs = [(node, node + 1) for node in range(6)] + [(0, 6)]
    cards = [Size(width, 60) for width in (120, 100, 300, 80, 260, 120, 120)]
    made = layered.layout(graph(7, pairs), cards, [20.0] * len(pairs))

    assert len({x for x, _ in made.edges[-1]}) <= 3


def test_ports_are_in_the_order_of_what_they_lead_to() -> None:
    """Edges leave a box from left to right as their targets stand, so that they do not cross below it."""
    pairs = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 3)]
    made = placed(6, pairs)
    for node in range(3):
        ways = [points for points, (source, _) in zip(made.edges, pairs, strict=True) if source == node]
        ends = sorted((points[-1][0], points[0][0]) for points in ways)
        assert [start for _, start in ends] == sorted({start for _, start in ends})


def test_parallel_edges_are_drawn_apart() -> None:
    """The two edges of x * x do not lie on each other, be they short or long."""
    made = placed(3, [(0, 2), (0, 2), (0, 1), (1, 2), (1, 2)])

    assert made.edges[0] != made.edges[1]
    assert made.edges[3] != made.edges[4]


def test_uses_of_one_weight_share_a_line() -> None:
    """Long edges into the same output end on the same point, so that twelve uses do not make twelve lanes."""
    chain = [(node, node + 1) for node in range(12)]
    made = placed(14, [*chain, *[(node, 13) for node in range(12)]])

    assert len({points[-1] for points in made.edges[12:23]}) == 1


def test_nothing_and_one() -> None:
    """No node gives an empty sheet, one node gives one box."""
    assert placed(0, []) == Layout([], [], 0.0, 0.0)
    assert len(placed(1, []).boxes) == 1


def test_wide_layer_is_wrapped() -> None:
    """A thousand nodes in one layer do not make a sheet of a thousand cards' width; nothing overlaps."""
    pairs = [(0, node) for node in range(1, 1001)] + [(node, node + 1000) for node in range(1, 1001)]
    made = placed(2001, pairs)

    assert made.width < 1000 * 120 / 4
    rows = sorted((box.y, box.x, box.x + box.width) for box in made.boxes)
    assert all(a[0] < b[0] or a[2] <= b[1] for a, b in itertools.pairwise(rows))
    tops = sorted({box.y for box in made.boxes})
    assert all(b - a > 60 for a, b in itertools.pairwise(tops))
    for edge, (source, target) in enumerate(pairs):
        assert_ends_on_sides(made, source, target, edge)


def test_lines_to_wrapped_rows_run_in_gutters() -> None:
    """Edges into and out of every row of a wrapped layer pass between the cards of the rows before and after."""
    pairs = [(0, node) for node in range(1, 81)] + [(node, 81) for node in range(1, 81)]
    with mock.patch.object(bands, "_WIDEST", 900.0):
        made = placed(82, pairs)

    assert len({box.y for box in made.boxes}) > 5
    for point in itertools.chain.from_iterable(sampled(points) for points in made.edges):
        assert not any(
            box.x + 1 < point[0] < box.x + box.width - 1 and box.y + 1 < point[1] < box.y + box.height - 1
            for box in made.boxes
        )


def test_deep_chain_is_cut_into_columns() -> None:
    """A chain of 1,000 nodes stands in columns of about the sheet's height; nothing overlaps, ends stay on sides."""
    pairs = [(node, node + 1) for node in range(999)]
    made = placed(1000, pairs)

    assert 0.3 < made.width / made.height < 3
    assert len({(box.x, box.y) for box in made.boxes}) == 1000
    for edge, (source, target) in enumerate(pairs):
        assert_ends_on_sides(made, source, target, edge)


def test_lines_that_turn_from_column_to_column_do_not_cross() -> None:
    """Beside a chain in columns a long line turns around all others, or within them."""
    count = 30
    pairs = [*((node, node + 1) for node in range(count - 1)), (0, count - 1)]
    made = placed(count, pairs)
    *short, skip = [sampled(points) for points in made.edges]
    columns = {box.x for box in made.boxes}

    assert len(columns) > 2
    assert [crossings(points, skip) for points in short] == [0] * len(short)


def test_lines_that_turn_together_stay_apart() -> None:
    """Several lines that run from one column to the next can be told apart below and above as well."""
    count, lines = 30, 4
    pairs = [*((node, node + 1) for node in range(count - 1)), *((node, count - 1 - node) for node in range(lines))]
    made = placed(count, pairs)
    for side in (max, min):
        turns = sorted(side(y for _, y in points) for points in made.edges[-lines:])
        assert [later - earlier >= 5 for earlier, later in itertools.pairwise(turns)] == [True] * (lines - 1)
    assert 0 <= turns[0]
    assert max(y for points in made.edges for _, y in points) <= made.height


@pytest.mark.parametrize(
    ("count", "pairs"),
    [
        (20_000, [(node, node + 1) for node in range(19_999)]),
        (20_001, [(0, node) for node in range(1, 10_001)] + [(node, node + 10_000) for node in range(1, 10_001)]),
        (10_001, [(node, node + 1) for node in range(9_999)] + [(node, 10_000) for node in range(10_000)]),
    ],
    ids=["chain", "wide", "one weight used everywhere"],
)
def test_large_graphs_take_linear_time_and_no_recursion(count: int, pairs: Pairs) -> None:
    """Shapes that break recursive or quadratic layouts are placed in seconds."""
    began = time.process_time()
    made = placed(count, pairs)

    assert time.process_time() - began < 10
    assert len(made.boxes) == count
    assert all(len(points) >= 4 for points in made.edges)
    assert sum(map(len, made.edges)) < 40 * (count + len(pairs))


@settings(max_examples=60, deadline=None)
@given(acyclic(most=40), st.data())
def test_rows_pages_and_lanes_keep_the_promises(shape: tuple[int, Pairs], data: st.DataObject) -> None:
    """With limits so low that layers wrap, pages are cut and lanes are used, nothing overlaps, crosses or leaves."""
    count, pairs = shape
    cards = data.draw(st.lists(sizes, min_size=count, max_size=count))
    with mock.patch.object(bands, "_WIDEST", 500.0), mock.patch.object(layers, "_SPARE", -3 * count):
        made = layered.layout_net(net_of(graph(count, pairs)), cards, [30.0] * len(pairs), Screen(600.0, 400.0))

    assert overlapping(made.boxes) == []
    for edge, (source, target) in enumerate(pairs):
        assert_ends_on_sides(made, source, target, edge)
        for x, y in sampled(made.edges[edge]):
            assert 0 <= x <= made.width
            assert 0 <= y <= made.height
            assert not any(b.x + 1 < x < b.x + b.width - 1 and b.y + 1 < y < b.y + b.height - 1 for b in made.boxes)
