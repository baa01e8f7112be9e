"""SPEC rows G-08 to G-12: hooks of nodes, their order, what they may return, and sharing hook dictionaries."""

from __future__ import annotations

from both_engines import differential, raises


def graph(torch):
    """A leaf and two nodes above it."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a * 3
    return a, y, y.sum()


@differential
def test_G_08_post_hooks(torch):
    """G-08: run in order, see results and incoming gradients, and may replace the results for whoever comes next."""
    a, y, total = graph(torch)
    seen = []

    def double(grad_inputs, grad_outputs):
        seen.append(("first", grad_inputs, grad_outputs))
        return tuple(None if g is None else g * 2 for g in grad_inputs)

    handle = y.grad_fn.register_hook(double)
    y.grad_fn.register_hook(lambda i, o: seen.append(("second", i, o)))
    total.backward()
    handle.remove()
    return seen, a.grad, type(seen[0][1]).__name__, type(seen[0][2]).__name__, hasattr(handle, "remove")


@differential
def test_G_08_removed_and_unreached(torch):
    """G-08: a removed hook does not run, nor one of a node that is not executed."""
    a, y, total = graph(torch)
    ran = []
    handle = y.grad_fn.register_hook(lambda *_: ran.append("removed"))
    handle.remove()
    side = a * 5
    side.grad_fn.register_hook(lambda *_: ran.append("side"))
    total.backward()
    return ran


@differential
def test_G_08_accumulator(torch):
    """G-08: hooks of an accumulator run after .grad was updated and after the tensor's post-accumulate hooks."""
    a, _, total = graph(torch)
    seen = []
    accumulator = torch.autograd.graph.get_gradient_edge(a).node
    accumulator.register_hook(lambda i, o: seen.append(("node", i, o, a.grad.clone())))
    a.register_post_accumulate_grad_hook(lambda t: seen.append(("tensor", t.grad.clone())))
    total.backward()
    return seen


@differential
def test_G_08_not_callable(torch):
    """G-08: anything can be registered; what is not callable fails when it is called."""
    _, y, total = graph(torch)
    y.grad_fn.register_hook(3)
    return raises("not callable", total.backward)


@differential
def test_G_09_pre_hooks(torch):
    """G-09: run before the node, after tensor hooks and retain_grad, in order, on the edited values."""
    a, y, total = graph(torch)
    seen = []
    y.retain_grad()

    def triple(grad_outputs):
        seen.append(("first", grad_outputs))
        return tuple(g * 3 for g in grad_outputs)

    y.grad_fn.register_prehook(triple)
    y.grad_fn.register_prehook(lambda g: seen.append(("second", g)))
    y.register_hook(lambda g: g + 1)
    total.backward()
    return seen, y.grad, a.grad


@differential
def test_G_09_missing_gradients(torch):
    """G-09: a pre hook sees None where no gradient arrived, the backward of a custom node then sees zeros."""
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            seen.append((g, h))
            return g + h

    a = torch.ones(2, requires_grad=True)
    first, _ = Two.apply(a)
    first.grad_fn.register_prehook(lambda g: seen.append(g))
    first.sum().backward()
    x, _ = torch.ones(2, requires_grad=True).unbind()
    x.grad_fn.register_prehook(lambda g: seen.append(g))
    x.backward()
    return seen


@differential
def test_G_10_validation(torch):
    """G-10: both kinds of hooks must return a tuple of equal length with fitting tensors; None is always allowed."""

    def attempt(kind, result, phrase, root=None):
        _a, y, total = graph(torch)
        node = y.grad_fn
        hook = (lambda *_: result) if kind == "post" else (lambda _: result)
        (node.register_hook if kind == "post" else node.register_prehook)(hook)
        return raises(phrase, total.backward)

    def both(kind):
        good = torch.ones(2)
        pair = (good, None) if kind == "post" else (good,)
        rest = pair[1:]
        return [
            attempt(kind, [*pair], "expected tuple, but hook returned"),
            attempt(kind, good, "expected tuple, but hook returned"),
            attempt(kind, (*pair, None), "incorrect number of values"),
            attempt(kind, (torch.ones(2, dtype=torch.float64), *rest), "has changed the type of value"),
            attempt(kind, (torch.ones(3), *rest), "has changed the size of value"),
            attempt(kind, (3, *rest), "expected Variable, but hook returned"),
        ]

    return both("pre"), both("post"), attempt("post", (torch.ones(2), torch.ones(2)), "can't replace a None gradient")


@differential
def test_G_10_none_stops_the_gradient(torch):
    """G-10: a hook that returns (None,) leaves the leaf without gradient; None cannot be filled again."""
    a, y, total = graph(torch)
    y.grad_fn.register_prehook(lambda g: (None,))
    total.backward()
    _b, z, other = graph(torch)
    z.grad_fn.register_prehook(lambda g: (None,))
    z.grad_fn.register_prehook(lambda g: (torch.ones(2),))
    return a.grad, raises("can't replace a None gradient", other.backward)


@differential
def test_G_10_names_the_hook(torch):
    """G-10: the hook's name is in the message, or <unknown>."""

    def my_hook(*_):
        return ()

    class Nameless:
        def __call__(self, *_):
            return ()

    found = []
    for hook, name in ((my_hook, "my_hook"), (Nameless(), "<unknown>")):
        _, y, total = graph(torch)
        y.grad_fn.register_hook(hook)
        found.append(raises(name, total.backward))
    return found


@differential
def test_G_11_hooks_registered_while_the_node_runs(torch):
    """G-11: added in a pre hook it gets grad_outputs, added in the node's backward it gets (); its result counts."""
    seen = []

    def post(grad_inputs, grad_outputs):
        seen.append((grad_inputs, grad_outputs))
        return tuple(g * 10 for g in grad_inputs)

    class Adds(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            ctx.register_hook(post)
            return g

    a = torch.ones(2, requires_grad=True)
    Adds.apply(a).sum().backward()
    b = torch.ones(2, requires_grad=True)
    y = b.exp()
    node = y.grad_fn

    def pre(grad_outputs):
        node.register_hook(post)

    node.register_prehook(pre)
    y.sum().backward()
    return seen, a.grad, b.grad


@differential
def test_G_12_register_hook_dict(torch):
    """G-12: a tensor's hook dictionary is shared, so that later hooks run too; a non-tensor is refused."""
    a, y, total = graph(torch)
    seen = []
    handle = y.register_hook(lambda g: seen.append(("first", g)))
    y.grad_fn._register_hook_dict(y)
    y.register_hook(lambda g: seen.append(("second", g)))
    handle.remove()

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    custom = Same.apply(a).grad_fn
    total.backward()
    return (
        len(seen) > 0, {name for name, _ in seen} == {"second"}, a.grad,
        raises("expected a variable", y.grad_fn._register_hook_dict, 3),
        raises("expected a Tensor", custom._register_hook_dict, 3),
    )  # fmt: skip
