"""The parts of the layout that are worth a proof of their own: spreading on a line, text widths, crossings."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.layout.layered import ports
from retrograd.inspect.layout.layers import build
from retrograd.inspect.layout.net import net_of
from retrograd.inspect.layout.ordering import reduce_crossings
from retrograd.inspect.layout.spacing import spread
from retrograd.inspect.layout.text_size import shortened, text_width, wrapped

places = st.lists(st.integers(-500, 500).map(float), min_size=1, max_size=7)


@settings(max_examples=100, deadline=None)
@given(places, st.data())
def test_spread_keeps_gaps_and_is_least_squares(wishes: list[float], data: st.DataObject) -> None:
    """Gaps hold, and no small shift of a group of neighbours that keeps them comes nearer to the wishes."""
    count = len(wishes)
    gaps = data.draw(st.lists(st.integers(0, 60).map(float), min_size=count - 1, max_size=count - 1))
    found = spread(wishes, [1.0] * count, gaps)

    assert all(b - a >= gap - 1e-6 for (a, b), gap in zip(itertools.pairwise(found), gaps, strict=True))
    cost = sum((place - wish) ** 2 for place, wish in zip(found, wishes, strict=True))
    for first, last, step in itertools.product(range(count), range(count), (-0.01, 0.01)):
        moved = [place + step if first <= i <= last else place for i, place in enumerate(found)]
        if all(b - a >= gap for (a, b), gap in zip(itertools.pairwise(moved), gaps, strict=True)):
            assert sum((p - w) ** 2 for p, w in zip(moved, wishes, strict=True)) >= cost - 1e-6


@settings(max_examples=60, deadline=None)
@given(places, st.integers(20, 300))
def test_ports_stay_on_the_side_and_in_order(wishes: list[float], width: int) -> None:
    """Ports lie on the box's side, from left to right as their wishes do, even where there is no room for gaps."""
    wishes.sort()
    found = ports(0.0, float(width), wishes, [25.0] * (len(wishes) - 1))

    assert all(b - a >= -1e-6 for a, b in itertools.pairwise(found))
    assert all(abs(place) <= width / 2 for place in found)


def test_text_width_knows_wide_and_combining_characters() -> None:
    """A CJK character takes a square, a combining accent nothing, bold more than regular."""
    assert text_width("漢字", 10) >= 20
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("weight", 10, bold=True) > text_width("weight", 10)
    assert text_width("iiii", 10) < text_width("MMMM", 10)


@given(st.text(max_size=80), st.integers(20, 200))
def test_shortened_text_fits(text: str, room: int) -> None:
    """What comes out fits the room, and a text that fits comes out as it is."""
    found = shortened(text, 11, room)

    assert text_width(found, 11) <= room
    assert found == text or "…" in found


def test_shortened_keeps_both_ends() -> None:
    """A long parameter name keeps its beginning and its end."""
    found = shortened("encoder.layers.11.self_attention.out_projection.weight", 11, 150)

    assert found.startswith("enc")
    assert found.endswith("weight")


def test_crossings_of_a_planar_graph_vanish() -> None:
    """A tree of pairs given in a twisted order is drawn without a crossing, counted pair by pair."""
    pairs = [(0, 1), (0, 2), (1, 6), (2, 4), (1, 5), (2, 3), (3, 7), (4, 7), (5, 8), (6, 8)]
    snapshot = Graph(op=["x"] * 9, roots=[0])
    for source, target in pairs:
        snapshot.edge_source.append(source)
        snapshot.edge_target.append(target)
        snapshot.edge_output_nr.append(0)
    layered = build(net_of(snapshot))
    layered.layers = [sorted(layer, key=lambda vertex: vertex * 7 % 9) for layer in layered.layers]
    reduce_crossings(layered)
    place = {vertex: index for layer in layered.layers for index, vertex in enumerate(layer)}
    crossings = sum(
        layered.ranks[a] == layered.ranks[c] and (place[a] - place[c]) * (place[b] - place[d]) < 0
        for (a, b), (c, d) in itertools.combinations(pairs, 2)
    )

    assert crossings == 0


@pytest.mark.parametrize("text", ["", "a", "漢" * 100])
def test_shortened_to_no_room(text: str) -> None:
    """No room at all leaves at most the ellipsis."""
    assert len(shortened(text, 11, 1)) <= 1


def test_text_in_lines() -> None:
    """All words of a text in their order, in lines that fit; what does not fit into the last one is left out in it."""
    words = "enc.weight and enc.bias get no gradient: the chain is cut by .detach() of torch.relu(enc(x))"
    lines = wrapped(words, 11, 200, 9)
    assert " ".join(lines) == words
    assert max(text_width(line, 11) for line in lines) <= 200
    short = wrapped(words + " " + "x" * 500, 11, 200, 3)
    assert ["…" in line for line in short] == [False, False, True]
    assert max(text_width(line, 11) for line in short) <= 200
    assert wrapped("x", 11, 200, 3) == ["x"]
