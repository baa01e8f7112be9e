"""SPEC rows V-10 to V-16: leaves, their accumulators, ``.grad`` and ``retain_grad``."""

from __future__ import annotations

import gc
import weakref

from both_engines import differential, edges, raises, warned


@differential
def test_V_10_life_of_the_accumulator(torch):
    """V-10: one accumulator per leaf at a time; node hooks die with it, tensor hooks live on the leaf."""
    a = torch.ones(2, requires_grad=True)
    calls = []
    node = (a * 2).grad_fn.next_functions[0][0]
    node.register_hook(lambda *args: calls.append("node"))
    a.register_hook(lambda g: calls.append("tensor"))
    a.register_post_accumulate_grad_hook(lambda t: calls.append("post"))
    same = (a * 3).grad_fn.next_functions[0][0] is node
    (a * 2).sum().backward()
    first = list(calls)
    del node, calls[:]
    gc.collect()
    (a * 2).sum().backward()
    return [same, first, calls, (a * 2).grad_fn.next_functions[0][0].variable is a]


@differential
def test_V_10_the_graph_keeps_the_leaf(torch):
    """V-10: the accumulator holds the leaf strongly, so the graph keeps it."""
    a = torch.ones(2, requires_grad=True)
    ref = weakref.ref(a)
    out = (a * 2).sum()
    del a
    alive = ref() is not None
    leaf = out.grad_fn.next_functions[0][0].next_functions[0][0].variable
    same = leaf is ref()
    out.backward()
    grad = leaf.grad
    del leaf, out
    return [alive, same, grad, ref() is None]


@differential
def test_V_11_accumulating(torch):
    """V-11: the first gradient is stored, later ones are added into the same object, or replace it with history."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    (a * 2).sum().backward()
    first = a.grad
    version = first._version
    (a * 5).sum().backward()
    kept = a.grad is first
    found = [version, first._version, kept, a.grad.clone()]
    (a * a * a).sum().backward(create_graph=True)
    return [*found, a.grad is first, a.grad, a.grad.grad_fn, first]


@differential
def test_V_11_first_gradient_under_create_graph(torch):
    """V-11: a first gradient under create_graph is a recorded copy."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    (a * a).sum().backward(create_graph=True)
    return [a.grad, a.grad.grad_fn, edges(a.grad.grad_fn)]


@differential
def test_V_11_no_aliasing(torch):
    """V-11: .grad never shares memory with a given gradient, a hook's argument, or another leaf's .grad."""
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    g = torch.tensor([1.0, 2.0])
    seen = []
    (a + b).backward(g)
    g[0] = 100
    found = [a.grad.clone(), b.grad.clone(), a.grad is g]
    a.grad[1] = 50
    found.append(b.grad.clone())
    c = torch.ones(2, requires_grad=True)
    c.register_hook(seen.append)
    c.backward(torch.ones(2))
    seen[0].mul_(9)
    d = torch.ones(2, requires_grad=True)
    given = torch.ones(2)
    d.backward(given)
    d.backward(given)
    e = torch.ones(2, requires_grad=True)
    x = e.clone()
    x.retain_grad()
    x.sum().backward()
    x.grad.mul_(3)
    return [*found, c.grad, d.grad, given, e.grad, x.grad]


@differential
def test_V_11_layout_of_the_gradient(torch):
    """V-11: a dense leaf's gradient has the leaf's strides, any other is row-major."""
    a = torch.arange(6.0).view(2, 3).t().requires_grad_()
    (a * 2).sum().backward()
    b = torch.arange(12.0).view(3, 4)[:, ::2].requires_grad_()
    (b * 2).sum().backward()
    c = torch.ones(3, 1).expand(3, 4).requires_grad_()
    (c * 2).sum().backward()
    return [a.stride(), a.grad.stride(), b.stride(), b.grad.stride(), c.stride(), c.grad.stride(), a.grad, b.grad]


@differential
def test_V_11_shape_clash_with_an_old_gradient(torch):
    """V-11: an old gradient of another shape gives the ordinary broadcasting error."""
    a = torch.ones(2, requires_grad=True)
    a.sum().backward()
    a.data = torch.ones(3)
    kept = a.grad.shape
    return [list(kept), raises("", a.sum().backward)]


@differential
def test_V_12_undefined_gradient_runs_hooks(torch):
    """V-12: an undefined gradient leaves .grad alone, and all hooks still run."""
    calls = []

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return None

    a = torch.ones(2, requires_grad=True)
    a.register_hook(lambda g: calls.append(("tensor", g)))
    a.register_post_accumulate_grad_hook(lambda t: calls.append(("post", t.grad)))
    out = Nothing.apply(a)
    node = out.grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: calls.append(("pre", grads)))
    node.register_hook(lambda gi, go: calls.append(("hook", gi, go)))
    out.sum().backward()
    return [calls, a.grad]


@differential
def test_V_12_leaf_that_no_longer_requires_grad(torch):
    """V-12: nothing is stored in a leaf whose flag was taken off after the forward."""
    calls = []
    a = torch.ones(2, requires_grad=True)
    a.register_post_accumulate_grad_hook(lambda t: calls.append(t.grad))
    out = (a * 2).sum()
    a.requires_grad = False
    out.backward()
    return [a.grad, calls]


@differential
def test_V_12_leaf_moved_into_the_interior(torch):
    """V-12: a leaf that became interior meanwhile is an error."""
    a = torch.ones(2, requires_grad=True)
    out = (a * 2).sum()
    a.requires_grad = False
    a.mul_(torch.ones(2, requires_grad=True))
    return raises("leaf variable has been moved into the graph interior", out.backward)


@differential
def test_V_12_data_changed_after_forward(torch):
    """V-12: the gradient is checked against the shape recorded when the node was made."""
    a = torch.ones(2, requires_grad=True)
    out = (a * 2).sum()
    a.data = torch.ones(3)
    out.backward()
    return [list(a.grad.shape), list(a.shape), a.grad]


@differential
def test_V_13_assigning_grad(torch):
    """V-13: None and deletion clear; a tensor must fit and is not copied."""
    a = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    g = torch.tensor([1.0, 2.0])
    a.grad = g
    plain.grad = g
    found = [a.grad is g, plain.grad is g]
    a.sum().backward()
    found += [g, a.grad is g]
    a.grad = None
    found.append(a.grad)
    a.grad = g
    del a.grad
    b = a * 2
    b.grad = torch.zeros(2)
    return [
        *found, a.grad,
        raises("assigned grad expected to be a Tensor or None", setattr, a, "grad", 3),
        raises("can't assign Variable as its own grad", setattr, a, "grad", a),
        raises("gradient of size '[3]' to a tensor of size '[2]'", setattr, a, "grad", torch.ones(3)),
        raises("gradient with dtype", setattr, a, "grad", torch.ones(2, dtype=torch.float64)),
        raises("grad_dtype", setattr, a, "grad", torch.ones(2, dtype=torch.float64)),
    ]  # fmt: skip


@differential
def test_V_13_grad_with_history(torch):
    """V-13: an assigned gradient may itself require grad and is added to as it is."""
    a = torch.ones(2, requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    a.grad = w * 2
    found = [a.grad, a.grad.grad_fn]
    a.grad.sum().backward()
    return [*found, w.grad]


@differential
def test_V_14_grad_dtype(torch):
    """V-14: another grad_dtype makes accumulation cast; None accepts any."""
    a = torch.ones(2, requires_grad=True)
    found = [a.grad_dtype]
    a.grad_dtype = torch.float64
    (a * 2).sum().backward()
    found += [a.grad_dtype, a.grad]
    found.append(raises("already a gradient with dtype", setattr, a, "grad_dtype", torch.float32))
    a.grad = None
    a.grad_dtype = None
    a.grad = torch.ones(2, dtype=torch.float16)
    found += [a.grad_dtype, a.grad]
    b = a * 2
    return [
        *found,
        raises("can only be accessed on leaf tensors", lambda: b.grad_dtype),
        raises("can only be set", setattr, b, "grad_dtype", None),
        raises("must be a torch.dtype or None", setattr, a, "grad_dtype", 3),
    ]


@differential
def test_V_14_grad_dtype_of_a_custom_function(torch):
    """V-14: with grad_dtype None a gradient of any dtype is stored as it comes."""

    class Wide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.double()

    a = torch.ones(2, requires_grad=True)
    Wide.apply(a).sum().backward()
    b = torch.ones(2, requires_grad=True)
    b.grad_dtype = None
    Wide.apply(b).sum().backward()
    return [a.grad, b.grad]


@differential
def test_V_15_grad_of_a_non_leaf(torch):
    """V-15: reading .grad of a non-leaf warns unless it is retained."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    phrase = "The .grad attribute of a Tensor that is not a leaf"
    read = lambda: b.grad  # noqa: E731
    found = [warned(phrase, read), warned(phrase, lambda: a.grad), warned(phrase, lambda: a[0].grad)]
    b.retain_grad()
    found.append(warned(phrase, read))
    b.sum().backward()
    return [*found, warned(phrase, read)]


@differential
def test_V_16_retain_grad(torch):
    """V-16: no effect on leaves, idempotent, first gradient cloned, later ones added into a new object."""
    a = torch.ones(2, requires_grad=True)
    a.retain_grad()
    b = a * 2
    b.retain_grad()
    b.retain_grad()
    out = (b * b).sum()
    out.backward(retain_graph=True)
    first = b.grad
    out.backward()
    return [
        a.retains_grad, b.retains_grad, b.grad is first, first, b.grad, b.grad.requires_grad,
        raises("can't retain_grad on Tensor that has requires_grad=False", torch.ones(2).retain_grad),
    ]  # fmt: skip


@differential
def test_V_16_retain_grad_runs_after_tensor_hooks(torch):
    """V-16: the retained gradient is what all tensor hooks left, before node pre hooks."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    b.retain_grad()
    b.register_hook(lambda g: g * 10)
    b.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    (b * 3).sum().backward()
    return [b.grad, a.grad]


@differential
def test_V_16_retain_grad_follows_writes(torch):
    """V-16: after in-place writes (direct, by a view, by the base) the newest value's gradient is retained."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    b.retain_grad()
    b.mul_(3)
    (b * 5).sum().backward()
    c = a * 2
    c.retain_grad()
    c[0].mul_(3)
    (c * 5).sum().backward()
    d = a * 2
    v = d[0]
    v.retain_grad()
    d.mul_(3)
    (v * 7).backward()
    return [b.grad, c.grad, v.grad, a.grad, b.retains_grad, c.retains_grad, v.retains_grad]


@differential
def test_V_16_retain_grad_holds_weakly(torch):
    """V-16: the node does not keep the tensor that asked to retain its gradient."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    b.retain_grad()
    out = b.sum()
    ref = weakref.ref(b)
    del b
    gone = ref() is None
    out.backward()
    return [gone, a.grad]


@differential
def test_V_16_retained_under_create_graph(torch):
    """V-16: under create_graph the retained gradient has history."""
    a = torch.tensor([2.0], requires_grad=True)
    b = a * a
    b.retain_grad()
    (b * b).sum().backward(create_graph=True)
    return [b.grad, b.grad.requires_grad, torch.autograd.grad(b.grad.sum(), a)]


@differential
def test_V_10_set_makes_another_leaf(torch):
    """V-10: graphs recorded before ``set_`` lead to the leaf that was; the tensor takes gradients of its new shape."""
    x = torch.ones(4, requires_grad=True)
    before = (x * 2).sum()
    with torch.no_grad():
        x.set_(x[1:])
    (x * 3).sum().backward()
    unused = raises("", torch.autograd.grad, before, x)
    p = torch.nn.Parameter(torch.ones(4))
    for _ in range(2):
        with torch.no_grad():
            p.set_(p[1:])
            p.grad = None
        torch.cat((p, p)).sum().backward()
    return [x.grad, unused, p, p.grad]
