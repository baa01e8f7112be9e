"""SPEC rows F-13 to F-24: inputs and views returned, mark_dirty, mark_non_differentiable."""

from __future__ import annotations

from both_engines import differential, edges, graph_of, raises, warned
from custom_functions import custom

CUSTOM_VIEW = "created inside a custom Function"


def _same(torch, factor=3):
    return custom(torch, "Same", forward=lambda ctx, x: x, backward=lambda ctx, g: g * factor)


@differential
def test_F_13_input_returned(torch):
    """F-13: the caller gets a fresh view with history on the node; in-place on it is refused."""
    a = torch.ones(2, requires_grad=True)
    y = _same(torch).apply(a)
    y.sum().backward()
    Twice = custom(torch, forward=lambda ctx, x: (x, x), backward=lambda ctx, g, h: g + h * 10)
    b = a * 1
    p, q = Twice.apply(b)
    (p + q).sum().backward()
    return [
        y is a, y.data_ptr() == a.data_ptr(), y._base is a, y._is_view(), y.grad_fn, a.grad, a.grad_fn, a.is_leaf,
        p is q, p.output_nr, q.output_nr, b.grad_fn, raises(CUSTOM_VIEW, _same(torch).apply(b).mul_, 2),
        raises("", p.mul_, 2),
    ]  # fmt: skip


@differential
def test_F_14_not_recording(torch):
    """F-14: without grad still a view; under no_grad with a grad-requiring input a detached alias."""
    plain = torch.ones(2)
    y = _same(torch).apply(plain)
    a = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        z = _same(torch).apply(a)
    z_shares = z.data_ptr() == a.data_ptr()
    return [y is plain, y._base is plain, y.requires_grad, z is a, z._base, z.requires_grad, z_shares]


@differential
def test_F_15_one_tensor_twice(torch):
    """F-15: both slots are the same object, and all gradient arrives at the last one."""
    seen = []

    def forward(ctx, x):
        y = x * 2
        return y, y

    def backward(ctx, g, h):
        seen.extend([g, h])
        return g + h

    a = torch.ones(2, requires_grad=True)
    p, q = custom(torch, forward=forward, backward=backward).apply(a)
    (p * 3 + q * 4).sum().backward()
    return [p is q, p.output_nr, seen, a.grad]


@differential
def test_F_16_views_returned(torch):
    """F-16: a view output keeps its base, has the node as history, and may be read but not written."""
    a = torch.ones(4, requires_grad=True)
    b = a * 1
    View = custom(torch, "Part", forward=lambda ctx, x: x[1:3], backward=lambda ctx, g: torch.ones(4) * 7)
    v = View.apply(b)
    fresh = custom(
        torch, "Fresh", forward=lambda ctx, x: (x * 2)[0:2], backward=lambda ctx, g: torch.ones(4) * 5
    ).apply(b)
    v.sum().backward(retain_graph=True)
    found = [v._base is b, v.grad_fn, v.output_nr, a.grad, fresh._is_view(), fresh.grad_fn]
    found += [raises("Output 0 of Part is a view and is being modified inplace", v.mul_, 2),
              raises(CUSTOM_VIEW, fresh.add_, 1), v.clone()]  # fmt: skip
    b.mul_(2)
    return [*found, raises("its base or another view of its base", lambda: v.grad_fn), v.detach()]


@differential
def test_F_16_sibling_written(torch):
    """F-16: a write to a sibling view makes the history unusable as well."""
    b = torch.ones(4, requires_grad=True) * 1
    v = custom(torch, forward=lambda ctx, x: x[1:3], backward=lambda ctx, g: torch.ones(4)).apply(b)
    b[0:2].mul_(2)
    return [raises("its base or another view of its base", lambda: v * 2), raises("", v.sum)]


@differential
def test_F_17_several_outputs(torch):
    """F-17: with several differentiable outputs every view is multi-output: no in-place under grad mode."""

    def forward(ctx, x):
        return x[0:2], x * 2

    b = torch.ones(4, requires_grad=True) * 1
    v, w = custom(torch, forward=forward, backward=lambda ctx, g, h: h).apply(b)
    w.mul_(2)
    error = raises("returns multiple views", v.mul_, 2)
    with torch.no_grad():
        v.mul_(2)
    return [error, v, w.grad_fn, raises("returns multiple views", lambda: v.grad_fn)]


@differential
def test_F_18_pure_view(torch):
    """F-18: a pure view may be written; the engine then replays the view itself."""
    calls = []

    def forward(ctx, x):
        ctx._is_pure_view = True
        return x.view(2, 2)

    def backward(ctx, g):
        calls.append("custom")
        return g.view(4)

    def bad(ctx, x):
        ctx._is_pure_view = 3
        return x.view(2, 2)

    View = custom(torch, forward=forward, backward=backward)
    a = torch.ones(4, requires_grad=True)
    b = a * 1
    v = View.apply(b)
    v.mul_(3)
    v.sum().backward()
    found = [calls.copy(), a.grad, v.grad_fn]
    View.apply(a * 1).sum().backward()
    return [
        *found,
        calls,
        raises("invalid combination of arguments", custom(torch, forward=bad, backward=backward).apply, a),
    ]


def _dirty(torch, change=True):
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.mul_(y) if change else x

    return custom(torch, "Dirty", forward=forward, backward=lambda ctx, g: (g * 2, g * 3))


@differential
def test_F_19_mark_dirty(torch):
    """F-19: the returned object is the input, its version is raised once more, its history rebased."""
    a = torch.ones(2, requires_grad=True)
    b = a * 1
    old = b.grad_fn
    y = _dirty(torch).apply(b, torch.ones(2) * 5)
    found = [y is b, b._version, b.grad_fn, b.grad_fn.next_functions[0][0] is old, b.output_nr]
    b.sum().backward()
    plain = torch.ones(2)
    c = torch.ones(2, requires_grad=True)
    _dirty(torch).apply(plain, c)
    plain.sum().backward()
    untouched = torch.ones(2)
    _dirty(torch, change=False).apply(untouched, c)
    both = torch.ones(2)
    _dirty(torch).apply(both, torch.ones(2))
    return [
        *found,
        a.grad,
        plain.grad_fn,
        plain.is_leaf,
        edges(plain.grad_fn),
        c.grad,
        untouched._version,
        both._version,
        both.grad_fn,
    ]


@differential
def test_F_19_second_call_replaces(torch):
    """F-19: a second mark_dirty replaces the first."""

    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        ctx.mark_dirty(y)
        y.mul_(2)
        return y

    x, y = torch.ones(2, requires_grad=True) * 1, torch.ones(2)
    out = custom(torch, forward=forward, backward=lambda ctx, g: (g, g)).apply(x, y)
    return [out is y, x._version, y._version, y.grad_fn]


@differential
def test_F_19_several_dirty(torch):
    """F-19: several inputs may be modified and returned."""

    def forward(ctx, x, y):
        ctx.mark_dirty(x, y)
        return x.mul_(2), y.mul_(3)

    a = torch.ones(2, requires_grad=True)
    x, y = a * 1, a * 1
    p, q = custom(torch, forward=forward, backward=lambda ctx, g, h: (g * 2, h * 3)).apply(x, y)
    (p + q * 10).sum().backward()
    return [p is x, q is y, p.output_nr, q.output_nr, a.grad, edges(x.grad_fn)]


@differential
def test_F_20_errors(torch):
    """F-20: leaves, forgotten outputs, views with several outputs, non-tensors, non-inputs."""

    def run(forward, *args):
        return custom(torch, forward=forward, backward=lambda ctx, *g: (g[0], None)).apply(*args)

    def mark_and(result):
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return result(x)

        return forward

    def other(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    def number(ctx, x):
        ctx.mark_dirty(3)
        return x

    a = torch.ones(2, requires_grad=True)
    b, fresh = a * 1, a * 1
    with torch.no_grad():
        quiet = fresh[0:1]
        in_quiet = run(mark_and(lambda x: x.mul_(2)), a)
    piece = torch.ones(2, 2, requires_grad=True).clone().unbind(0)[0]
    return [
        raises(
            "a leaf Variable that requires grad has been used in an in-place operation",
            run,
            mark_and(lambda x: x.mul_(2)),
            a,
        ),
        raises("were not returned", run, mark_and(lambda x: x * 2), b),
        raises("cannot return more than one Tensor", run, mark_and(lambda x: (x.mul_(2), x * 2)), b[0:1]),
        raises("mark_dirty can only accept variables", run, number, b),
        warned("received a tensor that was not an input", run, other, b),
        raises("a leaf Variable that requires grad", run, mark_and(lambda x: x.mul_(2)), quiet),
        raises("", run, mark_and(lambda x: x.mul_(2)), piece),
        in_quiet is a,
        in_quiet.requires_grad,
        a.requires_grad,
        a.is_leaf,
        in_quiet.data_ptr() == a.data_ptr(),
    ]


@differential
def test_F_21_dirty_view(torch):
    """F-21: the base is rebased through a CopySlices that holds the custom node."""
    a = torch.ones(2, requires_grad=True)
    b = a * 1
    v = b[0:1]
    out = _dirty(torch).apply(v, torch.ones(1) * 5)
    b.sum().backward()
    return [out is v, b.grad_fn, v.grad_fn, edges(b.grad_fn), graph_of(v.grad_fn), a.grad, b]


@differential
def test_F_22_dirty_hooks_and_grad(torch):
    """F-22: old hooks stay on the old node, new ones go to the new, retain_grad moves, .grad is cleared."""
    calls = []
    a = torch.ones(2, requires_grad=True)
    b = a * 1
    b.register_hook(lambda g: calls.append(("old", g)))
    b.retain_grad()
    b.grad = torch.zeros(2)
    _dirty(torch).apply(b, torch.ones(2) * 5)
    cleared = b.grad
    b.register_hook(lambda g: calls.append(("new", g)))
    (b * 4).sum().backward()
    return [calls, b.grad, cleared, a.grad]


@differential
def test_F_23_non_differentiable(torch):
    """F-23: marked outputs need no grad; backward still gets zeros, or None without materialisation."""
    seen = []

    def run(materialize, marked):
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            y, z, i = x * 2, x * 3, (x * 4).long()
            ctx.mark_non_differentiable(*[(y, z, i, x * 1)[k] for k in marked])
            return y, z, i

        def backward(ctx, *grads):
            seen.append(grads)
            return grads[0] * 2

        a = torch.ones(2, requires_grad=True)
        y, z, i = custom(torch, forward=forward, backward=backward).apply(a)
        y.sum().backward()
        return [z.requires_grad, z.grad_fn, i.requires_grad, a.grad, z.is_leaf]

    def number(ctx, x):
        ctx.mark_non_differentiable(3)
        return x * 2

    bad = custom(torch, forward=number, backward=lambda ctx, g: g)
    return [run(True, [1, 2]), run(False, [1, 2]), run(True, [3]), seen,
            raises("only accepts variable arguments", bad.apply, torch.ones(2, requires_grad=True))]  # fmt: skip


@differential
def test_F_24_constant_inputs_and_views(torch):
    """F-24: a marked input is a detached alias; a marked view stays a view that inherits requires_grad."""

    def constant_input(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    def constant_view(ctx, x):
        v = x[0:1]
        ctx.mark_non_differentiable(v)
        return v

    a = torch.ones(2, requires_grad=True)
    b = a * 1
    y = custom(torch, forward=constant_input, backward=lambda ctx, g: g).apply(b)
    v = custom(torch, forward=constant_view, backward=lambda ctx, g: g).apply(b)
    return [
        y is b,
        y.requires_grad,
        y._base,
        b.grad_fn,
        b.requires_grad,
        v._is_view(),
        v._base is b,
        v.requires_grad,
        v.grad_fn,
    ]
