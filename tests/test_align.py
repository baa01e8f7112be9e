"""Two graphs aligned by structure: equal ones whole, changed ones all around the change, large ones in linear work."""

from __future__ import annotations

import copy

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recording_samples import HOSTILE, chain, diamond, graph, hostile

from retrograd.inspect.graphs.align import align
from retrograd.inspect.graphs.graph import EDGE_COLUMNS, NODE_COLUMNS, Cut, Graph
from retrograd.inspect.graphs.graph_diff import Change, diff_graphs


def renumbered(made: Graph, order: list[int]) -> Graph:
    """The same graph with its nodes in another order: row ``i`` is what was row ``order[i]``."""
    place = {old: new for new, old in enumerate(order)}
    other = Graph(engine=made.engine, label=made.label)
    for column in NODE_COLUMNS:
        setattr(other, column, [getattr(made, column)[old] for old in order])
    for column in EDGE_COLUMNS:
        values = getattr(made, column)
        setattr(other, column, [place[value] for value in values] if "nr" not in column else list(values))
    other.roots, other.root_names = [place[root] for root in made.roots], list(made.root_names)
    other.measures = {name: [column[old] for old in order] for name, column in made.measures.items()}
    return other


def without(made: Graph, node: int) -> Graph:
    """The graph with one node of a chain taken out and its neighbours joined."""
    order = [other for other in range(len(made)) if other != node]
    target = dict(zip(made.edge_source, made.edge_target, strict=True)).get(node)
    changed = copy.deepcopy(made)
    changed.roots = [1 if root == node else root for root in made.roots]
    edges = [
        (source, target if where == node else where)
        for source, where in zip(made.edge_source, made.edge_target, strict=True)
        if source != node and not (where == node and target is None)
    ]
    changed.edge_source, changed.edge_target = [list(column) for column in zip(*edges, strict=True)]
    changed.edge_input_nr = changed.edge_input_nr[: len(edges)]
    changed.edge_output_nr = changed.edge_output_nr[: len(edges)]
    return renumbered(changed, order)


@st.composite
def acyclic(draw: st.DrawFn) -> Graph:
    """A random graph with few operators, shared operands and parallel edges."""
    count = draw(st.integers(1, 14))
    edges = []
    for node in range(count - 1):
        edges += [(node, draw(st.integers(node + 1, count - 1))) for _ in range(draw(st.integers(1, 3)))]
    made = graph(edges)
    made.op = [draw(st.sampled_from(["Add", "Mul", "Sin"])) for _ in range(len(made))]
    return made


@settings(deadline=None, max_examples=60)
@given(acyclic(), st.randoms(use_true_random=False))
def test_equal_graphs_have_no_difference(made: Graph, random: object) -> None:
    """Whatever the order of its nodes, a graph is found to be itself, and the alignment is an isomorphism."""
    order = list(range(len(made)))
    random.shuffle(order)  # type: ignore[attr-defined]
    other = renumbered(made, order)
    found = diff_graphs(made, other)

    assert not found, found.nodes
    assert sorted(node for node in found.match if node is not None) == list(range(len(made)))
    moved = nx.relabel_nodes(made.to_networkx(), {f"n{a}": f"n{b}" for a, b in enumerate(found.match)})
    assert sorted(moved.edges(keys=True)) == sorted(other.to_networkx().edges(keys=True))


@settings(deadline=None, max_examples=60)
@given(acyclic(), acyclic())
def test_any_two_graphs(before: Graph, after: Graph) -> None:
    """An alignment pairs nodes one to one, and every node is accounted for once."""
    found = diff_graphs(before, after)
    pairs = [node for node in found.match if node is not None]

    assert len(set(pairs)) == len(pairs)
    assert found.same + sum(node.changed for node in found.nodes) + len(found.of("removed")) == len(before)
    assert found.same + sum(node.changed for node in found.nodes) + len(found.of("added")) == len(after)
    assert len(found.union()[0]) == len(after) + len(found.of("removed"))


def test_both_sides_in_one_graph_keep_modules_and_cuts() -> None:
    """Classes of modules come from both sides; a cut that only one side has says so, one that both have does not."""
    before, after = chain(6), without(chain(6), 3)
    before.classes, after.classes = {"net": "Net", "net/old": "Linear"}, {"net": "Net"}
    before.cuts = [Cut(1, "detach", None, -1), Cut(2, "no_grad", None, 4)]
    after.cuts = [Cut(1, "detach", None, -1), Cut(2, "item", None, -1)]
    union, _ = diff_graphs(before, after).union()

    assert union.classes == before.classes
    assert sorted(cut.word for cut in union.cuts) == ["detach", "item (added)", "no_grad (removed)"]
    (gone,) = (cut for cut in union.cuts if cut.word.startswith("no_grad"))
    assert (union.shape[gone.origin], gone.origin) == (before.shape[4], 3)


@pytest.mark.parametrize("node", [0, 1, 17, 38, 39])
def test_one_node_more_or_less_in_a_chain(node: int) -> None:
    """One node taken out of a chain is the one difference, wherever it stood, and so is one put in."""
    made = chain(40)
    made.op[17] = made.op[node] = "TanhBackward0"
    fewer = without(made, node)

    assert [(diff.status, diff.op) for diff in diff_graphs(made, fewer).nodes] == [("removed", "TanhBackward0")]
    assert [(diff.status, diff.op) for diff in diff_graphs(fewer, made).nodes] == [("added", "TanhBackward0")]


def test_a_node_put_in_does_not_change_those_that_run_after_it() -> None:
    """The place of a node in the order of a run is no difference: all later ones would have it."""
    before, after = chain(6), chain(7)
    for made in (before, after):
        made.measures = {"order": [float(node) for node in range(len(made))], "grad_norm": [1.0] * len(made)}
    after.op[1], before.op[1:], after.op[2:] = (
        "CosBackward0",
        [f"Op{n}" for n in range(5)],
        [f"Op{n}" for n in range(5)],
    )
    found = diff_graphs(before, after)

    assert [(node.status, node.op) for node in found.nodes] == [("added", "CosBackward0")]


def test_two_changes_leave_what_stands_between_aligned() -> None:
    """Between two removed nodes everything keeps its place."""
    made = chain(60)
    made.op[20] = made.op[40] = "TanhBackward0"
    found = diff_graphs(made, without(without(made, 40), 20))

    assert [diff.before for diff in found.nodes] == [40, 20]


def test_an_operator_in_the_place_of_another_is_a_change() -> None:
    """Another activation is one changed node, not one removed and one added."""
    before, after = chain(30), chain(30)
    after.op[9] = "GeluBackward0"
    (found,) = diff_graphs(before, after).nodes

    assert (found.before, found.after) == (9, 9)
    assert found.changes == (Change("op", "MulBackward0", "GeluBackward0"),)


def test_columns_measures_and_edges() -> None:
    """Shape, dtype, saved bytes, figures beyond the tolerance and rewired operands are named; times never are."""
    before, after = diamond(), diamond()
    before.measures = {"time_us": [1.0, 2.0, 3.0], "grad_norm": [1.0, float("nan"), None], "only": [1.0] * 3}
    after.measures = {"time_us": [9.0, 8.0, 7.0], "grad_norm": [1.0 + 1e-7, 2.0, None]}
    after.shape[0], after.dtype[1], after.saved_bytes[1] = (1,), "float64", 24
    first, second = sorted(diff_graphs(before, after).nodes, key=lambda node: node.after or 0)

    assert [change.what for change in first.changes] == ["shape"]
    assert [change.what for change in second.changes] == ["dtype", "saved_bytes", "grad_norm"]
    twisted = graph([(0, 1), (0, 2), (1, 3), (2, 4)])
    straight = graph([(0, 1), (0, 2), (1, 4), (2, 3)])
    assert [change.what for node in diff_graphs(twisted, straight).nodes for change in node.changes] == [
        "operand 0"
    ] * 2


def test_what_is_saved_is_told_once() -> None:
    """A node's saved bytes are a column and, counted once for several nodes, a measure: one change says the first."""
    before, after = chain(3), chain(3)
    for made, size in ((before, 80), (after, 96)):
        made.saved_bytes = [size] * 3
        made.measures = {"saved_bytes": [float(size), 0.0, 0.0]}

    assert [node.changes for node in diff_graphs(before, after).nodes] == [(Change("saved_bytes", 80, 96),)] * 3


def test_prefix_of_data_parallel_is_no_difference() -> None:
    """``module.w`` is ``w``; another name at the same place is a change of name."""
    before, after, renamed = (graph([(0, 1), (0, 2)], leaves=(1, 2)) for _ in range(3))
    after.name = [None, "module.w1", "module.w2"]
    renamed.name = [None, "w1", "other"]

    assert not diff_graphs(before, after)
    (found,) = diff_graphs(before, renamed).nodes
    assert found.changes == (Change("name", "w2", "other"),)


def test_named_parameters_are_followed() -> None:
    """Two parameters that change places are two rewired operands, not two renamed parameters."""
    before = graph([(0, 1), (0, 2)], leaves=(1, 2))
    after = graph([(0, 2), (0, 1)], leaves=(1, 2))
    (found,) = diff_graphs(before, after).nodes

    assert [change.what for change in found.changes] == ["operand 0", "operand 1"]


def test_hostile_empty_and_cyclic_graphs() -> None:
    """Hostile words, no nodes, and a damaged file whose edges go round in a circle are all compared."""
    assert not diff_graphs(hostile(), hostile())
    assert len(diff_graphs(Graph(), hostile()).of("added")) == len(HOSTILE)
    assert not diff_graphs(Graph(), Graph())
    ring = graph([(0, 1), (1, 2), (2, 0)])
    assert align(ring, ring) == [0, 1, 2]


def test_many_nodes() -> None:
    """A chain and a fan of many nodes with one change are compared without recursion and without a square."""
    long = chain(30_000)
    long.op[20_000] = "TanhBackward0"
    wide = graph([(0, node) for node in range(1, 20_000)] + [(node, 20_000) for node in range(1, 20_000)])
    wide.op = ["Stack", *["Sin"] * 19_999, "Leaf"]

    assert [diff.before for diff in diff_graphs(long, without(long, 20_000)).nodes] == [20_000]
    changed = copy.deepcopy(wide)
    changed.op[9_000] = "Cos"
    assert [diff.after for diff in diff_graphs(wide, changed).nodes] == [9_000]
