"""Graphs with modules and repeats, made by hand or at random, for the tests of folding and of nested drawings."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from retrograd.inspect.graphs.graph import Graph

Row = tuple[str, str]
"""Operator and scope of one node."""


def snapshot(rows: list[Row], edges: list[tuple[int, int]], leaves: int = 0) -> Graph:
    """A graph whose nodes stand in the order of backward; the last ``leaves`` of them are leaves."""
    count = len(rows)
    used = [0] * count
    numbers = []
    for source, _ in edges:
        numbers.append(used[source])
        used[source] += 1
    is_leaf = [node >= count - leaves for node in range(count)]
    return Graph(
        op=["AccumulateGrad" if leaf else f"{op}Backward0" for (op, _), leaf in zip(rows, is_leaf, strict=True)],
        kind=["leaf" if leaf else "op" for leaf in is_leaf],
        name=[f"w{node}" if leaf else None for node, leaf in enumerate(is_leaf)],
        scope=[scope for _, scope in rows],
        shape=[(2, 3)] * count,
        dtype=["float32"] * count,
        source=[None] * count,
        saved_bytes=[8 * node for node in range(count)],
        seq=[None if leaf else count - node for node, leaf in enumerate(is_leaf)],
        edge_source=[source for source, _ in edges],
        edge_target=[target for _, target in edges],
        edge_input_nr=numbers,
        edge_output_nr=[0] * len(edges),
        roots=[0] if count else [],
        root_names=["loss"] if count else [],
    )


def stack_of_layers(layers: int) -> Graph:
    """loss ← head ← ``layers`` residual layers (add, relu, linear with weight behind a transpose) ← embedding."""
    rows: list[Row] = [("Sum", ""), ("Mm", "net/head")]
    edges = [(0, 1)]
    weighted = [(1, "net/head")]
    waiting = [1]
    for number in reversed(range(layers)):
        add, scope = len(rows), f"net/layers/{number}"
        rows += [("Add", scope), ("Relu", f"{scope}/act"), ("Mm", f"{scope}/linear"), ("T", f"{scope}/linear")]
        edges += [(user, add) for user in waiting]
        edges += [(add, add + 1), (add + 1, add + 2), (add + 2, add + 3)]
        weighted.append((add + 3, f"{scope}/linear"))
        waiting = [add, add + 2]
    edges += [(user, len(rows)) for user in waiting]
    weighted.append((len(rows), "net/emb"))
    rows.append(("Embedding", "net/emb"))
    for user, scope in weighted:
        edges.append((user, len(rows)))
        rows.append(("", scope))
    return snapshot(rows, edges, leaves=len(weighted))


@st.composite
def scoped(draw: st.DrawFn, most: int = 24) -> Graph:
    """An acyclic graph whose nodes stand in scopes up to three deep, with views, repeats and shared leaves."""
    count = draw(st.integers(1, most))
    leaves = draw(st.integers(0, count - 1)) // 3
    names = st.lists(st.sampled_from(["a", "b", "0", "1", "2"]), max_size=3).map("/".join)
    ops = st.sampled_from(["Mul", "Add", "View", "T", "Sin"])
    runs = draw(st.lists(st.tuples(ops, names, st.integers(1, 4)), min_size=1, max_size=count))
    pool = list(itertools.chain.from_iterable([(op, scope)] * times for op, scope, times in runs))
    rows = list(itertools.islice(itertools.cycle(pool), count))
    inner = count - leaves
    ends = st.tuples(st.integers(0, inner - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] < pair[1])
    edges = draw(st.lists(ends, max_size=3 * count)) if count > 1 else []
    return snapshot(rows, sorted(edges), leaves)
