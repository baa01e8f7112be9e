"""Folding: every step, the way back to every node and edge, repeats by structure, limits, and no recursion."""

from __future__ import annotations

import collections
import itertools

import pytest
from folding_samples import scoped, snapshot, stack_of_layers
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograd.errors import UsageError
from retrograd.inspect.fold import DEEPEST, STEPS, Folded, Opening, everything, expand, first_opening, fold, view
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.program.places import SourceLine

GRAPHS = st.tuples(scoped(), st.sets(st.sampled_from(list(STEPS))))


def heads(folded: Folded) -> list[str]:
    """The operators of all atoms, short."""
    return [folded.original.op[head].removesuffix("Backward0") for head in folded.heads]


@settings(max_examples=80, deadline=None)
@given(GRAPHS)
def test_every_node_and_edge_can_be_found_again(made: tuple[Graph, set[str]]) -> None:
    """Whatever steps: each node stands on one atom; each edge is an edge of the fold, or on one, or on a card."""
    graph, steps = made
    folded = fold(graph, steps)
    members = folded.members()

    assert sorted({node for inside in members for node in inside}) == list(range(len(graph)))
    seen = set()
    for edge in range(len(folded.sources)):
        hop = folded.first_edges[edge]
        assert graph.edge_source[hop] == folded.heads[folded.sources[edge]]
        assert graph.edge_target[folded.last_edges[edge]] == folded.heads[folded.targets[edge]]
        seen |= {hop, folded.last_edges[edge]}
        way = list(folded.via(edge))
        assert all(graph.op[node].startswith(("View", "T")) for node in way)
        seen |= {number for number in range(graph.edge_count) if graph.edge_source[number] in way}
    on_cards = {leaf for leaves in folded.rows.values() for leaf in leaves}
    for edge in set(range(graph.edge_count)) - seen:
        stack, ends = [graph.edge_target[edge]], []
        while stack:
            node = stack.pop()
            after = [t for s, t in zip(graph.edge_source, graph.edge_target, strict=True) if s == node]
            stack += after
            ends += [] if after else [node]
        assert on_cards.issuperset(ends)


@settings(max_examples=80, deadline=None)
@given(GRAPHS)
def test_scopes_are_nested_runs_of_atoms(made: tuple[Graph, set[str]]) -> None:
    """Scopes lie inside their parents, beside their siblings; edges run forward; paths are unique."""
    graph, steps = made
    folded = fold(graph, steps)
    for number, scope in enumerate(folded.scopes):
        assert number == 0 or scope.parent < number
        assert all(folded.scopes[child].parent == number for child in scope.children)
        if number:
            outer = folded.scopes[scope.parent]
            assert outer.begin <= scope.begin < scope.end <= outer.end
        ends = [folded.scopes[child].end for child in scope.children]
        begins = [folded.scopes[child].begin for child in scope.children]
        assert all(end <= begin for end, begin in zip(ends[:-1], begins[1:], strict=True))
    assert all(source < target for source, target in zip(folded.sources, folded.targets, strict=True))
    paths = [scope.path for scope in folded.scopes]
    assert len(set(paths)) == len(paths)


@settings(max_examples=80, deadline=None)
@given(GRAPHS, st.data())
def test_any_view_shows_every_atom_once_and_every_outer_edge(made: tuple[Graph, set[str]], data: st.DataObject) -> None:
    """Boxes cover all atoms but those a repeat shows by another; edges join what the atoms' edges join."""
    folded = fold(*made)
    numbers = st.sets(st.integers(0, len(folded.scopes) - 1))
    seen = view(folded, data.draw(numbers), data.draw(numbers))

    assert all(0 <= box < len(seen.boxes) for box in seen.box_of)
    for number, box in enumerate(seen.boxes):
        assert set(seen.box_of[box.begin : box.end]) == {number}
    shown = set(zip(seen.sources, seen.targets, strict=True))
    truth = {
        (int(seen.box_of[source]), int(seen.box_of[target]))
        for source, target in zip(folded.sources, folded.targets, strict=True)
    }
    assert shown <= truth
    if not any(frame.repeats > 1 for frame in seen.frames):
        assert {pair for pair in truth if pair[0] != pair[1]} <= shown
        assert sum(seen.counts) == sum(
            seen.box_of[s] != seen.box_of[t] for s, t in zip(folded.sources, folded.targets, strict=True)
        )


@settings(max_examples=50, deadline=None)
@given(scoped())
def test_everything_open_shows_every_atom(graph: Graph) -> None:
    """With all scopes open there is a box per atom and an edge per edge; with no step at all the graph itself."""
    folded = fold(graph)
    whole = everything(folded)
    seen = view(folded, whole.opened, whole.unrolled)
    plain = fold(graph, ())
    again = everything(plain)

    assert [box.begin for box in seen.boxes] == list(range(len(folded)))
    assert sorted(plain.heads) == list(range(len(graph)))
    unfolded = view(plain, again.opened, again.unrolled)
    counted = collections.Counter(
        (plain.heads[source], plain.heads[target])
        for source, target in zip(unfolded.sources, unfolded.targets, strict=True)
    )
    assert counted == collections.Counter(zip(graph.edge_source, graph.edge_target, strict=True))


def test_stack_of_layers_becomes_one_frame_with_a_count() -> None:
    """Twelve equal layers are one repeat that shows one layer; weights stand on cards, transposes on edges."""
    folded = fold(stack_of_layers(12))
    chosen = first_opening(folded)
    seen = view(folded, chosen.opened, chosen.unrolled)

    assert heads(folded)[:5] == ["Sum", "Mm", "Add", "Relu", "Mm"]
    assert [folded.scopes[frame.scope].label for frame in seen.frames] == ["", "net", "layers 0–11"]
    assert [frame.repeats for frame in seen.frames] == [1, 1, 12]
    assert [box.copies for box in seen.boxes] == [1, 1, 12, 12, 12, 1]
    assert folded.rows[4] == (len(folded.original) - 13,)
    assert set(zip(seen.sources, seen.targets, strict=True)) == {(0, 1), (1, 2), (2, 3), (3, 4), (2, 5), (4, 5)}


def test_layers_that_differ_are_not_folded_together() -> None:
    """A layer with another inner edge, shape or parameter is no copy of the others."""
    graph = stack_of_layers(6)
    graph.op[graph.op.index("ReluBackward0", 12)] = "TanhBackward0"
    folded = fold(graph)

    assert sorted(scope.repeats for scope in folded.scopes if scope.kind == "repeat") == [2, 3]


def test_expand_opens_a_module_and_shows_its_repeat_block_by_block() -> None:
    """The path of one layer opens it among its siblings; that of the list opens the repeat; "all" everything."""
    folded = fold(stack_of_layers(12))
    one, whole, rolled = Opening(), Opening(), Opening()
    expand(folded, one, ["net/layers/3"])
    expand(folded, whole, ["all"])
    expand(folded, rolled, ["net/layers"])

    opened = view(folded, one.opened, one.unrolled)
    assert len(opened.boxes) == 1 + 1 + 11 + 3 + 1
    assert [folded.scopes[frame.scope].path for frame in opened.frames[2:]] == ["net/layers/repeat-0", "net/layers/3"]
    assert len(view(folded, whole.opened, whole.unrolled).boxes) == len(folded)
    assert len(view(folded, rolled.opened, rolled.unrolled).boxes) == 6
    with pytest.raises(UsageError, match=r"no scope 'nix'.*net/layers"):
        expand(folded, one, ["nix"])


def test_loop_without_modules_is_recognised() -> None:
    """A cell unrolled fifty times, with shared weights and no module, is one repeat of 50."""
    rows = [("Sum", "")] + [("Tanh", ""), ("Add", ""), ("Mm", "")] * 50 + [("Mul", "")]
    edges = [(node, node + 1) for node in range(151)] + [(3 * cell + 3, 152) for cell in range(50)]
    folded = fold(snapshot([*rows, ("", "")], edges, leaves=1))
    chosen = first_opening(folded)

    assert len(view(folded, chosen.opened, chosen.unrolled).boxes) == 5
    assert [scope.repeats for scope in folded.scopes if scope.kind == "repeat"] == [50]
    assert folded.copies == {152: 50}


@pytest.mark.parametrize(("steps", "tasks"), [(30, 4), (80, 2)])
def test_long_blocks_are_recognised(steps: int, tasks: int) -> None:
    """Tasks of a hundred operators and more, without a module, are one repeat; what recurs in each is one inside it."""
    task = [("Mean", ""), *[("Sub", ""), ("Mul", "")] * steps, ("Exp", ""), *[("Mul", ""), ("Neg", "")] * steps]
    rows = [("Stack", ""), *task * tasks]
    edges = [(at, at + 1) for at in range(1, len(rows) - 1) if at % len(task)]
    edges += [(0, 1 + number * len(task)) for number in range(tasks)]
    folded = fold(snapshot(rows, edges))

    repeats = [scope.repeats for scope in folded.scopes if scope.kind == "repeat"]
    assert repeats == [tasks, *[steps, steps - 1] * tasks]  # the last operator of a task has nothing behind it


def test_functions_of_the_user_are_boxes_where_there_is_no_module() -> None:
    """Nodes without a scope stand in the box of the named function that made them."""
    graph = stack_of_layers(0)
    graph.scope = [""] * len(graph)
    graph.source = [SourceLine("/a/b.py", 1, name) for name in ("<module>", "predict", "predict", "predict", "predict")]
    folded = fold(graph)

    assert [(scope.label, scope.path, scope.kind) for scope in folded.scopes[1:]] == [
        ("predict()", "b.py:predict()", "function")
    ]
    assert fold(graph, set(STEPS) - {"functions"}).scopes[1:] == []


def test_a_function_that_calls_modules_is_not_boxed_piece_by_piece() -> None:
    """The pieces of one function between its modules have no box each; calls by turns and single stretches have."""

    def boxes(*functions: str) -> list[str]:
        rows = [("Mul" if name else "Mm", "" if name else "net/layer") for name in functions for _ in range(2)]
        graph = snapshot(rows, [(node, node + 1) for node in range(len(rows) - 1)])
        made_in = [name for name in functions for _ in range(2)]
        graph.source = [SourceLine("a.py", 1, name) if name else None for name in made_in]
        return [scope.label for scope in fold(graph, {"modules", "functions"}).scopes if scope.kind == "function"]

    assert boxes("step", "", "step", "", "step") == []
    assert boxes("step", "") == ["step()"]
    assert boxes("norm", "", "act", "", "norm", "", "act") == ["norm()", "act()", "norm()", "act()"]


def test_uses_of_a_leaf_close_together_share_it_and_far_ones_do_not() -> None:
    """exp(x) * sin(x) keeps its diamond, w * w both its arrows, also beside something else."""
    diamond = snapshot([("Mul", ""), ("Exp", ""), ("Sin", ""), ("", "")], [(0, 1), (0, 2), (1, 3), (2, 3)], leaves=1)
    folded = fold(diamond)

    assert (len(folded), folded.rows) == (4, {})
    assert list(zip(folded.sources, folded.targets, strict=True)) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    square = fold(snapshot([("Add", ""), ("Mul", ""), ("", "net")], [(0, 1), (1, 2), (1, 2)], leaves=1))
    assert list(zip(square.sources, square.targets, strict=True)) == [(0, 1), (1, 2), (1, 2)]


@pytest.mark.parametrize("between", [[], ["T"]])
def test_tied_weights_are_drawn_once_per_use_and_say_which(between: list[str]) -> None:
    """x @ w and h @ w.t() one operator apart show w twice, also where one of them or both have a transpose."""
    rows = [("Sum", ""), ("Mm", ""), ("Tanh", ""), ("Mm", ""), *((op, "") for op in between), ("", "")]
    last = len(rows) - 1
    edges = [(0, 1), (1, 2), (1, last), (2, 3), (3, 4)] + [(4, last)] * bool(between)
    folded = fold(snapshot(rows, edges, leaves=1))

    assert heads(folded) == ["Sum", "Mm", "Tanh", "Mm"]
    assert folded.rows == {1: (last,), 3: (last,)}
    assert [folded.use_text(atom, 0) for atom in (1, 3)] == [" (1 of 2)", " (2 of 2)"]


@pytest.mark.parametrize("scope", ["", "net/scale"])
def test_a_parameter_is_no_meeting_even_where_operators_get_nothing_else(scope: str) -> None:
    """Two products of constants with one weight, or two operators on a module's parameter, each have it on the card."""
    op = "Exp" if scope else "Mm"
    folded = fold(snapshot([("Add", ""), (op, ""), (op, ""), ("", scope)], [(0, 1), (0, 2), (1, 3), (2, 3)], leaves=1))

    assert folded.rows == {1: (3,), 2: (3,)}


def test_a_leaf_met_here_and_used_elsewhere_has_numbers_on_both_kinds_of_places() -> None:
    """exp(w) * sin(w) keeps its atom; the product further on has a row; together they are two places."""
    rows = [("Sum", ""), ("Mm", ""), ("Tanh", ""), ("Cos", ""), ("Mul", ""), ("Exp", ""), ("Sin", ""), ("", "")]
    edges = [(0, 1), (1, 2), (1, 7), (2, 3), (3, 4), (4, 5), (4, 6), (5, 7), (6, 7)]
    folded = fold(snapshot(rows, edges, leaves=1))

    assert (folded.use_text(1, 0), folded.use_text(len(folded) - 1)) == (" (1 of 2)", " (2 of 2)")
    assert folded.use_text(0) == ""


@pytest.mark.parametrize("seen_first", [1, 2])
def test_uses_are_numbered_from_the_loss_down_and_from_left_to_right(seen_first: int) -> None:
    """In (x @ w) * f(y @ w, z @ w) the first operand's use is the first, whichever operand ran later."""
    rows = [("Mul", ""), ("Mm", ""), ("Where", ""), ("Mm", ""), ("Mm", ""), ("", "")]
    swapped = {1: 2, 2: 1} if seen_first == 2 else {}  # the snapshot's order is that of backward: latest first
    edges = [(0, 1), (0, 2), (1, 5), (2, 3), (2, 4), (3, 5), (4, 5)]
    edges = [(swapped.get(source, source), swapped.get(target, target)) for source, target in edges]
    left, right = swapped.get(1, 1), swapped.get(2, 2)
    rows[left], rows[right] = ("Mm", ""), ("Where", "")
    folded = fold(snapshot(rows, edges, leaves=1))
    numbers = {folded.heads[atom]: folded.use_text(atom, 0) for atom in folded.rows}

    assert numbers == {left: " (1 of 3)", 3: " (2 of 3)", 4: " (3 of 3)"}


@settings(max_examples=60, deadline=None)
@given(GRAPHS)
def test_reading_goes_down_and_through_one_scope_after_the_other(made: tuple[Graph, set[str]]) -> None:
    """Whatever steps: every atom is read once and before all that it leads to, those of a scope without a break."""
    folded = fold(*made)
    order = folded.reading_order()
    place = {atom: number for number, atom in enumerate(order)}

    assert sorted(order) == list(range(len(folded)))
    assert all(place[source] < place[end] for source, end in zip(folded.sources, folded.targets, strict=True))
    for scope in folded.scopes[1:]:
        inside = [place[atom] for atom in range(scope.begin, scope.end)]
        assert max(inside) - min(inside) == len(scope) - 1


def test_long_rows_become_one_box_and_crowds_are_divided() -> None:
    """A chain of different operators folds; a thousand operators without any order are opened part by part."""
    ops = [("Sum", ""), ("Op0", "")] + [(f"Op{number}", "") for number in range(1, 14)]
    edges = [(node, node + 1) for node in range(14)] + [(0, 14)]
    folded = fold(snapshot(ops, edges))
    crowd = fold(snapshot([(f"Op{number}", "") for number in range(1000)], [(0, number) for number in range(1, 1000)]))
    first = first_opening(crowd)

    assert [(scope.kind, len(scope)) for scope in folded.scopes[1:]] == [("chain", 13)]
    assert len(view(crowd, first.opened).boxes) <= 64
    assert len(view(crowd, everything(crowd).opened).boxes) == 1000


def test_frames_in_frames_open_only_as_deep_as_they_are_read() -> None:
    """Of twelve modules in each other the outer ones are open; a number of boxes that is asked for opens all."""
    scopes = ["/".join(["net"] * depth) for depth in range(1, 13)]
    ops = [("Tanh", scope) for scope in scopes] + [("Mm", scope) for scope in scopes[::-1]]
    folded = fold(snapshot(ops, list(itertools.pairwise(range(24)))))

    assert len(view(folded, first_opening(folded).opened).frames) == 1 + DEEPEST
    assert len(view(folded, first_opening(folded, 24).opened).boxes) == 24


def test_an_unknown_step_is_refused() -> None:
    """A step that there is not is named, with those there are."""
    with pytest.raises(UsageError, match=r"'origami'.*views, parameters"):
        fold(stack_of_layers(1), ["origami"])


@pytest.mark.parametrize("op", ["View", "Sin"])
def test_deep_and_circular_graphs_do_not_recurse(op: str) -> None:
    """A chain of 100,000 (also of nothing but views) and a file with a circle are folded."""
    count = 100_000
    folded = fold(snapshot_of_chain(op, count))
    circle = snapshot([("Sum", ""), ("View", ""), ("View", ""), ("Mul", "")], [(0, 1), (1, 2), (2, 1), (3, 3)])

    assert sum(map(len, folded.members())) == count
    assert sorted(node for inside in fold(circle).members() for node in inside) == [0, 1, 2, 3]


def snapshot_of_chain(op: str, count: int) -> Graph:
    """A chain made without counting inputs."""
    graph = snapshot([(op, "")] * count, [])
    graph.edge_source, graph.edge_target = list(range(count - 1)), list(range(1, count))
    graph.edge_input_nr = graph.edge_output_nr = [0] * (count - 1)
    return graph


def test_nothing_folds_to_nothing() -> None:
    """A graph without nodes."""
    folded = fold(Graph())

    assert (len(folded), len(view(folded, [0]).boxes)) == (0, 0)


def test_a_module_that_holds_most_of_a_graph_opens_all_the_same() -> None:
    """A few boxes too many do not close it: a module closed around everything would tell nothing."""
    inside = [(op, f"net/part{number}") for number in range(22) for op in ("Mm", "Exp")]
    rows = [("Sum", ""), *inside, *[("Sin", "net/rest")] * 2]
    folded = fold(snapshot(rows, [(at, at + 1) for at in range(len(rows) - 1)]), set(STEPS) - {"repeats"})
    seen = view(folded, first_opening(folded).opened)

    assert len(seen.boxes) == 24
    assert len(view(folded, first_opening(folded, 20).opened).boxes) == 2  # who asks for a number gets no more


def test_modules_keep_their_names_in_a_crowd() -> None:
    """Hundreds of operators around a module are put together beside it, not with it."""
    loose = [(op, "") for _ in range(60) for op in ("Mul", "Exp", "Sin", "Cos")]
    rows = [*loose[:120], ("Mm", "net/a"), ("Tanh", "net/a"), ("Mm", "net/b"), ("Relu", "net/b"), *loose[120:]]
    edges = [(at, at + step) for at in range(len(rows) - 3) for step in (1, 3)]
    folded = fold(snapshot(rows, edges), set(STEPS) - {"chains", "repeats"})
    beside = [folded.scopes[number].label for number in folded.scopes[0].children]

    assert "net" in beside
    assert len(folded.items(0)) <= 64


def test_a_repeat_says_what_feeds_the_next_block() -> None:
    """In a stack of residual layers each block hands its gradient on to the next one's addition, from both its ends."""
    folded = fold(stack_of_layers(12))
    repeat = next(number for number, scope in enumerate(folded.scopes) if scope.repeats == 12)
    seen = view(folded, range(len(folded.scopes)))
    frame = next(place for place, one in enumerate(seen.frames) if one.scope == repeat)
    named = [
        (heads(folded)[seen.boxes[sends].begin], heads(folded)[seen.boxes[gets].begin])
        for sends, gets in seen.feeds(frame)
    ]

    assert named == [("Add", "Add"), ("Mm", "Add")]
