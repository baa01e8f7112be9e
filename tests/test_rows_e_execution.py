"""SPEC rows E-07 to E-16: order, buffers, restricted runs, the steps of one node, release, create_graph."""

from __future__ import annotations

import gc
import weakref

import pytest
from both_engines import differential, raises, warned
from custom_functions import giving_none

import retrograd


def logged(torch, order, *named):
    """Note in ``order`` when the node of each named tensor runs."""
    for name, t in named:
        node = torch.autograd.graph.get_gradient_edge(t).node
        node.register_hook(lambda *_, name=name: order.append(name))


@differential
def test_E_07_waits_for_all_edges(torch):
    """E-07: a node runs once, after all its edges delivered; two edges from one node count, undefined ones too."""
    order = []
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    x = a * 2
    y = x * x
    z = x.exp()
    w = y + z
    n = giving_none(torch).apply(x)
    total = (w + n).sum()
    logged(torch, order, ("a", a), ("x", x), ("y", y), ("z", z), ("w", w), ("n", n))
    a.register_hook(lambda g: order.append("hook of a"))
    total.backward()
    return order, a.grad


@differential
def test_E_08_priority(torch):
    """E-08: among ready nodes the one recorded last runs first; accumulators run as soon as they are ready."""
    order = []
    a = torch.tensor([1.0], requires_grad=True)
    b = torch.tensor([1.0], requires_grad=True)
    x, y, z = a * 2, b * 3, a.exp()
    w = y * z
    s = x + w
    logged(torch, order, ("a", a), ("b", b), ("x", x), ("y", y), ("z", z), ("w", w), ("s", s))
    s.backward()
    return order


def test_E_08_accumulators_first_ready_first():
    """E-08: accumulators that become ready together run in the order in which they did (PyTorch: unspecified)."""
    order = []
    leaves = [retrograd.ones(1, requires_grad=True) for _ in range(5)]
    total = retrograd.stack(leaves).sum()
    logged(retrograd, order, *zip("abcde", leaves, strict=True))
    total.backward()
    assert order == list("abcde")


@differential
def test_E_09_buffers(torch):
    """E-09: deliveries to one input are summed without changing anything a user can see."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    x = a * 1
    seen = []
    y, z = x * 2, x * 3
    y.register_hook(lambda g: seen.append(g))
    given = torch.ones(2)
    torch.autograd.backward([y, z, y, x], [given, given, given, given])
    return a.grad, given, seen


@differential
def test_E_09_users_gradients_are_not_shared(torch):
    """E-09: what hooks saw and what .grad holds do not change when later sums and backward calls are made."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    a.register_hook(lambda g: seen.append(g))
    given = torch.ones(2)
    x = a.view(2)
    x.backward(given, retain_graph=True)
    first = a.grad
    x.backward(given)
    a.grad.mul_(10)
    return first is a.grad, given, seen[0], a.grad


def side_branch(torch):
    """A root, two leaves on two paths, and an interior tensor above one of them."""
    a = torch.tensor([2.0], requires_grad=True)
    c = torch.tensor([3.0], requires_grad=True)
    b = a * 3
    side = c.exp()
    return a, b, c, side, (b * b * side).sum()


@differential
def test_E_10_grad(torch):
    """E-10: grad runs only what lies between root and inputs; a requested node itself does not run."""
    a, b, c, side, total = side_branch(torch)
    order = []
    logged(torch, order, ("a", a), ("b", b), ("c", c), ("side", side), ("total", total))
    side.register_hook(lambda g: order.append("hook of side"))
    side.grad_fn.register_prehook(lambda g: order.append("pre hook of side"))
    first = torch.autograd.grad(total, b, retain_graph=True)
    order.append("-")
    second = torch.autograd.grad(total, [b, a])
    return order, first, second, c.grad


@differential
def test_E_10_backward_inputs(torch):
    """E-10: backward(inputs=) runs the requested nodes themselves, also of non-leaves, and nothing above."""
    a, b, c, side, total = side_branch(torch)
    order = []
    logged(torch, order, ("a", a), ("b", b), ("c", c), ("side", side))
    total.backward(inputs=[b], retain_graph=True)
    order.append("-")
    total.backward(inputs=[c])
    return order, a.grad, b.grad, c.grad


@differential
def test_E_11_steps_of_a_leaf(torch):
    """E-11: tensor hook, node pre hook, accumulation, post-accumulate hook, node post hook; each sees earlier edits."""
    a = torch.tensor([1.0], requires_grad=True)
    node = torch.autograd.graph.get_gradient_edge(a).node
    seen = []

    def note(name, change):
        def hook(value, *rest):
            seen.append((name, value, None if a.grad is None else a.grad.clone()))
            return change(value)

        return hook

    node.register_hook(lambda i, o: seen.append(("post", i, o, a.grad.clone())))

    def multiply(t):
        t.grad = t.grad * 7  # in place it would depend on whether the gradient was taken over or copied

    a.register_post_accumulate_grad_hook(multiply)
    node.register_prehook(note("pre", lambda g: (g[0] * 5,)))
    a.register_hook(note("tensor", lambda g: g * 3))
    (a * 2).backward()
    return seen, a.grad


@differential
def test_E_11_steps_of_an_interior_node(torch):
    """E-11: tensor hooks, retain_grad, pre hooks, the node, post hooks, release, then the deliveries."""
    seen = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(("backward", g, y.grad.clone()))
            return g * 2

    a = torch.tensor([1.0], requires_grad=True)
    x = a * 1
    y = Watched.apply(x)
    node = y.grad_fn
    y.retain_grad()
    y.register_hook(lambda g: seen.append(("tensor", g)) or g + 1)
    node.register_prehook(lambda g: seen.append(("pre", g)) or (g[0] * 10,))

    def post(i, o):
        seen.append(("post", i, o, len(node.saved_tensors)))
        return (i[0] * 3,)

    node.register_hook(post)
    x.register_hook(lambda g: seen.append(("next", g, raises("second time", getattr, node, "saved_tensors"))))
    y.backward(torch.ones(1))
    return seen, a.grad, y.grad


@differential
def test_E_11_capture_of_a_node_that_does_not_run(torch):
    """E-11: tensor hooks and retain_grad apply before a gradient is captured; node hooks do not."""
    _a, b, _, _, total = side_branch(torch)
    b.register_hook(lambda g: g * 10)
    b.retain_grad()
    ran = []
    b.grad_fn.register_prehook(lambda g: ran.append("pre") or (g[0] * 100,))
    return torch.autograd.grad(total, b), b.grad, ran


@differential
def test_E_12_capture_of_a_node_that_runs(torch):
    """E-12: copied from PyTorch: with an input above it, a tensor's gradient is captured before its hooks."""
    a, b, _, _, total = side_branch(torch)
    b.register_hook(lambda g: g * 10)
    a.register_hook(lambda g: g * 2)
    b.grad_fn.register_prehook(lambda g: (g[0] * 7,))
    alone = torch.autograd.grad(total, b, retain_graph=True)
    together = torch.autograd.grad(total, [b, a])
    return alone, together


@differential
def test_E_13_trimming(torch):
    """E-13: operators compute no result along edges the task does not want, custom nodes do."""
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    a = torch.tensor([2.0], requires_grad=True)
    c = torch.tensor([3.0], requires_grad=True)
    for product in (a * c, Product.apply(a, c)):
        product.grad_fn.register_hook(lambda i, o: seen.append(i))
        torch.autograd.grad(product, a)
    return seen


@differential
def test_E_14_undefined_gradients(torch):
    """E-14: a node all of whose gradients are undefined still runs; leaves stay without grad though hooks run."""
    seen = []
    a = torch.tensor([1.0], requires_grad=True)
    x = a.exp()
    x.grad_fn.register_prehook(lambda g: seen.append(("exp", g)))
    x.grad_fn.register_hook(lambda i, o: seen.append(("exp", i, o)))
    a.register_hook(lambda g: seen.append(("leaf", g)))
    giving_none(torch).apply(x).backward()
    undefined = torch._C._functions.UndefinedGrad()(a * 2)
    undefined.backward()
    return seen, a.grad, undefined.grad_fn


@differential
def test_E_15_release(torch):
    """E-15: each node is released right after it ran, those that did not run keep their values."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    c = torch.tensor([3.0, 4.0], requires_grad=True)
    x, y = a.exp(), c.exp()
    total = (x * y).sum()
    seen = []
    product = total.grad_fn.next_functions[0][0]
    x.register_hook(lambda g: seen.append(raises("second time", getattr, product, "_saved_self")))
    torch.autograd.grad(total, a)
    kept = y.grad_fn._saved_result
    return (
        seen, kept, raises("second time", getattr, x.grad_fn, "_saved_result"),
        raises("second time", torch.autograd.grad, total, c),
    )  # fmt: skip


def test_E_15_memory_without_the_collector():
    """E-15: saved values, nodes and tensors go by reference counting alone, after backward or with the loss."""
    gc.collect()
    gc.disable()
    try:
        a = retrograd.ones(4, requires_grad=True)
        x = a.exp()
        y = x * x
        loss = (y + y.sin()).sum()
        tensors = [weakref.ref(t) for t in (x, y)]
        nodes = [weakref.ref(t.grad_fn) for t in (x, y, loss)]
        del x, y
        assert all(t() is not None for t in tensors)  # saved by the product and by sin
        loss.backward()
        assert [t() for t in tensors] == [None, None]
        del loss
        assert [n() for n in nodes] == [None] * 3
        z = (a * 2).tanh().sum()
        dead = weakref.ref(z.grad_fn.next_functions[0][0])
        del z
        assert dead() is None
    finally:
        gc.enable()


@differential
def test_E_16_create_graph(torch):
    """E-16: grad mode during the run is create_graph, whatever the caller's; restored afterwards."""
    seen = []
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (a * a * a).sum()
    y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    with torch.no_grad():
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        seen.append(torch.is_grad_enabled())
    (h,) = torch.autograd.grad(g.sum(), a, retain_graph=True)
    torch.autograd.grad(y, a, retain_graph=True)
    seen.append(torch.is_grad_enabled())
    return seen, g, h


def test_E_16_warns_once(monkeypatch):
    """E-16: backward(create_graph=True) warns about the reference cycle, the first time."""
    from retrograd.engine import warning

    monkeypatch.setattr(warning, "_said", set())
    found = []
    for _ in range(2):
        a = retrograd.ones(1, requires_grad=True)
        names, _ = warned("reference cycle", (a * a).backward, create_graph=True)
        found.append(names)
    assert found == [["UserWarning"], []]


@pytest.mark.parametrize("engine", ["torch", "retrograd"])
def test_E_16_accumulating_with_create_graph(engine):
    """E-16: a .grad made with create_graph is itself differentiable, and further backwards add out of place."""
    torch = pytest.importorskip(engine)
    a = torch.tensor([2.0], requires_grad=True)
    warned("", (a**3).backward, create_graph=True)
    first = a.grad
    warned("", (a**3).backward, create_graph=True)
    assert a.grad is not first
    assert first.item() == 12.0
    (h,) = torch.autograd.grad(a.grad, a)
    assert h.item() == 24.0
