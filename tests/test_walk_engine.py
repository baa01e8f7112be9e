"""The walk and the watch on our own engine."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from marked_lines import marks_of

import retrograd as rg
from retrograd.engine import observe
from retrograd.errors import NoGraphError, NotATensorError
from retrograd.inspect import walk
from retrograd.inspect.process.recorder import recording


class Twice(rg.autograd.Function):
    """A custom Function whose forward calls the engine."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def program():
    """A graph with a custom Function, a view written in place, parallel edges and several outputs."""
    x = rg.ones(3, requires_grad=True)
    y = Twice.apply(x).clone()
    y[0] = 5.0
    first, second, _ = y.unbind(0)
    return (first * second * second).sum()


def test_columns_agree_with_the_engine():
    """Every column and edge is what the nodes themselves say, breadth first."""
    loss = program()
    order = [loss.grad_fn]
    for node in order:
        order += [child for child in dict.fromkeys(c for c, _ in node.next_functions if c) if child not in order]
    place = {node: number for number, node in enumerate(order)}

    snapshot = walk(loss)

    assert snapshot.engine == "retrograd"
    assert snapshot.op == [node.name().rpartition("::")[2] for node in order]
    assert snapshot.shape == [tuple(node._input_metadata[0].shape) for node in order]
    assert set(snapshot.dtype) == {"float32"}
    assert [number for number in snapshot.seq if number is not None] == [
        node._sequence_nr() for node in order if not hasattr(node, "variable")
    ]
    edges = zip(
        snapshot.edge_source, snapshot.edge_input_nr, snapshot.edge_target, snapshot.edge_output_nr, strict=True
    )
    assert list(edges) == [
        (place[node], slot, place[child], number)
        for node in order
        for slot, (child, number) in enumerate(node.next_functions)
        if child is not None
    ]
    kinds = dict(zip(snapshot.op, snapshot.kind, strict=True))
    assert (kinds["TwiceBackward"], kinds["CopySlices"], kinds["AccumulateGrad"]) == ("function", "copy", "leaf")


def test_roots_of_all_kinds():
    """Tensor, node, gradient edge and list give the same graph; a leaf is a graph of one node."""
    x = rg.ones(3, requires_grad=True)
    loss = (x * 2).sum()
    edge = rg.autograd.graph.get_gradient_edge(loss)

    assert len({tuple(walk(root).op) for root in (loss, loss.grad_fn, edge, [loss], (edge,))}) == 1
    assert (walk(x).op, walk(x).name) == (["AccumulateGrad"], ["x"])
    assert walk(loss.grad_fn).root_names == ["loss"]


def test_saved_bytes():
    """The bytes a node keeps for backward: two arrays for a product, one for x * x, none once freed."""
    x, y = rg.ones(4, requires_grad=True), rg.ones(4, requires_grad=True)
    product, square = x * y, x * x

    assert walk(product).saved_bytes[0] == 32
    assert walk(square).saved_bytes[0] == 16
    product.sum().backward()
    assert walk(product).saved_bytes[0] == 0


def test_saved_hooks_are_not_called():
    """A value packed by the user's hooks is not unpacked; its size is unknown."""

    def refuse(packed):
        raise AssertionError("unpacked")

    with rg.autograd.graph.saved_tensors_hooks(lambda tensor: "packed", refuse):
        x = rg.ones(3, requires_grad=True)
        y = x.exp() * x

    assert walk(y).saved_bytes[0] is None


def test_freed_and_overwritten_graphs():
    """A freed graph and one whose saved value was written to are pictured all the same."""
    x = rg.ones(3, requires_grad=True)
    y = x.exp()
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    loss = x.exp().sum()
    loss.backward()

    assert walk(z).op == ["SumBackward0", "MulBackward0", "ExpBackward0", "AccumulateGrad"]
    assert walk(loss).op == ["SumBackward0", "ExpBackward0", "AccumulateGrad"]


def test_errors():
    """No graph, and objects of two engines or none, are refused in one sentence."""
    with pytest.raises(NoGraphError, match=r"no backward graph.*requires_grad=True"):
        walk(rg.ones(3))
    with pytest.raises(NotATensorError, match="is not a tensor"):
        walk([rg.ones(3, requires_grad=True), 3])


def test_two_engines_at_once():
    """Tensors of both engines in one walk are refused; one recording takes both."""
    torch = pytest.importorskip("torch")
    ours, theirs = rg.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

    with pytest.raises(NotATensorError, match="two engines"):
        walk([ours, theirs])
    with recording() as record:
        ours.sum().backward()
        theirs.sum().backward()
    assert [snapshot.engine for snapshot in record.graphs] == ["retrograd", "torch"]
    assert record.engine == "retrograd+torch"


def test_recording():
    """Lines, names and events of a run on our engine; nothing is observed afterwards."""
    with recording() as record:
        w = {"w1": rg.ones(3, requires_grad=True)}
        y = Twice.apply(w["w1"])  # apply
        y = y.clone()
        y[0] = 1.0  # write
        loss = y.sum()  # sum
        loss.backward()
        (slope,) = rg.autograd.grad(w["w1"].sin().sum(), w["w1"], create_graph=True)  # slope
        slope.sum().backward()
    first, _, third = record.graphs

    lines = marks_of(first)
    assert (lines["TwiceBackward"], lines["CopySlices"], lines["SumBackward0"]) == ("apply", "write", "sum")
    assert marks_of(third)["CosBackward0"] == "slope"
    assert (first.root_names, first.name[-1]) == (["loss"], 'w["w1"]')
    assert [event.kind for event in record.events] == ["backward", "backward-end"] * 3
    assert observe.observers == []


def test_failing_and_nested_runs():
    """A run that fails says so; a run inside a run is an event without a graph."""

    class Nested(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with rg.enable_grad():
                rg.ones(1, requires_grad=True).sum().backward()
            return grad * 2

    with recording() as record:
        x = rg.ones(3, requires_grad=True)
        loss = Nested.apply(x).exp().sum()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()

    assert [(event.kind, event.data.get("nested", False)) for event in record.events] == [
        ("backward", False),
        ("backward", True),
        ("backward-end", False),
        ("backward-end", False),
        ("backward", False),
        ("backward-end", False),
    ]
    assert "second time" in record.events[-1].data["error"]


def test_threads():
    """A watch of one thread does not see another's run; a watch of all does, with its lines."""

    def work():
        (rg.ones(2, requires_grad=True) * 3).sum().backward()  # in a thread

    with recording() as everything, recording(every_thread=False) as here:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert (len(everything.graphs), len(here.graphs)) == (1, 0)
    assert marks_of(everything.graphs[0])["MulBackward0"] == "in a thread"


def test_nothing_is_kept():
    """Nodes and tensors die under watch when the user drops them, without the garbage collector."""
    gc.disable()
    try:
        with recording():
            x = rg.ones(3, requires_grad=True)
            y = x * 2
            loss = y.sum()
            watched = [weakref.ref(thing) for thing in (x, y, loss, y.grad_fn)]
            loss.backward()
            del x, y, loss
            assert [ref() for ref in watched] == [None] * 4
    finally:
        gc.enable()


def test_deep_chain():
    """A chain of 30,000 operations is recorded and walked without recursion."""
    with recording() as record:
        h = rg.ones(2, requires_grad=True)
        for _ in range(30_000):
            h = h * 1.0
        h.sum().backward()

    assert len(record.graphs[0]) == 30_002
