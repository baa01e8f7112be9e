"""SPEC rows G-16 to G-22: gradient edges as values, roots and inputs, and raising versions."""

from __future__ import annotations

import gc

import pytest
from both_engines import differential, raises
from custom_functions import function, times

import retrograd
from retrograd.autograd.graph import get_gradient_edge


def tensors(torch):
    """A leaf, an interior tensor and a sum."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * 3
    return a, b, (b * b).sum()


@differential
def test_G_16_value_type(torch):
    """G-16: a named tuple of node, output number and a token that defaults to None; equal by value."""
    edge = torch.autograd.graph.get_gradient_edge
    a, b, _ = tensors(torch)
    made = torch.autograd.graph.GradientEdge(b.grad_fn, 0)
    return (
        made._fields, made.ownership_token, edge(a) == edge(a), edge(b) == made, edge(b) == edge(a),
        isinstance(made, tuple), edge(a)[1],
    )  # fmt: skip


@differential
def test_G_17_get_gradient_edge(torch):
    """G-17: node and output number, also under no_grad; an error for tensors that do not require grad."""
    edge = torch.autograd.graph.get_gradient_edge
    a, b, _ = tensors(torch)
    _, second = a.unbind()
    with torch.no_grad():
        under_no_grad = edge(a)
    return (
        under_no_grad.node.variable is a, under_no_grad.output_nr, edge(second).output_nr, edge(second).node.name(),
        edge(b).node is b.grad_fn, raises("not possible to get the gradient edge", edge, torch.ones(2)),
    )  # fmt: skip


def test_G_17_of_something_else():
    """G-17: what is no tensor is called by its type."""
    with pytest.raises(TypeError, match=r"get_gradient_edge\(\) expects a Tensor, got int"):
        get_gradient_edge(3)


@differential
def test_G_18_ownership_token(torch):
    """G-18: custom nodes get a view node as token, others None; the edge works after the tensor is gone."""
    get = torch.autograd.graph.get_gradient_edge
    a, b, _ = tensors(torch)
    y = function(torch, *times(2)).apply(b)
    edge = get(y)
    token = edge.ownership_token
    bare = torch.autograd.graph.GradientEdge(y.grad_fn, 0)
    one = torch.ones(2)
    del y
    gc.collect()
    return (
        token.name(), token.next_functions[0][0] is edge.node, get(a).ownership_token, get(b).ownership_token,
        torch.autograd.grad([edge], [a], [one], retain_graph=True), torch.autograd.grad([bare], [a], [one]),
    )  # fmt: skip


@differential
def test_G_19_edge_as_root(torch):
    """G-19: edges are roots, mixed with tensors; the gradient of a real scalar is implicit."""
    get = torch.autograd.graph.get_gradient_edge
    a, b, total = tensors(torch)
    edge = get(total)
    first = torch.autograd.grad(edge, a, retain_graph=True)
    mixed = torch.autograd.grad([edge, b], [a], [None, torch.ones(2)], retain_graph=True)
    torch.autograd.backward(get(b), torch.ones(2), retain_graph=True)
    return (
        first, mixed, a.grad,
        raises("grad can be implicitly created only for scalar outputs", torch.autograd.grad, get(b), a),
        raises("Mismatch in shape: grad_output[0]", torch.autograd.grad, get(b), a, torch.ones(3)),
    )  # fmt: skip


@differential
def test_G_19_batched(torch):
    """G-19: a batch of gradients at an edge works when shapes agree, and is refused otherwise."""
    a, b, _ = tensors(torch)
    edge = torch.autograd.graph.get_gradient_edge(b)
    batch = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    ok = torch.autograd.grad(edge, a, batch, is_grads_batched=True, retain_graph=True)
    phrase = "Batched grads are not supported"
    return ok, raises(phrase, torch.autograd.grad, edge, a, torch.ones(3, 3), is_grads_batched=True)


@differential
def test_G_20_edge_as_input(torch):
    """G-20: gradients with respect to an edge; backward to an edge stores only where the tensor retains."""
    get = torch.autograd.graph.get_gradient_edge
    a, b, total = tensors(torch)
    by_edge = torch.autograd.grad(total, [get(b), get(a)], retain_graph=True)
    by_tensor = torch.autograd.grad(total, [b, a], retain_graph=True)
    torch.autograd.backward(total, inputs=[get(b)], retain_graph=True)
    before = a.grad, b.retains_grad
    b.retain_grad()
    torch.autograd.backward(total, inputs=[get(b)], retain_graph=True)
    after = a.grad, b.grad
    torch.autograd.backward(total, inputs=[get(a)], retain_graph=True)
    return by_edge, by_tensor, before, after, a.grad


@differential
def test_G_20_unused_edge(torch):
    """G-20: an unused edge is an error, None when allowed, and cannot be materialized."""
    a, _b, total = tensors(torch)
    other = torch.autograd.graph.get_gradient_edge(torch.ones(2, requires_grad=True) * 2)
    grad = torch.autograd.grad
    return (
        raises("appears to not have been used in the graph", grad, total, other, retain_graph=True),
        grad(total, [other, a], allow_unused=True, retain_graph=True),
        raises("materialize_grads cannot be used", grad, total, other, materialize_grads=True),
    )


@differential
def test_G_21_malformed(torch):
    """G-21: wrong types are found before anything runs."""
    a, b, total = tensors(torch)
    edge = torch.autograd.graph.GradientEdge(3, 0)
    ran = []
    b.register_hook(lambda g: ran.append(g))
    return (
        raises("object is not iterable", torch.autograd.grad, 3, a),
        raises("object is not iterable", torch.autograd.grad, total, 3),
        raises("all inputs have to be Tensors or GradientEdges", torch.autograd.grad, total, [3]),
        raises("must be an autograd.graph.Node", torch.autograd.grad, total, [edge]),
        raises("", torch.autograd.grad, [3], [a]),
        ran, torch.autograd.grad(total, a),
    )  # fmt: skip


@pytest.mark.parametrize("number", [1, -1, 7])
def test_G_21_output_number_out_of_range(number):
    """G-21: an edge with an output number that the node has not is an error (PyTorch crashes)."""
    a, b, total = tensors(retrograd)
    edge = retrograd.autograd.graph.GradientEdge(b.grad_fn, number)
    with pytest.raises(RuntimeError, match="output_nr"):
        retrograd.autograd.grad(total, [edge])
    with pytest.raises(RuntimeError, match="output_nr"):
        retrograd.autograd.grad([edge], [a], [retrograd.ones(2)])


@differential
def test_G_22_increment_version(torch):
    """G-22: raises the version of a tensor or of each of an iterable; views share it, an alias counts twice."""
    increment = torch.autograd.graph.increment_version
    base = torch.ones(3)
    view = base[1:]
    found = [increment(base), base._version, view._version]
    increment([base, view])
    increment(t for t in (base,))
    found += [base._version, view._version]
    with torch.inference_mode():
        made = torch.ones(2)
        increment(base)
        increment([made])
    found.append(base._version)
    return (
        found, raises("expect a Iterable[Tensor]", increment, 3),
        raises("expects each element of the iterable to be a tensor", increment, [base, 3]),
        raises("expects each element of the iterable to be a tensor", increment, "ab"),
    )  # fmt: skip


@differential
def test_G_22_backward_notices(torch):
    """G-22: a raised version makes backward refuse the saved value."""
    x = torch.ones(2, requires_grad=True).clone()
    y = (x * x).sum()
    torch.autograd.graph.increment_version(x)
    return raises("modified by an inplace operation", y.backward)
