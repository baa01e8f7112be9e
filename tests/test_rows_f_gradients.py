"""SPEC rows F-37 to F-47: how backward is called, what it may return, twice, and errors in it."""

from __future__ import annotations

import traceback

from both_engines import differential, raises
from custom_functions import custom


def _returning(torch, make, inputs=1):
    """A Function of ``inputs`` arguments whose backward returns ``make(gradient)``."""
    return custom(torch, forward=lambda ctx, *xs: xs[0] * 2, backward=lambda ctx, g: make(g))


@differential
def test_F_37_calling_backward(torch):
    """F-37: one gradient per output, None for non-tensors, grad mode as create_graph, strides as they come."""
    seen = []

    def forward(ctx, x):
        return x * 2, 5, x * 3

    def backward(ctx, *grads):
        seen.append([grads, torch.is_grad_enabled(), [None if g is None else g.stride() for g in grads]])
        return grads[0] * 2

    a = torch.ones(2, 2, requires_grad=True)
    F = custom(torch, forward=forward, backward=backward)
    y, _, _ = F.apply(a)
    total = y.sum()
    with torch.no_grad():
        total.backward()
    y, _, _ = F.apply(a)
    torch.autograd.grad(y.sum(), a, create_graph=True)
    return [seen, a.grad]


@differential
def test_F_38_materialising(torch):
    """F-38: missing gradients become zeros of the output's shape and dtype, unless told otherwise."""
    seen = []

    def run(setting):
        def forward(ctx, x):
            setting(ctx)
            y, i, d = x * 2, x.long(), x.double()
            ctx.mark_non_differentiable(i)
            return y, i, 7, d

        def backward(ctx, *grads):
            seen.append([g if g is None else [g, g.is_contiguous(), g.requires_grad] for g in grads])
            return grads[0]

        y, *_ = custom(torch, forward=forward, backward=backward).apply(torch.ones(2, requires_grad=True))
        y.sum().backward()
        return y.grad_fn

    def mixed(ctx):
        ctx._materialize_non_diff_grads = False

    node = run(lambda ctx: None)
    run(lambda ctx: ctx.set_materialize_grads(False))
    run(mixed)
    return [
        seen,
        node._materialize_non_diff_grads,
        raises("invalid combination of arguments", node.set_materialize_grads, 3),
    ]


@differential
def test_F_39_number_of_gradients(torch):
    """F-39: one per argument, surplus trailing Nones are dropped."""

    def attempt(make):
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        return _returning(torch, make).apply(a, b).sum().backward

    phrase = "function FBackward returned an incorrect number of gradients (expected 2, got "
    return [
        raises(phrase + "1)", attempt(lambda g: g)),
        raises(phrase + "3)", attempt(lambda g: (g, g, g))),
        raises(phrase + "1)", attempt(lambda g: None)),
        raises(phrase + "1)", attempt(lambda g: [g, g])),
        raises(phrase + "0)", attempt(lambda g: ())),
        attempt(lambda g: (g, g, None, None))(),
        attempt(lambda g: (g, None))(),
    ]


@differential
def test_F_40_kind_of_gradients(torch):
    """F-40: None for non-tensors; None or a tensor for tensors; one for a plain tensor is dropped."""
    a = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    _returning(torch, lambda g: (g * 3, g * 100)).apply(a, plain).sum().backward()
    nothing = torch.ones(2, requires_grad=True)
    _returning(torch, lambda g: None).apply(nothing * 1).sum().backward()
    return [
        a.grad,
        plain.grad,
        nothing.grad,
        raises(
            "returned a gradient different than None at position 2",
            _returning(torch, lambda g: (g, g)).apply(a, 3).sum().backward,
        ),
        raises("expected Variable or None (got int)", _returning(torch, lambda g: 3).apply(a).sum().backward),
        raises("expected Variable or None (got list)", _returning(torch, lambda g: [g]).apply(a).sum().backward),
    ]


@differential
def test_F_41_shapes(torch):
    """F-41: gradients that the shape broadcasts to are summed down; anything else is refused."""

    def attempt(size, *given):
        a = torch.ones(size, requires_grad=True)
        _returning(torch, lambda g: torch.arange(float(torch.ones(given).numel())).view(given)).apply(
            a
        ).sum().backward()
        return a.grad

    phrase = "Function FBackward returned an invalid gradient at index 0 - got "
    return [
        attempt((2,), 5, 2), attempt((2, 1), 4, 2, 3), attempt((1,), 3), attempt((), 2, 2), attempt((2,), 2),
        raises(phrase + "[3] but expected shape compatible with [2]", attempt, (2,), 3),
        raises(phrase + "[] but expected", attempt, (2,)), raises(phrase + "[1] but expected", attempt, (2,), 1),
    ]  # fmt: skip


@differential
def test_F_41_interior_and_invalid_edges(torch):
    """F-41: interior inputs are checked too, gradients along invalid edges are not."""
    a = torch.ones(2, requires_grad=True)
    b = a * 1
    _returning(torch, lambda g: torch.ones(3, 2)).apply(b).sum().backward()
    c = torch.ones(2, requires_grad=True)
    _returning(torch, lambda g: (g, torch.ones(7))).apply(c, torch.ones(2)).sum().backward()
    return [a.grad, c.grad]


@differential
def test_F_42_dtypes(torch):
    """F-42: gradients are cast to the recorded dtype; complex for real is refused, real for complex accepted."""

    def attempt(made, dtype=torch.float32):
        a = torch.ones(2, requires_grad=True, dtype=dtype)
        _returning(torch, lambda g: torch.ones(2, dtype=made)).apply(a).backward(torch.ones(2, dtype=dtype))
        return a.grad

    found = [attempt(d) for d in (torch.float64, torch.int64, torch.bool, torch.float16)]
    return [
        *found,
        raises("Expected isFloatingType(grad", attempt, torch.complex64),
        attempt(torch.float32, torch.complex64).real,
        attempt(torch.float32, torch.float64),
        str(attempt(torch.float32, torch.complex64).dtype),
    ]


@differential
def test_F_43_node_hooks(torch):
    """F-43: tensor hooks, pre hooks, zero filling, backward, validation, post hooks, in this order."""
    log = []

    def forward(ctx, x, k):
        ctx.register_hook(lambda gi, go: log.append(["post", gi, go]))
        ctx.register_prehook(lambda go: log.append(["pre", go]))
        return x * 2, x * 3

    def backward(ctx, g, h):
        log.append(["backward", g, h])
        return torch.ones(4, 2) * 5, None

    a = torch.ones(2, requires_grad=True)
    y, z = custom(torch, forward=forward, backward=backward).apply(a, 3)
    y.register_hook(lambda g: log.append(["tensor y", g]))
    z.register_hook(lambda g: log.append(["tensor z", g]))
    y.sum().backward()
    return [log, a.grad]


@differential
def test_F_43_replacing(torch):
    """F-43: pre and post hooks may replace what flows."""
    a = torch.ones(2, requires_grad=True)
    y = custom(torch, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2).apply(a)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] + 1,))
    y.sum().backward()
    return a.grad


@differential
def test_F_44_once_differentiable(torch):
    """F-44: grad is off inside; under create_graph with a grad-requiring gradient the result ends in an error node."""
    once = torch.autograd.function.once_differentiable
    modes = []

    def backward(ctx, g):
        modes.append(torch.is_grad_enabled())
        return g * 2, None

    F = custom(torch, forward=lambda ctx, x, y: x * 2, backward=once(backward))
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2)
    (plain,) = torch.autograd.grad(F.apply(a, b).sum(), a, create_graph=True)
    w = torch.ones(2, requires_grad=True)
    (linked,) = torch.autograd.grad(F.apply(a, b), a, grad_outputs=w * 1, create_graph=True)
    return [modes, plain, linked, linked.grad_fn, type(linked.grad_fn).__name__,
            raises("trying to differentiate twice", linked.sum().backward)]  # fmt: skip


@differential
def test_F_45_double_backward(torch):
    """F-45: backward's operations are recorded; saved inputs and outputs come back connected."""

    def cube(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def exponential(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    Cube = custom(torch, forward=cube, backward=lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
    Exp = custom(torch, forward=exponential, backward=lambda ctx, g: g * ctx.saved_tensors[0])
    a = torch.tensor([2.0], requires_grad=True)
    found = []
    for F in (Cube, Exp):
        g = F.apply(a)
        for _ in range(3):
            (g,) = torch.autograd.grad(g.sum(), a, create_graph=True)
            found.append(g)
    return found


@differential
def test_F_46_boxed(torch):
    """F-46: with the class flag backward gets a mutable list that it may empty."""
    seen = []

    def backward(ctx, grads):
        seen.append([type(grads).__name__, len(grads)])
        total = grads[0] + grads[1]
        grads.clear()
        return total

    F = custom(torch, forward=lambda ctx, x: (x * 1, x * 2), backward=backward, boxed_grads_call=True)
    a = torch.ones(2, requires_grad=True)
    y, z = F.apply(a)
    (y + z).sum().backward()
    return [seen, a.grad]


@differential
def test_F_47_exceptions(torch):
    """F-47: an exception in backward surfaces unchanged, with the user's frame; what was accumulated stays."""

    class Mine(Exception):
        pass

    def failing_backward(ctx, g):
        raise Mine("from backward")

    a = torch.ones(2, requires_grad=True)
    early = torch.ones(2, requires_grad=True)
    out = custom(torch, forward=lambda ctx, x: x * 2, backward=failing_backward).apply(a * 1)
    error = None
    try:
        (out + early).sum().backward()
    except Mine as raised:
        error = raised
    frames = "failing_backward" in "".join(traceback.format_tb(error.__traceback__))

    def leave(ctx, g):
        raise SystemExit(4)

    code = None
    try:
        custom(torch, forward=lambda ctx, x: x * 2, backward=leave).apply(a).sum().backward()
    except SystemExit as raised:
        code = raised.code
    return [str(error), frames, early.grad, a.grad, code, raises("again", _failing_forward(torch).apply, a)]


def _failing_forward(torch):
    def forward(ctx, x):
        raise ValueError("again")

    return custom(torch, forward=forward)
