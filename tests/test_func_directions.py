"""``func.jvp`` in forward mode, ``jacfwd``, ``linearize``, ``functionalize``, and ``vmap`` over an empty batch."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from both_engines import differential, raises

import retrograd
from retrograd.engine.pytree.trees import tree_flatten


def _product(torch, calls, **attributes):
    """A Function of two tensors; its ``jvp`` is wrong by a factor of 10, so that one sees who was asked."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y, x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g, h):
            calls.append("backward")
            x, y = ctx.saved_tensors
            return g * y + h, g * x + h

        @staticmethod
        def jvp(ctx, tx, ty):
            calls.append("jvp")
            x, y = ctx.saved_tensors
            return 10 * (tx * y + ty * x), tx + ty

    for name, value in attributes.items():
        setattr(Product, name, value)
    return Product


@differential
def test_a_function_is_asked_for_its_jvp(torch):
    """F-48: ``func.jvp`` is forward mode, so a custom Function's ``jvp`` is called, and no ``backward``."""
    calls, x, y = [], torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    apply, ones = _product(torch, calls).apply, torch.ones(2)
    both = torch.func.jvp(apply, (x, y), (ones, ones))
    one = torch.func.jvp(lambda a: apply(a, y)[0], (x,), (ones,))
    refused = raises("does not have vmap support", torch.func.jacfwd(lambda a: apply(a, y)[0]), x)
    return both, one, refused, calls


@differential
def test_a_function_without_jvp(torch):
    """F-48: a Function without ``jvp`` is refused by ``func.jvp`` as by dual numbers."""
    product = _product(torch, [], jvp=torch.autograd.Function.jvp)
    x = torch.ones(2)
    return raises("implement the jvp function", torch.func.jvp, product.apply, (x, x), (x, x))


@differential
def test_results_along_a_direction(torch):
    """Outputs of another dtype, without tangent, of integers and written in place come out as in forward mode."""
    jvp, x, t = torch.func.jvp, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5])
    written, pushed = x.clone(), t.clone()
    return (
        jvp(lambda a: a.double(), (x,), (t,)),
        jvp(lambda a: (a > 1, a.argmax(), a.detach() * 3), (x,), (t,)),
        jvp(lambda a: {"k": a**2}, (x,), (t,)),
        jvp(lambda a: (a, a + 1), (x,), (t,), has_aux=True),
        (jvp(lambda a: a.mul_(2), (written,), (pushed,)), written, pushed),
        raises("independent of the inputs", lambda: jvp(lambda a: t, (x,), (t,), strict=True)),
        raises("Expected primal to be floating point", jvp, lambda a: a, (x.int(),), (t.int(),)),
    )


@differential
def test_grad_mode_within_jvp(torch):
    """``func.jvp`` leaves the grad mode as it is: recorded where its caller records, and nowhere else."""
    x, t = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 0.5], requires_grad=True)
    seen = []

    def f(a):
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        return a.sin()

    out, pushed = torch.func.jvp(f, (x,), (t,))
    with torch.no_grad():
        plain = [r.requires_grad for r in torch.func.jvp(f, (x,), (t,))]
    return out.detach(), torch.autograd.grad(pushed.sum(), (x, t)), plain, seen


@differential
def test_derivatives_within_derivatives(torch):
    """A ``jvp`` within a ``jvp``, a ``grad``, a ``vmap`` and the other way round."""
    func, x, t = torch.func, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5])
    return (
        func.jvp(lambda a: func.jvp(torch.sin, (a,), (t,))[1], (x,), (t,)),
        func.jvp(lambda a: func.jvp(lambda b: a * b**3, (a,), (t,))[1], (x,), (t,)),
        func.jvp(func.grad(lambda a: a.sin().sum()), (x,), (t,)),
        func.grad(lambda a: func.jvp(torch.sin, (a,), (t,))[1].sum())(x),
        func.vmap(lambda d: func.jvp(torch.sin, (x,), (d,))[1])(torch.eye(2)),
        func.jvp(func.vmap(torch.sin), (x,), (t,)),
        func.jvp(func.jacrev(torch.sin), (x,), (t,)),
        func.jacfwd(func.jacfwd(lambda a: a.sin().sum()))(x),
    )


@differential
def test_levels_do_not_nest(torch):
    """E-31: ``func.jvp`` opens the one forward level there is; within a level of the program's own it is refused."""
    fw, x = torch.autograd.forward_ad, torch.ones(2)
    with fw.dual_level():
        within = raises("Nested forward mode AD", torch.func.jvp, torch.sin, (x,), (x,))

    def opens(a):
        with fw.dual_level():
            return a

    return within, raises("Nested forward mode AD", torch.func.jvp, opens, (x,), (x,))


@differential
def test_columns_of_a_jacobian(torch):
    """``jacfwd``: integers have no direction, integer outputs no derivative; random numbers are asked for."""
    jacfwd, x = torch.func.jacfwd, torch.tensor([1.0, 2.0])
    return (
        jacfwd(lambda a: a.int())(x),
        raises("Expected primal to be floating point", jacfwd(lambda a: a), x.int()),
        raises("called random operation", jacfwd(lambda a: a * torch.rand(2)), x),
        jacfwd(lambda a: a * 2 + 0 * torch.rand(2), randomness="same")(x),
    )


@differential
def test_directions_that_do_not_fit(torch):
    """``linearize``: tangents nested in another way than the primals are refused."""
    x = torch.tensor([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how PyTorch traces the function
        _, push = torch.func.linearize(lambda a, b: (a * b, {"k": a.sum()}), x, x)
    wanted = "to have the same argspec as the primals"
    return push(x, x), raises(wanted, push, x), raises(wanted, push, (x, x))


@differential
def test_functionalize(torch):
    """A functionalized function has the results and the effects of the function."""

    def f(a):
        a.add_(1)
        b = a * 2
        b[0].mul_(2)
        return b

    x, functionalize = torch.ones(2, 2), torch.func.functionalize
    return (
        functionalize(f)(x),
        x,
        torch.func.vmap(functionalize(lambda a: a.mul(2), remove="mutations_and_views"))(torch.ones(2, 2, 1)),
        raises("received invalid argument for remove=nope", functionalize, f, remove="nope"),
    )


@differential
def test_an_empty_batch(torch):
    """``vmap`` over no entries gives results without entries, in the shapes and dtypes they would have."""
    vmap, x = torch.func.vmap, torch.ones(0, 3, requires_grad=True)
    out = vmap(lambda a: a.sum())(x)
    out.sum().backward()
    return (
        out.detach(),
        x.grad,
        vmap(lambda a, b: (a > 0, a.expand(2, 3) + b), in_dims=(0, None), out_dims=(0, 1))(
            torch.ones(0, 3), torch.ones(3)
        ),
        vmap(lambda i: i + 1, in_dims=1)(torch.ones(2, 0, dtype=torch.int32)),
    )


@differential
def test_how_vjp_fn_is_called(torch):
    """``vjp_fn`` takes one argument, nested like the outputs; ``None`` stands for no cotangent of a vector."""
    x = torch.tensor([1.0, 2.0])
    _, pull = torch.func.vjp(lambda a: (a * a, {"s": a.sum()}), x)
    _, back = torch.func.vjp(torch.sin, x)
    return (
        pull((torch.ones(2), {"s": torch.tensor(1.0)})),
        raises("to be the same as pytree structure of outputs", pull, torch.ones(2)),
        raises("missing 1 required positional argument: 'cotangents'", back),
        raises("grad can be implicitly created only for scalar outputs", back, None),
        raises("must be floating-point or complex Tensors", torch.func.jacrev(lambda a: a.int()), x),
    )


@differential
def test_saved_tensor_hooks_and_transforms(torch):
    """Saved-tensor hooks are refused by transforms that run backward, around them and within."""
    func, x, hooks = torch.func, torch.tensor([1.0, 2.0]), torch.autograd.graph.saved_tensors_hooks
    cube = lambda a: (a**3).sum()  # noqa: E731

    def within(a):
        with hooks(lambda t: t, lambda t: t):
            return cube(a)

    text = "don't yet support saved tensor hooks"
    found = [raises(text, transform(within), x) for transform in (func.grad, func.jacrev, func.hessian)]
    with hooks(lambda t: t, lambda t: t):
        found += [raises(text, func.grad(cube), x), raises(text, func.vjp, cube, x)]
    return found, func.grad(cube)(x)


@differential
def test_requires_grad_within_transforms(torch):
    """``requires_grad_`` is refused within every transform; a tensor may be made that requires grad."""
    func, x = torch.func, torch.ones(2)

    def made(a):
        return (a * torch.ones(2, requires_grad=True).detach()).sum()

    wanted = "You are attempting to call Tensor.requires_grad_()"
    return func.grad(made)(x), [
        raises(wanted, func.grad(lambda a: a.requires_grad_().sum()), x),
        raises(wanted, func.vmap(lambda a: a.requires_grad_(False)), x),
        raises(wanted, func.jvp, lambda a: torch.ones(2).requires_grad_() * a, (x,), (x,)),
    ]


def _in_two_threads(torch, ends_first):
    """A jvp that begins second, in a thread of its own, within one that goes on until or after its end."""
    first_is_in, second_is_in, may_end = (threading.Event() for _ in range(3))
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])

    def first(a):
        first_is_in.set()
        assert (second_is_in if ends_first else may_end).wait(60)
        return a.exp() * a

    def second(a):
        before = a.tanh()
        second_is_in.set()
        assert not ends_first or may_end.wait(60)
        return before * a, torch.func.jvp(lambda b: b * b.sin(), (a,), (t,))

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(torch.func.jvp, first, (x,), (t,))
        assert first_is_in.wait(60)
        other = pool.submit(torch.func.jvp, second, (x,), (t,))
        (one if ends_first else other).result(60)
        may_end.set()
        found = one.result(60), other.result(60)
    return found, torch.func.jvp(torch.cos, (x,), (t,)), torch.autograd.forward_ad._current_level


@differential
def test_two_threads_are_within_their_functions_at_once(torch):
    """F-48: a ``jvp`` in one thread leaves another thread's alone."""
    return _in_two_threads(torch, ends_first=False)


def test_a_thread_goes_on_when_another_has_closed_the_level():
    """F-48: the same is found where the first to begin ends first (PyTorch then refuses a ``jvp`` within the other)."""
    both = [tree_flatten(_in_two_threads(retrograd, ends_first))[0] for ends_first in (False, True)]
    assert [np.asarray(leaf).tolist() for leaf in both[0]] == [np.asarray(leaf).tolist() for leaf in both[1]]


def test_many_threads_enter_together():
    """F-48: whichever of them has the forward level, all find what they find alone."""
    barrier, x = threading.Barrier(4), retrograd.tensor([1.0, 2.0])

    def cubed(a):
        barrier.wait(60)
        return a * a * a

    with ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(retrograd.func.jvp, cubed, (x,), (retrograd.ones(2),)) for _ in range(4)]
        found = [[entry.tolist() for entry in task.result(60)] for task in tasks]
    assert found == [[[1.0, 8.0], [3.0, 12.0]]] * 4
