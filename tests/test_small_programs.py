"""Short programs in which the engine and PyTorch once differed: messages, printing, names."""

from __future__ import annotations

from typing import Any

from both_engines import differential, raises, warned


def leaf(torch: Any, *values: float) -> Any:
    """A leaf that requires grad."""
    return torch.tensor(values, requires_grad=True)


def function(torch: Any, **methods: Any) -> Any:
    """A custom Function with these methods."""
    return type("Fn", (torch.autograd.Function,), {name: staticmethod(m) for name, m in methods.items()})


@differential
def test_printing_wraps(torch: Any) -> Any:
    """What follows the values goes to a line of its own where it does not fit."""
    x = torch.arange(8.0, requires_grad=True)
    level = torch.autograd.forward_ad.dual_level
    with level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2)) * leaf(torch, 1.0, 1.0)
        shown = repr(dual)
    return [
        repr(x * 1.2345), repr((x * 1.5).double()), repr(torch.arange(16.0, requires_grad=True) * 1.5), repr(x[:2] * 2),
        repr(torch.nn.Parameter(torch.arange(9.0) * 1.2345)), shown.count("\n"), reversed(x).tolist(),
    ]  # fmt: skip


@differential
def test_phrases_of_functions(torch: Any) -> Any:
    """Messages about custom Functions keep the phrases that are searched for."""
    x, forward_ad = leaf(torch, 1.0, 2.0), torch.autograd.forward_ad
    once = function(torch, forward=lambda ctx, a: ctx.save_for_backward(a) or a * 2,
                    backward=lambda ctx, g: (ctx.saved_tensors, g)[1])  # fmt: skip
    once.clear_saved_tensors_on_access = True
    y = once.apply(x).sum()
    y.backward(retain_graph=True)
    few = function(torch, forward=lambda ctx, a: (a * 2, a * 3), jvp=lambda ctx, a: a)
    dirty = function(torch, forward=lambda ctx, a: ctx.mark_dirty(a) or a.mul_(2), jvp=lambda ctx, a: a * 2)
    flag = function(torch, forward=lambda ctx, a: ctx.set_materialize_grads(3))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        tangents = [
            raises("Function's jvp returned an invalid number of forward gradients (expected 2", few.apply, dual),
            raises("An inplace custom Function is not modifying the forward mode gradients", dirty.apply, dual * 1),
        ]  # fmt: skip
    return [
        raises("saved_tensors can only be accessed once when clear_saved_tensors_on_access=True", y.backward), tangents,
        raises("set_materialize_grads received an invalid combination of arguments", flag.apply, x),
        warned(f"{once} should not be instantiated", once)[0],
    ]  # fmt: skip


@differential
def test_phrases_of_gradients(torch: Any) -> Any:
    """The same for assigned gradients, their dtypes, saved tensors, forward levels, windows and versions."""
    x, g = leaf(torch, 1.0, 2.0), leaf(torch, 1.0)
    g.grad_dtype = torch.float64
    (g * 2).backward()
    summed = (x * 1).sum(0)
    squared = summed**2
    with torch.no_grad():
        summed.add_(1)
    forward_ad = torch.autograd.forward_ad
    return [
        raises("gradient with dtype 'double' to a tensor with grad_dtype 'Float'", setattr, x, "grad", x.double()),
        raises("Cannot set grad_dtype to 'Float' because there is already a gradient with dtype 'double'",
               setattr, g, "grad_dtype", torch.float32),
        raises("grad_dtype must be a torch.dtype or None, but got int", setattr, g, "grad_dtype", 3),
        raises("incompatible function arguments. The following argument types are supported",
               x.exp().grad_fn._raw_saved_result.register_hooks, 1, 2),
        raises("Dual level must be a positive number", forward_ad.exit_dual_level),
        raises("that was not the last one that was created", forward_ad.exit_dual_level, level=3),
        raises("and itemsize 8 requiring a storage size of 80 are out of bounds for storage of size 24",
               torch.ones(3, dtype=torch.double).as_strided, (2, 2), (1, 1), 7),
        raises("which is output 0 of Sum1, is at version 1", squared.backward),
        raises("argument 'msg' must be a string", torch._C._functions.DelayedError, 1, 1),
        list(x.exp().grad_fn._input_metadata[0].shape),
    ]  # fmt: skip


@differential
def test_tangents_are_off_with_the_switch(torch: Any) -> Any:
    """``unpack_dual`` has no tangent where forward mode is switched off, so not in a ``jvp`` either."""
    forward_ad = torch.autograd.forward_ad
    seen = []

    def jvp(ctx: Any, t: Any) -> Any:
        seen.append(forward_ad.unpack_dual(ctx.saved_tensors[0]).tangent)
        return t * 2

    saving = function(torch, forward=lambda ctx, a: ctx.save_for_forward(a) or a * 2, jvp=jvp)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with forward_ad._set_fwd_grad_enabled(False):
            off = forward_ad.unpack_dual(dual).tangent
        out = forward_ad.unpack_dual(saving.apply(dual))
    return off, seen, out


@differential
def test_groups_of_one_value(torch: Any) -> Any:
    """A group norm over single values is refused."""
    norm = torch.nn.functional.group_norm
    return raises("Expected more than 1 value per channel when training, got input size [1, 3, 1]", norm,
                  torch.ones(1, 3, 1), 3), norm(torch.ones(2, 3, 1), 3)  # fmt: skip


@differential
def test_rules_with_other_shapes(torch: Any) -> Any:
    """A saved tensor that comes back in another shape is refused as operands that do not fit."""
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: torch.ones(3)):
        y = leaf(torch, 1.0, 2.0).sin()
    return raises("The size of tensor a (2) must match the size of tensor b (3)", y.sum().backward)


@differential
def test_fast_gradcheck_shows_numbers(torch: Any) -> Any:
    """The two directional derivatives that differ are printed as numbers."""
    wrong = function(torch, forward=lambda ctx, a: a * 2, backward=lambda ctx, g: g * 3)
    x = torch.tensor([1.0], dtype=torch.double, requires_grad=True)
    return raises("analytical:3.0\n", torch.autograd.gradcheck, wrong.apply, (x,), fast_mode=True)
