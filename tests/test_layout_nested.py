"""Nested drawings: boxes inside their frames and apart, lines that pass through frames without a jump."""

from __future__ import annotations

import itertools

import pytest
from folding_samples import scoped, snapshot, stack_of_layers
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograd.inspect.fold import STEPS, View, everything, first_opening, fold, view
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.layout import Box, Size
from retrograd.inspect.layout.nested import HEADER, NestedLayout, Title, layout

SIZES = st.builds(Size, st.integers(20, 400), st.integers(20, 120))


def apart(a: Box, b: Box) -> bool:
    """Whether two boxes share no area."""
    return a.x >= b.x + b.width or b.x >= a.x + a.width or a.y >= b.y + b.height or b.y >= a.y + a.height


def inside(inner: Box, outer: Box, top: float = 0.0) -> bool:
    """Whether a box lies in another, below its title."""
    return (
        inner.x >= outer.x
        and inner.y >= outer.y + top
        and inner.x + inner.width <= outer.x + outer.width + 0.2
        and inner.y + inner.height <= outer.y + outer.height + 0.2
    )


def assert_nested(seen: View, made: NestedLayout) -> None:
    """Boxes and frames lie in their frame, below its title, and apart from each other."""
    holders = [(box.frame, place) for box, place in zip(seen.boxes, made.boxes, strict=True)]
    holders += [(frame.parent, made.frames[number]) for number, frame in enumerate(seen.frames) if number]
    for frame, place in holders:
        assert inside(place, made.frames[frame], HEADER if frame else 0.0)
    for (frame, a), (other, b) in itertools.combinations(holders, 2):
        assert frame != other or apart(a, b)


def assert_joined(seen: View, made: NestedLayout) -> None:
    """Lines leave at the bottom, enter at the top, are whole Bezier pieces, and stay on the sheet."""
    for edge, (source, target) in enumerate(zip(seen.sources, seen.targets, strict=True)):
        points = made.edges[edge]
        assert len(points) % 3 == 1
        above, below = made.boxes[source], made.boxes[target]
        (x0, y0), (x1, y1) = points[0], points[-1]
        assert abs(y0 - above.y - above.height) < 0.3
        assert above.x <= x0 <= above.x + above.width
        assert abs(y1 - below.y) < 0.3
        assert below.x <= x1 <= below.x + below.width
        for x, y in points:
            assert -0.2 <= x <= made.width + 0.2
            assert -0.2 <= y <= made.height + 0.2


def assert_titles_are_free(made: NestedLayout, width: float) -> None:
    """No line runs through the title at the top left of a frame."""
    for points in made.edges:
        for start in range(0, len(points) - 1, 3):
            for x, y in bezier(points[start : start + 4]):
                assert not any(f.x < x < f.x + width - 1 and f.y < y < f.y + HEADER for f in made.frames[1:])


@settings(max_examples=60, deadline=None)
@given(scoped(), st.data())
def test_any_view_is_drawn_in_its_frames(graph: Graph, data: st.DataObject) -> None:
    """Whatever is open: nothing overlaps, all stands in its frame, lines end on the right sides."""
    folded = fold(graph)
    numbers = st.sets(st.integers(0, len(folded.scopes) - 1))
    seen = view(folded, data.draw(numbers), data.draw(numbers))
    cards = data.draw(st.lists(SIZES, min_size=len(seen.boxes), max_size=len(seen.boxes)))
    made = layout(seen, cards, [30.0] * len(seen.edges), [Title(150.0)] * len(seen.frames))

    assert [(box.width, box.height) for box in made.boxes] == [tuple(card) for card in cards]
    assert_nested(seen, made)
    assert_joined(seen, made)
    assert_titles_are_free(made, 150.0)
    assert layout(seen, cards, [30.0] * len(seen.edges), [Title(150.0)] * len(seen.frames)) == made


@settings(max_examples=40, deadline=None)
@given(scoped(most=16), st.data())
def test_lines_do_not_cross_cards(graph: Graph, data: st.DataObject) -> None:
    """Sampled points of every line lie outside of all cards."""
    folded = fold(graph)
    seen = view(folded, data.draw(st.sets(st.integers(0, len(folded.scopes) - 1))))
    made = layout(seen, [Size(120, 60)] * len(seen.boxes))
    for points in made.edges:
        for start in range(0, len(points) - 1, 3):
            for x, y in bezier(points[start : start + 4]):
                assert not any(b.x + 1 < x < b.x + 119 and b.y + 1 < y < b.y + 59 for b in made.boxes)


def bezier(piece: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Nine points of one piece, worked out from the definition."""
    found = []
    for step in range(9):
        t = step / 8
        share = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
        x, y = (sum(w * point[axis] for w, point in zip(share, piece, strict=True)) for axis in (0, 1))
        found.append((x, y))
    return found


def test_trunk_runs_straight_through_a_frame() -> None:
    """The main line of a residual stack is one vertical, in and out of the repeat's frame."""
    folded = fold(stack_of_layers(12))
    chosen = first_opening(folded)
    seen = view(folded, chosen.opened, chosen.unrolled)
    made = layout(seen, [Size(140, 60)] * len(seen.boxes))
    middles = {round(box.x + box.width / 2) for box in made.boxes}

    assert max(middles) - min(middles) <= 1


def test_a_frame_is_as_wide_as_its_title() -> None:
    """A long title of a frame around small cards has room."""
    folded = fold(stack_of_layers(3))
    whole = everything(folded)
    seen = view(folded, whole.opened)
    made = layout(
        seen, [Size(40, 30)] * len(seen.boxes), None, [Title(0.0)] + [Title(300.0, 200.0)] * (len(seen.frames) - 1)
    )

    assert all(frame.width >= 500 for frame in made.frames[1:])


def test_lines_come_in_between_the_parts_of_a_long_title() -> None:
    """The second part stands beside them in its frame, and no line runs through it."""
    folded = fold(stack_of_layers(3))
    seen = view(folded, everything(folded).opened)
    titles = [Title(0.0)] + [Title(60.0, 220.0)] * (len(seen.frames) - 1)
    made = layout(seen, [Size(140, 60)] * len(seen.boxes), None, titles)

    assert_joined(seen, made)
    for number, frame in enumerate(made.frames[1:], 1):
        left = frame.x + made.endings[number]
        assert left + 220.0 <= frame.x + frame.width + 0.2
        for points in made.edges:
            for start in range(0, len(points) - 1, 3):
                for x, y in bezier(points[start : start + 4]):
                    inside = frame.x < x < frame.x + 60.0 or left < x < left + 220.0
                    assert not (inside and frame.y < y < frame.y + HEADER)


@pytest.mark.parametrize("layers", [6, 20, 60])
def test_tall_drawings_stand_in_columns_that_fit_a_screen(layers: int) -> None:
    """With everything open, frames in frames, a stack of layers keeps about the shape of a screen."""
    folded = fold(stack_of_layers(layers), set(STEPS) - {"repeats"})
    seen = view(folded, everything(folded).opened)
    made = layout(seen, [Size(140, 60)] * len(seen.boxes), None, [Title(100.0)] * len(seen.frames))

    assert 0.6 < made.width / made.height < 4
    assert made.height < 900 + 90 * layers  # in one column it is four times that
    assert_nested(seen, made)
    assert_joined(seen, made)
    assert_titles_are_free(made, 100.0)


def test_short_drawings_stay_in_one_column() -> None:
    """What fits a screen is not cut."""
    folded = fold(stack_of_layers(1))
    seen = view(folded, everything(folded).opened)
    made = layout(seen, [Size(140, 60)] * len(seen.boxes))

    assert len({box.x + box.width / 2 for box in made.boxes}) == 1


def test_lines_side_by_side_leave_room_for_their_labels() -> None:
    """Two lines from card to card run so far apart that a short and a long label stand beside each other."""
    graph = snapshot([("Mul", ""), ("Split", "")], [(0, 1), (0, 1)])
    made = layout(view(fold(graph), set()), [Size(120, 60)] * 2, [6.0, 44.0])
    (a, *_, a_end), (b, *_, b_end) = made.edges

    assert b[0] - a[0] > (6 + 44) / 2
    assert b_end[0] - a_end[0] > (6 + 44) / 2


@pytest.mark.parametrize("heads", list(itertools.permutations((3, 4, 5))))
def test_lines_into_the_ports_of_a_frame_do_not_cross(heads: tuple[int, ...]) -> None:
    """Three losses stand in the order in which the frame of their model has its heads, whichever came first."""
    ops = [("Loss", "")] * 3 + [("A", "m"), ("B", "m"), ("C", "m"), ("Relu", "m/trunk"), ("Mm", "m/trunk")]
    edges = [*enumerate(heads), (3, 6), (4, 6), (5, 6), (6, 7)]
    folded = fold(snapshot(ops, sorted(edges)), ("modules",))
    made = layout(seen := view(folded, everything(folded).opened), [Size(120, 60)] * 8)
    lines = [points for points, source in zip(made.edges, seen.sources, strict=True) if source < 3]

    assert len(seen.frames) == 3
    assert sorted(lines, key=lambda points: points[0]) == sorted(lines, key=lambda points: points[-1])


@pytest.mark.parametrize("heads", list(itertools.permutations((5, 6, 7))))
def test_heads_of_a_frame_stand_in_the_order_of_the_sums_above(heads: tuple[int, ...]) -> None:
    """Where the losses cannot change places, being added two and two, the heads in the frame do."""
    ops = [("Add", ""), ("Add", ""), *[("Loss", "")] * 3, ("A", "m"), ("B", "m"), ("C", "m"), ("Relu", "m/trunk")]
    edges = [(0, 1), (0, 4), (1, 2), (1, 3), *enumerate(heads, 2), *((head, 8) for head in (5, 6, 7))]
    folded = fold(snapshot(ops, sorted(edges)), ("modules",))
    made = layout(seen := view(folded, everything(folded).opened), [Size(120, 60)] * 9)
    lines = [points for points, source in zip(made.edges, seen.sources, strict=True) if 2 <= source < 5]

    assert sorted(lines, key=lambda points: points[0]) == sorted(lines, key=lambda points: points[-1])


def test_a_drawing_fits_what_is_in_sight_although_many_lines_run_on() -> None:
    """A tall frame that many lines pass stands in columns where the whole is to be seen at once, and only there."""
    names = ("Sin", "Cos", "Exp", "Log", "Tan")
    rows = [(names[node % 5] + "x" * (node % 7), "net" if node > 1 else "") for node in range(40)]
    pairs = sorted({(a, b) for a in range(40) for b in (a + 1, a + 9, a + 20) if b < 40})
    folded = fold(snapshot(rows, pairs))
    seen = view(folded, everything(folded).opened, everything(folded).unrolled)
    cards, sight = [Size(90.0, 40.0)] * len(seen.boxes), Size(2000.0, 1500.0)
    usual, fitted = layout(seen, cards), layout(seen, cards, sight=sight)

    assert usual.height > sight.height
    assert (fitted.height <= sight.height, fitted.width <= sight.width) == (True, True)
    assert_nested(seen, fitted)
    assert_joined(seen, fitted)
