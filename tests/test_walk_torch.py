"""The walk on PyTorch's graphs: columns against PyTorch's own word, roots of all kinds, graphs in bad shape."""

from __future__ import annotations

import gc
import weakref
from collections import deque

import pytest

from retrograd.errors import NoGraphError, NotATensorError
from retrograd.inspect import walk

torch = pytest.importorskip("torch")


class Double(torch.autograd.Function):
    """Twice its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 + 0 * x


def breadth_first(root):
    """All nodes behind a root as PyTorch's own hook logger visits them (SPEC row G-55)."""
    seen, queue, order = {root}, deque([root]), []
    while queue:
        node = queue.popleft()
        order.append(node)
        for child, _ in node.next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                queue.append(child)
    return order


def conv_net():
    """A small convolutional net with an in-place ReLU and a residual `+=`, and a batch for it."""

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Conv2d(2, 2, 3, padding=1)
            self.second = torch.nn.Conv2d(2, 2, 3, padding=1)
            self.relu = torch.nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.second(self.relu(self.first(x)))
            y += x
            return self.relu(y)

    return torch.nn.Sequential(Block(), Block(), torch.nn.Flatten(), torch.nn.Linear(32, 3)), torch.randn(2, 2, 4, 4)


@pytest.fixture(params=["conv", "transformer", "views", "parallel"])
def loss(request):
    """Losses of quite different graphs."""
    torch.manual_seed(0)
    if request.param == "conv":
        model, x = conv_net()
        return model(x).pow(2).mean()
    if request.param == "transformer":
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        return torch.nn.TransformerEncoder(layer, 2)(torch.randn(2, 3, 8)).sum()
    x = torch.randn(4, 3, requires_grad=True)
    if request.param == "views":
        y = x.clone()
        y[0].mul_(2)
        first, _, third = y.unbind(1)
        return (first * third).sum()
    return (Double.apply(x) * x * x).sum()


def test_columns_agree_with_torch(loss):
    """Every column and every edge is what PyTorch itself says of the nodes, in breadth-first order."""
    snapshot = walk(loss)
    order = breadth_first(loss.grad_fn)
    place = {node: number for number, node in enumerate(order)}

    assert snapshot.engine == "torch"
    assert snapshot.op == [node.name().rpartition("::")[2] for node in order]
    assert snapshot.shape == [tuple(node._input_metadata[0].shape) for node in order]
    assert snapshot.dtype == [str(node._input_metadata[0].dtype).removeprefix("torch.") for node in order]
    assert snapshot.seq == [None if hasattr(node, "variable") else node._sequence_nr() for node in order]
    assert list(
        zip(snapshot.edge_source, snapshot.edge_input_nr, snapshot.edge_target, snapshot.edge_output_nr, strict=True)
    ) == [
        (place[node], slot, place[child], number)
        for node in order
        for slot, (child, number) in enumerate(node.next_functions)
        if child is not None
    ]
    assert snapshot.roots == [0]


def test_kinds():
    """Leaves, custom Functions and CopySlices are told from operators."""
    x = torch.ones(3, requires_grad=True)
    y = Double.apply(x).clone()
    y[0] = 0

    snapshot = walk(y.sum())

    assert dict(zip(snapshot.op, snapshot.kind, strict=True)) == {
        "SumBackward0": "op",
        "CopySlices": "copy",
        "CloneBackward0": "op",
        "DoubleBackward": "function",
        "AccumulateGrad": "leaf",
    }


def test_parallel_edges_stay():
    """x * x has two edges to the same leaf, at positions 0 and 1."""
    x = torch.ones(3, requires_grad=True)

    snapshot = walk(x * x)

    assert (snapshot.edge_target, snapshot.edge_input_nr) == ([1, 1], [0, 1])


def test_roots_of_all_kinds():
    """A tensor, its node, its gradient edge and a list of one give the same graph; two roots are both named."""
    x = torch.ones(3, requires_grad=True)
    left, right = (x * 2).sum(), x.exp()
    edge = torch.autograd.graph.get_gradient_edge(left)

    pictures = [walk(root).op for root in (left, left.grad_fn, edge, [left], (left,), [edge])]
    both = walk([left, right])

    assert all(picture == ["SumBackward0", "MulBackward0", "AccumulateGrad"] for picture in pictures)
    assert [both.op[root] for root in both.roots] == ["SumBackward0", "ExpBackward0"]
    assert both.root_names == ["left", "right"]
    assert walk([left, left]).roots == [0, 0]


def test_leaf_as_root():
    """A leaf that requires gradients is a graph of one node."""
    weight = torch.ones(2, 3, requires_grad=True)

    snapshot = walk(weight)

    assert (snapshot.op, snapshot.kind, snapshot.shape, snapshot.name) == (
        ["AccumulateGrad"],
        ["leaf"],
        [(2, 3)],
        ["weight"],
    )


def test_freed_graph():
    """A graph whose saved values are freed by backward is pictured as before, a custom Function included."""
    x = torch.ones(3, requires_grad=True)
    loss = (Double.apply(x).exp() * x).sum()
    before = walk(loss)

    loss.backward()

    assert walk(loss) == before


def test_saved_tensor_changed_in_place():
    """A graph that can no longer run backward, since a saved tensor was written to, is pictured all the same."""
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)

    assert walk(z.sum()).op == ["SumBackward0", "MulBackward0", "ExpBackward0", "AccumulateGrad"]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_unpack_hooks_are_not_called():
    """Saved-tensor hooks of the user never run for a picture."""
    calls = []

    def unpack(packed):
        calls.append(packed)
        return packed

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach(), unpack):
        x = torch.ones(3, requires_grad=True)
        loss = (x.exp() * x).sum()
    walk(loss)

    assert calls == []


def test_nothing_is_kept():
    """Once the user lets go, tensors are gone at once, without the garbage collector."""
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    loss = y.sum()
    watched = [weakref.ref(tensor) for tensor in (x, y, loss)]
    gc.disable()
    try:
        snapshot = walk(loss)
        del x, y, loss
        assert [ref() for ref in watched] == [None, None, None]
    finally:
        gc.enable()
    assert snapshot.name == ["loss", "y", "x"]


def test_double_backward_graph():
    """The graph of a gradient made with create_graph=True is a graph like any other."""
    x = torch.ones(3, requires_grad=True)
    (grad,) = torch.autograd.grad(x.sin().sum(), x, create_graph=True)

    snapshot = walk(grad)

    assert snapshot.op[0] == "MulBackward0"
    assert "CosBackward0" in snapshot.op


def test_user_modes_see_nothing():
    """A TorchFunctionMode or TorchDispatchMode of the user is not told of the walk's questions."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    weight = torch.ones(3, requires_grad=True)
    loss = (weight * 2).sum()
    with Functions(), Dispatch():
        snapshot = walk(loss)

    assert seen == []
    assert snapshot.name == ["loss", None, "weight"]


def test_nested_tensor_has_no_shape():
    """A node whose output has no one shape gets None and does no harm."""
    parts = [torch.ones(2), torch.ones(3)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)

    snapshot = walk(nested * 2)

    assert snapshot.shape == [None, None]


def test_checkpointed_stretch():
    """A checkpointed function without reentrant backward shows its operators."""
    x = torch.ones(3, requires_grad=True)
    loss = torch.utils.checkpoint.checkpoint(lambda v: v.sin(), x, use_reentrant=False).sum()

    assert walk(loss).op == ["SumBackward0", "SinBackward0", "AccumulateGrad"]


def test_tensor_without_graph():
    """One sentence says that there is no graph and what to do."""
    with pytest.raises(NoGraphError, match=r"no backward graph.*requires_grad=True"):
        walk(torch.ones(3))
    with pytest.raises(NoGraphError, match="empty"):
        walk([])


@pytest.mark.parametrize("thing", [3, "loss", None, object(), {"loss": 1}, [1, 2]])
def test_no_tensor(thing):
    """One sentence says what was given instead of a tensor."""
    with pytest.raises(NotATensorError, match=r"is not a tensor.*Give a tensor"):
        walk(thing)


def test_two_runs_give_the_same():
    """Two graphs of the same program are equal but for the sequence numbers, which count on."""
    torch.manual_seed(0)
    model, x = conv_net()

    first, second = walk(model(x).sum()), walk(model(x).sum())
    second.seq = first.seq

    assert first == second


def test_params():
    """Names come from a module or a mapping; anything else is refused."""
    model, x = conv_net()
    loss = model(x).sum()
    names = {name for name, _ in model.named_parameters()}
    holder = {f"my.{name}": parameter for name, parameter in model.named_parameters()}

    by_module = walk(loss, model, find_names=False)
    by_mapping = walk(loss, holder, find_names=False)

    assert {name for name in by_module.name if name} == names
    assert {name for name in by_mapping.name if name} == set(holder)
    with pytest.raises(NotATensorError, match="params is of type 'int'"):
        walk(loss, 3)
