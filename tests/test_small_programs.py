"""Short programs in which the engine and PyTorch once differed: messages, printing, names."""

from __future__ import annotations

import warnings
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


@differential
def test_values_of_one_element_and_numbers_that_are_written(torch: Any) -> Any:
    """A mask takes one element of another dtype in any shape, ``True`` takes what may be copied, truth any number."""
    found = [torch.zeros(2, 3) for _ in range(5)]
    rows = torch.tensor([True, False])
    found[0][rows] = torch.tensor([2])
    found[1][rows] = torch.tensor([[2.5]], dtype=torch.float64)
    found[2][True] = torch.tensor([2, 3, 4])
    warned("discards the imaginary part", found[3].copy_, 2j)
    truth, whole = torch.zeros(3, dtype=torch.bool), torch.arange(3)
    truth[0], truth[torch.tensor([1])] = 1j, 2j
    whole.split(1)[0][0] = leaf(torch, 7.0)[0]
    scalar = torch.tensor(1.5)
    scalar[None] = scalar
    picked = lambda: torch.zeros(2).__setitem__(rows, torch.tensor(1j))  # noqa: E731
    return [*found, truth, whole, whole.requires_grad, scalar, raises("without overflow", picked)]


@differential
def test_real_numbers_written_to_complex_views(torch: Any) -> Any:
    """F-28: their gradient is real."""
    found = []
    for write in ("add_", "mul_", "copy_"):
        t, y = leaf(torch, 2.0, 3.0), torch.tensor([1 + 1j, 2 - 1j])
        getattr(y[:1], write)(t[:1])
        (gradient,) = torch.autograd.grad((torch.view_as_real(y) * torch.tensor([2.0, 5.0])).sum(), t)
        found += [y.detach(), gradient]
    return found


@differential
def test_gradients_beside_those_of_a_count(torch: Any) -> Any:
    """A norm that counts has no gradient, which takes nothing from those that come another way."""
    x = torch.tensor([-2.0, 0.0, 3.0], dtype=torch.float16, requires_grad=True)
    y = x * 2
    return torch.autograd.grad(y.norm(p=0, dim=0).double() + y.double().sum(), x)


@differential
def test_spread_and_size_of_very_large_and_small_numbers(torch: Any) -> Any:
    """Squares that single precision cannot hold do not show in a root."""
    tiny, huge = torch.tensor([1e-30, 2e-30]), torch.tensor([[1e30, 2e30, -1.0], [1.0, 2.0, 4.0]])
    one = torch.tensor([[1e30 + 1e30j]])
    norms = [one.norm(), torch.linalg.vector_norm(one.expand(2, 1), 3.0, dim=1), huge[:, :1].norm(dim=1)]
    return [tiny.std(), huge.std(1), torch.std_mean(huge, 0), huge.var(1), norms]


@differential
def test_places_among_nan(torch: Any) -> Any:
    """A search goes to the right of what can not be compared."""
    nan, inf = float("nan"), float("inf")
    edges, values = torch.tensor([1.0, 2.0, nan, nan]), torch.tensor([0.0, 1.0, 1.5, 3.0, inf, nan])
    return [
        torch.searchsorted(edges, values), torch.searchsorted(edges, values, right=True),
        torch.bucketize(values, edges), torch.searchsorted(edges[:2], values),
        torch.searchsorted(torch.stack([edges, edges]), torch.stack([values, values])),
    ]  # fmt: skip


@differential
def test_results_in_memory_that_is_read_or_shared(torch: Any) -> Any:
    """What joins may not be written to what it reads; a view that a result resizes stays where it lies."""
    found = []
    for f in (torch.vstack, torch.hstack, torch.cat):
        t = torch.ones(2, 2)
        found.append(raises("unsupported operation", lambda f=f, t=t: f([t, torch.zeros(2, 2)], out=t)))
    square = torch.arange(9.0).reshape(3, 3)
    found.append(raises("unsupported operation", lambda: torch.cross(square, square + 1, 0, out=square)))
    memory = torch.arange(12.0)
    warned("was resized", torch.amax, torch.ones(3, 3), 0, out=memory[3:].view(3, 3))
    return found, memory


@differential
def test_rates_that_are_tensors(torch: Any) -> Any:
    """A schedule writes a rate that is a tensor, which the program may hold; Adam's state stands in PyTorch's order."""
    found = []
    for make in (
        lambda o, s: s.ExponentialLR(o, 0.5),
        lambda o, s: s.OneCycleLR(o, 0.5, total_steps=8),
        lambda o, s: s.CyclicLR(o, 0.01, 0.2, 2, cycle_momentum=False),
        lambda o, s: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.9)], milestones=[1]),
    ):
        p, rate = torch.ones(2, requires_grad=True), torch.tensor(0.1)
        optimizer = torch.optim.Adam([p], lr=rate, amsgrad=True)
        schedule = make(optimizer, torch.optim.lr_scheduler)
        before = schedule.get_last_lr()
        p.sum().backward()
        optimizer.step()
        schedule.step()
        found += [rate, optimizer.param_groups[0]["lr"] is rate, before, list(optimizer.state[p]), p.detach()]
    return found


@differential
def test_rprop_in_double_precision(torch: Any) -> Any:
    """Lengths of steps grow without a rounding to single precision."""
    p = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Rprop([p])
    for sign in (1, 1, -1, 1, 1):
        optimizer.zero_grad()
        (p * sign).sum().backward()
        optimizer.step()
    return (p.detach() * 1e9).round()


@differential
def test_ones_over_complex_zeros_and_resized_lines(torch: Any) -> Any:
    """Infinity in the real part; lines and volumes of the same size as before are resampled where a factor says so."""
    zero = torch.tensor([0j, 1 + 1j])
    resize, lines = torch.nn.functional.interpolate, torch.arange(3.0).reshape(1, 1, 3)
    resized = [resize(lines.reshape(1, 1, 3, *[1] * n), scale_factor=(1.3, *[1.0] * n)) for n in (0, 1, 2)]
    return zero.reciprocal(), zero.rsqrt(), zero**-1, zero**-2, zero**-0.5, zero**0.5, resized


@differential
def test_sums_of_complex_numbers_in_a_real_dtype(torch: Any) -> Any:
    """The imaginary part is dropped with PyTorch's warning, not with NumPy's; written places have PyTorch's nodes."""
    z, kind = torch.tensor([1 + 1j, 2 - 1j]), torch.float64
    makers = (torch.sum, lambda t, dtype: t.cumsum(0, dtype=dtype), torch.prod, torch.mean)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Casting complex values", UserWarning)
        found = [make(z, dtype=kind) for make in makers]
    names = []
    for index, size in ((slice(-2, None), 2), (slice(0, 5), 2), (..., ()), ((), ())):
        t = torch.ones(size, requires_grad=True) * 1
        t[index] = 2.0
        names.append(t.grad_fn.name())
    return found, names


@differential
def test_narrow_numbers_are_moved_and_compared(torch: Any) -> Any:
    """Numbers of eight bits are compared and moved; sequences of wide unsigned integers are refused."""
    t = torch.tensor([[1.5, 2.0], [0.5, 1.0]]).to(torch.float8_e5m2)
    u = t.clone()
    u[torch.tensor([0])] = t[1]
    moved = [torch.where(t == u, t, u), t.roll(1, 0), u, torch.nn.functional.embedding(torch.tensor([1]), t), t.diag()]
    found = [v.float() for v in moved] + [t != u, t.isnan(), t.any(0)]
    for make in (lambda kind: torch.arange(3, dtype=kind), lambda kind: torch.linspace(0, 3, 4, dtype=kind),
                 lambda kind: torch.eye(2, dtype=kind)):  # fmt: skip
        found += [
            make(torch.uint8),
            *[raises("not implemented for 'UInt", make, k) for k in (torch.uint16, torch.uint64)],
        ]
    return found, raises("Dimension specified as -1 but tensor has no dimensions", torch.trapezoid, torch.tensor(1.0))
