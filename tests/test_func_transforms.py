"""``torch.func`` and ``torch.vmap``: functions of functions, alone, in each other and under autograd."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from both_engines import differential, raises


def func(torch: Any) -> Any:
    """The module of one engine."""
    return importlib.import_module(f"{torch.__name__}.func")


@differential
def test_gradients(torch: Any) -> Any:
    """Of one argument or several, nested containers, with auxiliary results, of higher order."""
    f = func(torch)
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    def product(a: Any, b: Any) -> Any:
        return (a * a * b).sum()

    def with_aux(a: Any) -> Any:
        return a.sin().sum(), {"double": a * 2}

    third = f.grad(f.grad(f.grad(lambda t: t**5)))(torch.tensor(2.0))
    nested = f.grad(lambda d: (d["w"] ** 2).sum() * d["b"][0].sum())({"w": x, "b": [y]})
    return [
        f.grad(product)(x, y), f.grad(product, argnums=(0, 1))(x, y),
        f.grad_and_value(product, argnums=-1)(x, y), f.grad(with_aux, has_aux=True)(x), third, nested,
        f.grad_and_value(with_aux, has_aux=True)(x), f.grad(lambda t: torch.ones(()))(x),
    ]  # fmt: skip


@differential
def test_derivatives_meet_autograd(torch: Any) -> Any:
    """Results depend on what requires grad outside, and on nothing else; ``no_grad`` outside does not reach in."""
    f = func(torch)
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    plain = torch.tensor([1.0, 2.0])
    g = f.grad(lambda t: (t**3).sum())(x)
    g.sum().backward()
    h = f.grad(lambda t: (t * w).pow(2).sum())(plain)
    h.sum().backward()
    with torch.no_grad():
        inside = f.grad(lambda t: (t**2).sum())(plain)
    value, pull = f.vjp(lambda t: t * w, plain)
    return [
        g,
        x.grad,
        h,
        w.grad,
        inside,
        f.grad(lambda t: t.sum())(plain).requires_grad,
        value.requires_grad,
        pull(plain),
    ]


@differential
def test_products(torch: Any) -> Any:
    """``vjp`` and ``jvp`` of functions with several inputs and outputs, ``linearize``."""
    f = func(torch)
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    def two(a: Any, b: Any) -> Any:
        return a * b, {"s": a.sum()}

    out, pull = f.vjp(two, x, y)
    out2, pushed = f.jvp(two, (x, y), (torch.ones(2), y))
    _, single = f.vjp(torch.sin, x)
    return [
        out, pull((x, {"s": torch.tensor(2.0)})), single(y), out2, pushed,
        f.jvp(lambda t: (t.exp(), t * 2), (x,), (y,), has_aux=True),
        f.vjp(lambda t: (t.exp(), t + 3), x, has_aux=True)[2],
        raises("Expected pytree structure of cotangents", pull, x), raises("", f.jvp, torch.sin, x, x),
    ]  # fmt: skip


@differential
def test_jacobians(torch: Any) -> Any:
    """Backward and forward alike; nested outputs and arguments; second derivatives."""
    f = func(torch)
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.5], [2.0, 1.5]])

    def mixed(a: Any, b: Any) -> Any:
        return {"p": b @ a, "q": (a * a).sum()}

    found = [make(mixed, argnums=arg)(x, y) for make in (f.jacrev, f.jacfwd) for arg in (0, 1, (0, 1))]
    return [
        found, f.hessian(lambda t: (t**3).sum() * t[0])(x), f.jacrev(f.jacrev(torch.sin))(x),
        f.jacfwd(lambda t: (t * 2, t.sum()), has_aux=True)(x), f.jacrev(lambda t: (t * 2, t.sum()), has_aux=True)(x),
        f.hessian(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x + 1),
    ]  # fmt: skip


@differential
def test_vmap(torch: Any) -> Any:
    """Dimensions in and out, nested containers, what is the same for all, functions mapped twice."""
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    dot = torch.vmap(torch.dot)
    return [
        dot(x, x), torch.vmap(torch.mul, in_dims=(0, None))(x, torch.tensor(2.0)), torch.vmap(torch.sum, in_dims=1)(x),
        torch.vmap(lambda t: t * 2, out_dims=1)(x), torch.vmap(lambda t: t * 2, in_dims=-1, out_dims=-1)(x),
        torch.vmap(lambda t, d: (t + d["k"], d["k"].sum()), in_dims=(0, {"k": None}), out_dims=(1, 0))(x, {"k": x[0]}),
        torch.vmap(torch.vmap(lambda a, b: a * b, (None, 0)), (0, None))(x[0], y[0]),
        torch.vmap(lambda p: p[0] * p[1], in_dims=((0, 1),))((x, x.t().contiguous())),
        torch.vmap(lambda t, scale: t * scale, in_dims=(0, None))(x, 3), torch.vmap(lambda t: {"a": t.sum()})(x),
        torch.vmap(lambda t: t.sort())(x)[0], torch.vmap(torch.mv, (None, 1), chunk_size=2)(y.t(), y),
    ]  # fmt: skip


@differential
def test_vmap_under_autograd(torch: Any) -> Any:
    """Gradients of and inside mapped functions: one for each entry, also with respect to what all share."""
    f = func(torch)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.arange(6.0).reshape(3, 2)
    torch.vmap(lambda t: (t * w).sum())(x).pow(2).sum().backward()
    each = torch.vmap(f.grad(lambda p, t: ((p * t).sum()) ** 2), in_dims=(None, 0))(w.detach(), x)
    rows = torch.vmap(f.vjp(torch.sin, x[0])[1])(torch.eye(2))
    return [w.grad, each, rows, torch.vmap(f.jacrev(torch.sin))(x)]


def some(x: Any) -> Any:
    """A function with a name for messages."""
    return x


@differential
def test_refusals_of_vmap(torch: Any) -> Any:
    """What does not fit is refused with torch's phrases."""
    x, vmap = torch.ones(2, 3), torch.vmap
    return [
        raises("expected `in_dims` to be int or a (potentially nested) tuple", vmap(some, in_dims="a"), x),
        raises("got no inputs", vmap(some)),
        raises("in_dims is not compatible with the structure", vmap(some, (0, 0)), x),
        raises("Got in_dim=a for an input but in_dim must be", vmap(some, ("a",)), x),
        raises("We cannot vmap over non-Tensor arguments", vmap(some), 3),
        raises("expected in_dim to satisfy", vmap(some, 2), x),
        raises("same size in the mapped dimension", vmap(torch.add), x, torch.ones(3)),
        raises("must only return Tensors", vmap(lambda t: 3), x),
        raises("Only allowed values for randomness", vmap, some, 0, 0, "x"),
        raises("chunk_size should be None or greater", vmap, some, chunk_size=0),
        raises("random operation while in randomness error mode", vmap(lambda t: t + torch.rand(3)), x),
        raises("out_dims is not compatible", vmap(some, out_dims=(0, 0)), x),
    ]  # fmt: skip


@differential
def test_random_numbers(torch: Any) -> Any:
    """Each entry its own, or all the same."""
    x = torch.zeros(3, 4)
    same = torch.vmap(lambda t: t + torch.rand(4), randomness="same")(x)
    different = torch.vmap(lambda t: t + torch.rand(4), randomness="different")(x)
    return [bool((same[0] == same[1]).all()), bool((different[0] == different[1]).any()), same.shape]


@differential
def test_refusals_of_derivatives(torch: Any) -> Any:
    """No scalar, wrong argument numbers, no tuple where one is due."""
    f, x = func(torch), torch.ones(2)
    return [
        raises("return a scalar Tensor, got tensor with 1 dims", f.grad(some), x),
        raises("<class 'int'>", f.grad(lambda t: 3), x),
        raises("Got argnum=1, but only 1 positional inputs", f.grad(some, argnums=1), x),
        raises("argnums must be non-empty", f.grad(some, argnums=()), x),
        raises("should be a tuple: (output, aux)", f.grad(lambda t: t.sum(), has_aux=True), x),
        raises("argnums elements must be unique", f.grad(lambda a, b: a.sum(), argnums=(0, 0)), x, x),
    ]  # fmt: skip


@differential
def test_modules_with_other_parameters(torch: Any) -> Any:
    """A call with other parameters leaves the module's own; gradients per sample; ensembles."""
    f, nn = func(torch), torch.nn
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.arange(float(p.numel())).reshape(p.shape) / (i + 2))
    own = {n: p.detach() for n, p in net.named_parameters()}
    other = {n: p.detach() * 2 for n, p in net.named_parameters()}
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0], [0.0, 1.0]])

    def loss(params: Any, entry: Any) -> Any:
        return f.functional_call(net, params, (entry,)).sum()

    called = f.functional_call(net, {"0.weight": other["0.weight"]}, x)
    per_sample = torch.vmap(f.grad(loss), in_dims=(None, 0))(own, x)
    params, buffers = f.stack_module_state([net, net])
    unchanged = [torch.equal(own[n], p) for n, p in net.named_parameters()]
    return [
        called, unchanged, per_sample, {k: v.shape for k, v in params.items()},
        buffers, f.functional_call(net, {"nothing": x}, x),
        raises("", f.functional_call, net, {"0.weight": other["0.weight"]}, x, strict=True),
    ]  # fmt: skip


def test_results_are_free_of_inner_leaves() -> None:
    """What only the derivative's own leaves are in comes out without history, at any depth of the graph."""
    import retrograd as torch

    def deep(t: Any) -> Any:
        for _ in range(3000):
            t = t * 1.0001
        return t.sum()

    assert not torch.func.grad(deep)(torch.ones(2)).requires_grad


def test_linearized() -> None:
    """One graph, many tangents: as ``jvp`` at the same place."""
    import retrograd as torch

    x = torch.tensor([1.0, 2.0])
    output, linear = torch.func.linearize(lambda t: (t.sin(), t * t), x)
    for tangent in (x, torch.ones(2)):
        wanted = torch.func.jvp(lambda t: (t.sin(), t * t), (x,), (tangent,))
        torch.testing.assert_close((output, linear(tangent)), wanted)


@differential
def test_F_50_nothing_is_recorded_outside(torch: Any) -> Any:
    """Row F-50: where nothing is recorded outside of a transform, its results have no history either."""
    f, a = func(torch), torch.tensor([2.0, 3.0], requires_grad=True)
    x = torch.tensor([1.0, 4.0])
    with torch.no_grad():
        gradient = f.grad(lambda t: (t * t * a).sum())(x)
        twice = f.grad(lambda t: f.grad(lambda u: (u**3 * a).sum())(t).sum())(x)
        value = f.grad_and_value(lambda t: (t * a).sum())(x)
        pulled = f.vjp(lambda t: t * a, x)[0]
        pairs = f.jvp(lambda t: t * a, (x,), (x,)), f.jacrev(lambda t: t * a)(x), f.hessian(lambda t: (t * a).sum())(x)
    return gradient, twice, value, pulled, pairs, f.grad(lambda t: (t * a).sum())(x).requires_grad


@differential
def test_derivatives_of_scalars(torch: Any) -> Any:
    """Of one number by one number, of several arguments, of nested ones."""
    f = func(torch)
    x, y = torch.tensor(2.0), torch.tensor(3.0)
    return [
        [d(lambda t: t**3)(x), d(lambda t: t * torch.ones(2))(x), d(lambda t: t.sum())(torch.ones(2)),
         d(lambda a, b: a * b, argnums=(0, 1))(x, y), d(lambda a, b: a[0] * b + a[1], argnums=(0, 1))((x, y), y)]
        for d in (f.jacrev, f.jacfwd, f.hessian)
    ]  # fmt: skip


@differential
def test_jacobians_of_what_has_none(torch: Any) -> Any:
    """Complex numbers, no outputs and outputs that are no tensors are refused, keywords not known."""
    f = func(torch)
    x, c = torch.ones(3), torch.ones(2, dtype=torch.cfloat)
    return [
        [raises("real but received complex", d(lambda t: t.conj()), c), raises("real but", d(lambda t: t * 1j), x),
         raises("real but", d(lambda t, o: t * o.abs().sum()), x, c), raises("non-empty output", d(lambda t: ()), x),
         raises("non-empty output", d(lambda t: None), x),
         raises("unexpected keyword", d(lambda t, k=1: t * k), x, k=2)]
        for d in (f.jacrev, f.jacfwd)
    ] + [raises("output", f.vjp, lambda t: (), x), raises("output", f.jvp, lambda t: (), (x,), (x,))]  # fmt: skip


@differential
def test_no_grad_where_a_vjp_is_made_and_where_it_is_taken(torch: Any) -> Any:
    """Each result has a history if grad mode was on when it was computed."""
    f = func(torch)
    x = torch.tensor(3.0, requires_grad=True)
    found = []
    for made in (True, False):
        for taken in (True, False):
            with torch.set_grad_enabled(made):
                out, pull = f.vjp(lambda t: t**2, x)
            with torch.set_grad_enabled(taken):
                (g,) = pull(torch.tensor(1.0))
            found += [out.requires_grad, g.requires_grad, g]
    return found


@differential
def test_tangents_pass_through_no_grad(torch: Any) -> Any:
    """``no_grad`` within a function stops gradients, but no tangents: so in ``jvp``, ``jacfwd`` and ``linearize``."""
    f = func(torch)
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    def quiet(a: Any, b: Any) -> Any:
        with torch.no_grad():
            return {"product": a * b, "sum": (a * a).sum()}

    return [
        f.jvp(quiet, (x, y), (y, x)), f.jacfwd(quiet)(x, y), f.jacfwd(quiet, argnums=(0, 1))(x, y),
        f.jacrev(quiet)(x, y), _linearized(f, lambda t: quiet(t, y)["sum"], x)(y),
    ]  # fmt: skip


def _linearized(f: Any, function: Any, x: Any) -> Any:
    """The map of tangents, without the warnings of what PyTorch traces it with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f.linearize(function, x)[1]


@differential
def test_rules_for_batches_of_nested_arguments(torch: Any) -> Any:
    """A rule hears of batch dimensions nested as its arguments are, and may return what is nested itself."""
    f, heard = func(torch), []

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, rest: Any) -> Any:
            return [x.clone(), x * 2]

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, rest: Any) -> Any:
            heard.append(in_dims)
            return [x * 1, x.sum(0)], [0, None]

    x = torch.arange(6.0).reshape(2, 3)
    map_ = lambda dims, *args: f.vmap(Nested.apply, in_dims=dims)(*args)  # noqa: E731
    return [
        map_(0, x, [torch.ones(2), torch.ones(2)]), map_((0, (0, None)), x, (torch.ones(2), 5)),
        map_((0, None), x, {"a": 1}), map_((-2, None), x, 5), heard,
    ]  # fmt: skip


@differential
def test_modules_stacked_that_differ_in_what_requires_grad(torch: Any) -> Any:
    """Refused, as a stack either requires grad or does not."""
    models = [torch.nn.Linear(2, 2) for _ in range(2)]
    models[0].weight.requires_grad_(False)
    return raises("the same .requires_grad", func(torch).stack_module_state, models)
