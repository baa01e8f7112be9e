"""Graphs that are like the one of the step before are pictured from it, and the pictures are those of a full walk."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.inspect.sources.collect import collect
from retrograd.inspect.sources.engine_ import graphs
from retrograd.inspect.sources.engine_.backward import repeats
from retrograd.inspect.sources.engine_.backward.facts import Facts


def steady() -> None:
    """Equal steps."""
    w, b = torch.ones(4, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    for _ in range(4):
        h = torch.relu(torch.ones(5, 4) @ w + b)
        loss = (h * h).sum()
        loss.backward()


def batches() -> None:
    """The last batch is smaller, which shows in what a node keeps, not in its shape."""
    w = torch.ones(4, requires_grad=True)
    for rows in (5, 5, 2, 2):
        loss = (torch.ones(rows, 4).t() @ (torch.ones(rows, 4) @ w)).sum()
        loss.backward()


def constants() -> None:
    """Operands without gradient change size, come twice, and are parts of one memory: only what is kept shows it."""
    w, halves = torch.ones(4, requires_grad=True), torch.ones(8)
    whole, one, parts = torch.ones(4), torch.ones(1), (halves[:4], halves[4:])
    for first, second in (parts, parts, (whole, torch.ones(4)), (whole, whole), (one, whole)):
        (w * first + w * second).sum().backward()


def alternating() -> None:
    """Two losses by turns, from one line and from two."""
    w = torch.ones(3, requires_grad=True)
    for step in range(4):
        loss = w.exp().sum() if step % 2 else w.sin().sum()
        loss.backward()
    for _ in range(3):
        w.exp().sum().backward()
        w.exp().sum().backward()


def other_leaves() -> None:
    """A new leaf in each step, one by name and one without."""
    for step in range(3):
        w = torch.full((3,), float(step), requires_grad=True)
        (w * torch.ones(3, requires_grad=True)).sum().backward()


def scopes() -> None:
    """The same lines in different scopes, and several outputs and inputs."""
    w = torch.ones(4, requires_grad=True)
    for name in ("a", "a", "b"):
        with torch.scope(name):
            low, high = (w * 2).chunk(2)
        (low * high + high * high).sum().backward()


def functions() -> None:
    """Custom Functions, made anew in each step."""
    w = torch.ones(2, requires_grad=True)
    for step in range(3):

        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        Twice.__name__ = f"Twice{step}"
        Twice.apply(w).sum().backward()


PROGRAMS = [steady, batches, constants, alternating, other_leaves, scopes, functions]


@pytest.mark.parametrize("program", PROGRAMS)
def test_repeated_pictures_are_those_of_a_walk(program: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.debug(level="graph") as repeated:
        program()
    monkeypatch.setattr(repeats.Repeats, "snapshot", lambda *args: None)
    with torch.debug(level="graph") as walked:
        program()

    assert len(repeated.graphs) >= 3
    assert repeated.graphs == walked.graphs


@pytest.mark.parametrize("program", PROGRAMS)
def test_memory_is_counted_once_as_in_a_walk(program: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.debug(level="backward") as repeated:
        program()
    monkeypatch.setattr(repeats.Repeats, "snapshot", lambda *args: None)
    with torch.debug(level="backward") as walked:
        program()

    assert len(repeated.graphs) >= 3
    assert [graph.measures["saved_bytes"] for graph in repeated.graphs] == [
        graph.measures["saved_bytes"] for graph in walked.graphs
    ]


def test_equal_steps_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = []
    walk = graphs.collect
    monkeypatch.setattr(graphs, "collect", lambda *args: walks.append(1) or walk(*args))
    with torch.debug(level="graph") as trace:
        steady()
    assert (len(walks), len(trace.graphs)) == (1, 4)


def test_picture_keeps_no_leaf_alive() -> None:
    with torch.debug() as trace:
        w = torch.ones(3, requires_grad=True)
        loss = w.exp().sum()
        loss.backward()
        leaf, node = weakref.ref(w), weakref.ref(loss.grad_fn)
        del w, loss
        gc.collect()
        assert leaf() is None
        assert node() is None
    assert len(trace.graphs) == 1


def test_large_graphs_are_walked_as_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MAX_NODES", 3)
    w = torch.ones(3, requires_grad=True)
    assert outline(w.sum()) is not None
    assert outline(w.exp().sin().cos().sum()) is None


def order_of(root: torch.Tensor) -> list[Any]:
    """The nodes of a graph in the order of a walk."""
    return collect([root.grad_fn], Facts()).order


def outline(root: torch.Tensor) -> repeats.Outline | None:
    return repeats.outline_of([root.grad_fn], order_of(root))


W, V = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
GRAPHS = [
    lambda: (W * V).sum(),
    lambda: (V * W).sum(),
    lambda: (W * W).sum(),
    lambda: (W * W.detach()).sum(),
    lambda: (W.detach() * W).sum(),
    lambda: (W.exp() * V).sum(),
    lambda: (W * 2.0).exp().sum(),
    lambda: (W.exp() * 2.0).sum(),
    lambda: sum(W.split(2)).sum(),
    lambda: sum(reversed(W.split(2))).sum(),
    lambda: W.split(2)[0].sum(),
    lambda: W.split(2)[1].sum(),
    lambda: torch.cat([torch.cat([W, W]), torch.cat([V, V, V])]).sum(),
    lambda: torch.cat([torch.cat([W, W, V]), torch.cat([V, V])]).sum(),
    lambda: torch.cat([W[:2], V[:2]]).sum(),
    lambda: torch.cat([W[:3], V[:3]]).sum(),
]


def described(root: torch.Tensor) -> list[Any]:
    """Class, shapes and edges of each node, as a walk tells them."""
    order = order_of(root)
    places = {None: None, **{node: place for place, node in enumerate(order)}}
    return [
        (type(node), node._sigs, [(places[child], number) for child, number in node.next_functions]) for node in order
    ]


@pytest.mark.parametrize("build", GRAPHS)
def test_outline_is_that_of_equal_graphs_alone(build: Callable[[], Any]) -> None:
    first = build()
    known = outline(first)
    assert known is not None
    for other in GRAPHS:
        root = other()
        same = described(root) == described(first)
        assert known.order_of([root.grad_fn]) == (order_of(root) if same else None)
