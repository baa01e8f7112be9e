"""SPEC rows G-01 to G-07 and G-13 to G-15: what a node of the backward graph is and shows."""

from __future__ import annotations

import gc
import threading

import pytest
from both_engines import differential, edges, raises

import retrograd
from retrograd.autograd.graph import Node, get_gradient_edge


def leaf(torch, *values):
    """A leaf that requires grad."""
    return torch.tensor(list(values or (1.0, 2.0)), requires_grad=True)


def square_function(torch):
    """A custom Function of one input."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=1):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g, None

    return Square


@differential
def test_G_01_node_is_abstract(torch):
    """G-01: the class and an incomplete subclass cannot be instantiated; the message lists the abstract names."""
    node_class = torch.autograd.graph.Node

    class OnlyName(node_class):
        def name(self):
            return "x"

    names = ("name", "next_functions", "metadata", "_sequence_nr", "_input_metadata", "_register_hook_dict",
             "register_hook", "register_prehook")  # fmt: skip
    return (
        [raises(name, node_class) for name in names],
        raises("Can't instantiate abstract class", OnlyName),
        leaf(torch).exp().grad_fn.requires_grad,
    )


def test_G_01_bodies_raise():
    """G-01: a subclass that calls the abstract bodies gets NotImplementedError."""

    class Complete(Node):
        name = metadata = _sequence_nr = _register_hook_dict = register_hook = register_prehook = lambda self: None
        next_functions = _input_metadata = None

    node = Complete()
    for call in (lambda: Node.name(node), lambda: Node.metadata(node), lambda: Node._sequence_nr(node)):
        with pytest.raises(NotImplementedError):
            call()
    for call in (Node.register_hook, Node.register_prehook, Node._register_hook_dict):
        with pytest.raises(NotImplementedError):
            call(node, None)
    for prop in (Node.next_functions, Node._input_metadata):
        with pytest.raises(NotImplementedError):
            prop.fget(node)


@differential
def test_G_02_which_classes_count_as_nodes(torch):
    """G-02: engine nodes and custom nodes are Nodes, Functions and tensors are not, a subclass of Node claims none."""
    node_class = torch.autograd.graph.Node
    square = square_function(torch)
    a = leaf(torch)
    product, custom = (a * a).grad_fn, square.apply(a).grad_fn

    class Sub(node_class):
        pass

    return (
        [isinstance(n, node_class) for n in (product, product.next_functions[0][0], custom)],
        [issubclass(c, node_class) for c in (type(product), type(custom), square, torch.Tensor, int)],
        isinstance(a, node_class),
        [issubclass(type(n), Sub) for n in (product, custom)],
        [node_class in type(n).__mro__ for n in (product, custom)],
    )


@differential
def test_G_03_names(torch):
    """G-03: overloads have PyTorch's numbers, engine-internal nodes a qualified name, custom nodes their Function's."""
    a = leaf(torch)
    base = a.clone()
    base[0:1].mul_(2)
    results = (
        a * 2, 2 - a, a.sum(), a.sum(0), a**2, 2**a, a.max(), a[0], a[0:1], a[[0]], a.to(torch.float64), a.dot(a),
        a + a, a - a, a / a, -a, a.exp(), a.mean(), a.view(2, 1), a.t(), a.clone(), torch.cat([a, a]), base,
        a.unbind()[1], square_function(torch).apply(a), a.relu(), a.sigmoid(), a.unsqueeze(0), a.expand(3, 2),
    )  # fmt: skip
    return [(t.grad_fn.name(), type(t.grad_fn).__name__) for t in results], a.mul(1).grad_fn.next_functions[0][0].name()


@differential
def test_G_03_messages_use_the_short_name(torch):
    """G-03: errors about views drop the Backward suffix."""
    first, _ = leaf(torch).clone().unbind()
    return raises("Output 0 of Unbind", first.mul_, 2)


@differential
def test_G_04_next_functions(torch):
    """G-04: one pair per operand, numbers as (None, 0), output numbers kept, leaves as accumulators without edges."""
    a = leaf(torch)
    b = torch.ones(2)
    x, y = a.unbind()
    accumulator = (a * 2).grad_fn.next_functions[0][0]
    return (
        [edges(t.grad_fn) for t in (b * 1 + a, a * 2, 2 * a, a * b, x * y, y * x, a.sum(), torch.cat([a, b, a]))],
        edges(square_function(torch).apply(a, 3).grad_fn),
        accumulator.next_functions,
        accumulator.variable is a,
        type((a * 2).grad_fn.next_functions).__name__,
    )


@differential
def test_G_05_metadata(torch):
    """G-05: one mutable dictionary per node; anomaly mode adds a traceback and, during backward, the parent."""
    a = leaf(torch)
    node = a.exp().grad_fn
    empty = dict(node.metadata)
    node.metadata["note"] = 7
    with torch.autograd.set_detect_anomaly(True):
        y = (a * a).sum()
        traced = sorted(y.grad_fn.metadata)
        (g,) = torch.autograd.grad(y, a, create_graph=True)
    parent = g.grad_fn.metadata["parent_"]
    trace = y.grad_fn.metadata["traceback_"]
    return (
        empty, node.metadata["note"], node.metadata is node.metadata, traced, sorted(g.grad_fn.metadata), parent.name(),
        type(trace).__name__, any("test_rows_g_node" in line for line in trace),
    )  # fmt: skip


@differential
def test_G_06_input_metadata(torch):
    """G-06: one record per forward output, with placeholders for outputs that take no gradient."""
    a = leaf(torch).double()

    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            whole = torch.tensor([1, 2, 3])
            ctx.mark_non_differentiable(whole)
            return x * 1, 5, whole

        @staticmethod
        def backward(ctx, *g):
            return g[0]

    nodes = [a.unbind()[0].grad_fn, a.reshape(2, 1).exp().grad_fn, Mixed.apply(a)[0].grad_fn, a.max(0)[0].grad_fn]
    return (
        [[(list(m.shape), str(m.dtype), str(m.device), m.is_nested_tensor) for m in n._input_metadata] for n in nodes],
        [type(n._input_metadata).__name__ for n in nodes],
        nodes[0]._input_metadata[0].is_cpp_nested_tensor,
        raises("out of range", lambda: nodes[0]._input_metadata[9]),
    )


@differential
def test_G_07_sequence_numbers(torch):
    """G-07: consecutive nodes differ by one, unrecorded operations take no number, a Function always does."""
    a = leaf(torch)
    plain = torch.ones(2)
    square = square_function(torch)
    first = a.exp().grad_fn._sequence_nr()
    second = a.exp().grad_fn._sequence_nr()
    with torch.no_grad():
        a.exp()
    plain.exp()
    third = a.exp().grad_fn._sequence_nr()
    square.apply(plain)
    fourth = a.exp().grad_fn._sequence_nr()
    accumulator = a.exp().grad_fn.next_functions[0][0]
    node = a.exp().grad_fn
    node._set_sequence_nr(3)
    return second - first, third - second, fourth - third, accumulator._sequence_nr(), node._sequence_nr()


@differential
def test_G_07_a_raised_number_runs_first(torch):
    """G-07: the setter changes which of two ready branches runs first."""
    a = leaf(torch)
    order = []

    def run(raised):
        x, y = a * 2, a.exp()
        for name, t in (("x", x), ("y", y)):
            t.grad_fn.register_hook(lambda *_, name=name: order.append(name))
        if raised:
            x.grad_fn._set_sequence_nr(10**9)
        (x + y).sum().backward()

    run(False)
    run(True)
    return order


def test_G_07_numbers_of_other_threads_are_later():
    """G-07: numbers come from one counter for all threads (PyTorch: one per thread), so later is always larger."""
    a = leaf(retrograd)
    numbers = [a.exp().grad_fn._sequence_nr()]
    thread = threading.Thread(target=lambda: numbers.append(a.exp().grad_fn._sequence_nr()))
    thread.start()
    thread.join()
    numbers.append(a.exp().grad_fn._sequence_nr())
    assert numbers == sorted(set(numbers))


@differential
def test_G_13_identity_and_attributes(torch):
    """G-13: one object per node while it is held; only custom nodes take attributes, and keep them."""
    a = leaf(torch)
    t = a.exp()
    node = t.grad_fn
    custom = square_function(torch).apply(a)
    custom.grad_fn.note = 3
    gc.collect()
    return (
        t.grad_fn is node,
        raises("", setattr, node, "note", 1),
        custom.grad_fn.note,
        custom.sum().grad_fn.next_functions[0][0].note,
    )


@differential
def test_G_13_a_node_keeps_what_lies_upstream(torch):
    """G-13: holding a node keeps the graph below it usable after its tensors are gone."""
    a = leaf(torch)
    edge = torch.autograd.graph.get_gradient_edge((a * a).exp())
    gc.collect()
    return torch.autograd.grad([edge], [a], [torch.ones(2)])


@differential
def test_G_13_direct_calls(torch):
    """G-13: a node can be called on gradients, an accumulator then accumulates, custom nodes have apply only."""
    a = leaf(torch)
    ran = []
    t = a * a
    t.grad_fn.register_hook(lambda *_: ran.append("hook"))
    custom = square_function(torch).apply(a)
    split = a.unbind()[0].grad_fn
    accumulator = t.grad_fn.next_functions[0][0]
    one = torch.ones(())
    accumulated = accumulator(torch.ones(2))
    return (
        t.grad_fn(torch.ones(2)), a.exp().grad_fn(torch.ones(2)), t.grad_fn(None), split(one, None), ran,
        accumulated, a.grad, custom.grad_fn.apply(torch.ones(2))[0],
        raises("expected 1 arguments, got 2", t.grad_fn, one, one), raises("is not a Variable", t.grad_fn, 3),
        raises("keyword arguments are not supported", t.grad_fn, grad=one),
        raises("not callable", custom.grad_fn, one),
    )  # fmt: skip


@differential
def test_G_14_saved_values(torch):
    """G-14: saved values by name; inputs are the very tensors, own outputs are rebuilt, some operations save none."""
    a = leaf(torch)
    square, y, total = a**2, a.exp(), a.sum(0)
    custom = square_function(torch).apply(a)
    return (
        square.grad_fn._saved_self is a, square.grad_fn._saved_exponent,
        y.grad_fn._saved_result, y.grad_fn._saved_result is y, y.grad_fn._saved_result.grad_fn is y.grad_fn,
        total.grad_fn._saved_keepdim, list(total.grad_fn._saved_self_sym_sizes),
        (a * 3).grad_fn._saved_other, (a * 3).grad_fn._saved_self,
        [n for n in dir((a + a).grad_fn) if n.startswith("_saved") and "alpha" not in n],
        [n for n in dir(a.clone().grad_fn) if n.startswith("_saved")],
        square.grad_fn._raw_saved_self.unpack() is a, custom.grad_fn.saved_tensors,
        [s.unpack() for s in custom.grad_fn._raw_saved_tensors],
    )  # fmt: skip


@differential
def test_G_14_freed(torch):
    """G-14: reading a saved value of a freed node says so, for operations and custom Functions."""
    a = leaf(torch)
    y, custom = a.exp(), square_function(torch).apply(a)
    nodes = y.grad_fn, custom.grad_fn
    y.sum().backward()
    custom.sum().backward()
    phrase = "backward through the graph a second time"
    return (
        raises(phrase, getattr, nodes[0], "_saved_result"),
        raises(phrase, getattr, nodes[1], "saved_tensors"),
        raises(phrase, getattr, nodes[1], "_raw_saved_tensors"),
    )


@differential
def test_G_14_reading_checks_the_version(torch):
    """G-14: reading a value that was changed in place raises the version error."""
    x = leaf(torch).clone()
    y = x.sin()
    x.mul_(2)
    return raises("modified by an inplace operation", getattr, y.grad_fn, "_saved_self")


@differential
def test_G_15_node_of_anything(torch):
    """G-15: a tensor's node, a leaf's accumulator also under no_grad, an edge's node; an assertion otherwise."""
    a = leaf(torch)
    y = a * 2
    find = torch.autograd.graph._get_grad_fn_or_grad_acc
    edge = torch.autograd.graph.get_gradient_edge(y)
    with torch.no_grad():
        accumulator = find(a)
    return (
        find(y) is y.grad_fn, accumulator.name(), accumulator.variable is a, find(edge) is y.grad_fn,
        raises("Expected gradient function to be set", find, torch.ones(2)),
    )  # fmt: skip


def test_G_16_edges_are_values():
    """G-16: an edge is a tuple of node, output number and token."""
    edge = get_gradient_edge(leaf(retrograd))
    assert edge == (edge.node, 0, None)


@differential
def test_G_03_names_of_in_place_forms(torch):
    """G-03: nodes of in-place writes have names of their own, as classes and as ``name()`` says."""
    x = torch.ones(2, 3, requires_grad=True)
    nodes = [
        x.clone().fill_(2.0).grad_fn,
        x.clone().fill_(x[0, 0]).grad_fn,
        torch.fill(x, 2.0).grad_fn,
        x.clone().t_().grad_fn,
        x.clone().squeeze_().grad_fn,
        x.clone().unsqueeze_(0).grad_fn,
        x.clone().copy_(x).grad_fn,
        x.clone().add_(1).grad_fn,
    ]
    return [(node.name(), type(node).__name__) for node in nodes]
