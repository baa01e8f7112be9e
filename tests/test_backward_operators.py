"""Graphs of second order: what rules record as nodes of their own behaves like any other node (SPEC row F-45)."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")

OF_ONE_NODE = (
    "F.gelu(x)", "F.softplus(x)", "F.elu(x)", "F.hardswish(x)", "F.logsigmoid(x)", "F.glu(x)",
    "F.soft_margin_loss(x, x.detach().sign())", "F.layer_norm(x, (4,))", "F.mse_loss(x, x * x)",
)  # fmt: skip
"""Expressions whose gradient is recorded as one node, made of several operators."""


def sines(engine: Any, *shape: int) -> Any:
    """A leaf that requires grad."""
    return engine.arange(12.0, dtype=engine.float64).sin().reshape(*shape).requires_grad_()


def first_gradient(engine: Any, text: str, x: Any) -> Any:
    """The gradient of an expression, with its graph."""
    y = eval(text, {"F": engine.nn.functional, "x": x})
    return engine.autograd.grad(y, x, engine.ones_like(y), create_graph=True)[0]


@pytest.mark.parametrize("text", OF_ONE_NODE)
def test_E_26_anomaly_mode_names_the_recorded_node_and_nothing_that_it_is_made_of(text: str) -> None:
    """E-26: one warning, about the node that PyTorch names, and its error."""

    def told(engine: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with engine.autograd.set_detect_anomaly(True):
                g = first_gradient(engine, text, x := sines(engine, 3, 4))
                g.register_hook(lambda t: t * float("nan"))
                with pytest.raises(RuntimeError) as error:
                    engine.autograd.grad(g.sum(), x)
        return [str(error.value), *[str(w.message).splitlines()[0] for w in caught if str(w.message).strip()]]

    assert told(retrograd) == told(torch)


@pytest.mark.parametrize("text", ["F.gelu(x)", "F.softplus(x)", "F.layer_norm(x, (4,))"])
def test_E_25_nodes_of_third_order_are_induced_by_the_recorded_node(text: str) -> None:
    """E-25: ``parent_`` of what its backward records is the node itself, not a part of it."""
    with retrograd.autograd.set_detect_anomaly(True):
        g = first_gradient(retrograd, text, x := sines(retrograd, 3, 4))
        todo = [retrograd.autograd.grad(g.sum(), x, create_graph=True)[0].grad_fn]
    parents = set()
    for node in todo:  # grows meanwhile
        parents.add(node.metadata.get("parent_"))
        todo += [n for n, _ in node.next_functions if n is not None and n not in todo]
    assert {p.name() for p in parents if p is not None} <= {g.grad_fn.name(), *names_below(g.grad_fn)}


def names_below(node: Any) -> list[str]:
    """Names of the nodes that a node leads to."""
    return [n.name() for n, _ in node.next_functions if n is not None]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_F_45_second_derivatives_of_squared_differences(reduction: str) -> None:
    """F-45: by the incoming gradient, input and target, also where only some of them are asked for."""

    def derived(engine: Any) -> list[Any]:
        x, t = sines(engine, 3, 4), sines(engine, 4, 3).T.detach().requires_grad_()
        y = engine.nn.functional.mse_loss(x, t * t, reduction=reduction)
        g = engine.full_like(y, 3.0).requires_grad_()
        first = engine.autograd.grad(y, x, g, create_graph=True)[0]
        found = [engine.autograd.grad(first.sin().sum(), each, create_graph=True) for each in ([g], [x], [x, t, g])]
        found.append(engine.autograd.grad(found[-1][0].sin().sum(), [x, t, g]))
        return [part.detach().numpy() for parts in found for part in parts]

    for ours, theirs in zip(derived(retrograd), derived(torch), strict=True):
        assert ours.shape == theirs.shape
        assert abs(ours - theirs).max() < 1e-12
