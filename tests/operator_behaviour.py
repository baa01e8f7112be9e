"""What PyTorch's operators do, found out by calling them: each question is asked of one sample call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from op_runs import flat
from op_samples import Sample, function_of, real, tensors_for

torch = pytest.importorskip("torch")

Tensors = list[Any]
FEW = 12
"""Entries of the largest operand that is looked at."""


class Probe:
    """One sample call that can be made again with other values of its differentiable operands."""

    def __init__(self, sample: Sample) -> None:
        leaves: list[Any] = []
        self.sample = sample
        self.args = tensors_for(torch, sample.args, leaves)
        self.kwargs = tensors_for(torch, sample.kwargs, leaves)
        self.leaves = leaves
        self.values = [leaf.detach().clone() for leaf in leaves]
        self.function = function_of(torch, sample)

    def __call__(self, values: Sequence[Any] | None = None, seed: int = 0) -> list[Any]:
        """What comes out of the call with these values, flattened."""
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for leaf, value in zip(self.leaves, self.values if values is None else values, strict=True):
                leaf.copy_(value)
            torch.manual_seed(seed)
            return flat(self.function(*self.args, **self.kwargs))

    @property
    def given(self) -> Tensors:
        """All tensors that go in."""
        return [one for one in flat([list(self.args), list(self.kwargs.values())]) if isinstance(one, torch.Tensor)]

    def drawn(self, seed: int) -> Tensors:
        """Other values, between 0.1 and 0.9."""
        torch.manual_seed(seed)
        return [torch.rand_like(value) * 0.8 + 0.1 for value in self.values]


def tensors(results: Sequence[Any]) -> Tensors:
    """The tensors among results."""
    return [one.detach().clone() for one in results if isinstance(one, torch.Tensor)]


def floating(results: Sequence[Any]) -> Tensors:
    """Those that may have a gradient."""
    return [one for one in tensors(results) if one.is_floating_point() or one.is_complex()]


def close(ones: Tensors, others: Tensors, most: float = 1e-7) -> bool:
    """Whether tensors are equal up to rounding."""
    return len(ones) == len(others) and all(
        one.shape == other.shape and torch.allclose(one, other, rtol=10 * most, atol=most, equal_nan=True)
        for one, other in zip(ones, others, strict=True)
    )


def mixed(one: Tensors, other: Tensors) -> Tensors:
    """A combination of two lists of tensors."""
    return [2 * a - 3 * b for a, b in zip(one, other, strict=True)]


def linear(call: Probe) -> bool:
    """Linear in all operands together."""
    x, y = call.drawn(1), call.drawn(2)
    return close(floating(call(mixed(x, y))), mixed(floating(call(x)), floating(call(y))))


def scaling(call: Probe) -> bool:
    """Linear in the first operand."""
    (x, *rest), (y, *_) = call.drawn(1), call.drawn(2)
    first, second, both = (floating(call([one, *rest])) for one in (x, y, 2 * x - 3 * y))
    return close(both, mixed(first, second))


def affine_in_each(call: Probe) -> bool:
    """Without curvature in each operand while the others stay."""
    x, steps = call.drawn(1), call.drawn(2)
    for place, step in enumerate(steps):
        one, middle, other = (
            floating(call([*x[:place], x[place] + sign * step, *x[place + 1 :]])) for sign in (1, 0, -1)
        )
        if not close([a + b for a, b in zip(one, other, strict=True)], [2 * m for m in middle]):
            return False
    return True


def pieces(call: Probe) -> bool:
    """Made of straight pieces: the slope a little further on, in all operands together, is what it was."""
    x, step = call.drawn(1), call.drawn(2)
    one, middle, other = (
        floating(call([a + sign * 1e-4 * b for a, b in zip(x, step, strict=True)])) for sign in (1, 0, -1)
    )
    return close([a + b for a, b in zip(one, other, strict=True)], [2 * m for m in middle], 1e-12)


def elementwise(call: Probe) -> bool:
    """An entry depends on entries in its place alone."""
    before = tensors(call())
    try:
        shape = torch.broadcast_shapes(*[one.shape for one in call.given])
    except RuntimeError:
        return False
    if any(one.shape != shape for one in before):
        return False
    for place, value in enumerate(call.values):
        for entry in range(min(value.numel(), FEW)):
            changed = value.clone().reshape(-1)
            changed[entry] = changed[entry] * 0.9 + 0.05
            here = torch.zeros(value.numel(), dtype=torch.bool)
            here[entry] = True
            values = [*call.values[:place], changed.reshape(value.shape), *call.values[place + 1 :]]
            for one, other in zip(before, tensors(call(values)), strict=True):
                differ = (one != other) & ~(one.isnan() & other.isnan())
                if bool((differ & ~here.reshape(value.shape).expand(shape)).any()):
                    return False
    return True


def shares_memory(call: Probe) -> bool:
    """The first result lies in the memory of the first operand."""
    first = next(one for one in call() if isinstance(one, torch.Tensor))
    return bool(first.numel()) and first.untyped_storage().data_ptr() == call.given[0].untyped_storage().data_ptr()


def arranged(call: Probe) -> bool:
    """Each entry of the result is one of those that came in, or a number that the call was given."""
    plain = [one for one in flat([list(call.args), list(call.kwargs.values())]) if type(one) in (int, float)]
    result = tensors(call())[0]
    pool = torch.cat(list(map(_parts, [torch.tensor([0.0, *plain]), *call.given])))
    return bool(torch.isin(_parts(result), pool).all())


def in_order(call: Probe) -> bool:
    """The entries of the result are those of the operand, one after another."""
    pairs = zip(tensors(call()), call.given, strict=False)
    return all(bool(torch.equal(made.reshape(-1), given.reshape(-1))) for made, given in pairs)


def _parts(one: Any) -> Any:
    """The real and imaginary parts of entries, without signs, which conjugation changes."""
    return (torch.view_as_real(one.resolve_conj()) if one.is_complex() else one).double().reshape(-1).abs()


def without_gradient(call: Probe) -> bool:
    """No result can require a gradient."""
    return not floating(call()) or not any(
        isinstance(one, torch.Tensor) and one.requires_grad for one in flat(call.function(*call.args, **call.kwargs))
    )


def truth_values(call: Probe) -> bool:
    """The results are truth values."""
    return all(type(one) is bool or getattr(one, "dtype", None) in (torch.bool, torch.uint8) for one in call())


def even(call: Probe) -> bool:
    """The sign of the first operand does not count."""
    first, *rest = call.drawn(1)
    return close(floating(call([first, *rest])), floating(call([-first, *rest])))


def distance(call: Probe) -> bool:
    """Even in the difference of two operands, and blind to what is added to both."""
    x, y, *rest = call.drawn(1)
    here = floating(call([x, y, *rest]))
    mirrored, moved = (floating(call(values)) for values in ([2 * y - x, y, *rest], [x + 0.5, y + 0.5, *rest]))
    return close(here, mirrored, 1e-5) and close(here, moved, 1e-5)  # `pairwise_distance` adds 1e-6


def steps(call: Probe) -> bool:
    """A small change changes nothing."""
    before, after = floating(call()), floating(call([value + 1e-9 for value in call.values]))
    return all(map(torch.equal, before, after))


def random(call: Probe) -> bool:
    """Other seeds give other results."""
    return not close(tensors(call(seed=1)), tensors(call(seed=2)))


def fewer(call: Probe) -> bool:
    """Fewer entries come out than go in."""
    return tensors(call())[0].numel() < call.given[0].numel()


def joined(call: Probe) -> bool:
    """One result has the entries of all operands."""
    return len(call.given) > 1 and tensors(call())[0].numel() >= sum(one.numel() for one in call.given)


def overlapping(call: Probe) -> bool:
    """Several entries of a result lie in one place."""
    spans = [
        (one.numel(), 1 + sum((size - 1) * step for size, step in zip(one.shape, one.stride(), strict=True)))
        for one in call()
    ]
    return any(entries > places for entries, places in spans)


def summand(call: Probe) -> bool:
    """What is added to the first operand is added to the result, times one factor for all entries."""
    first, *rest = call.drawn(1)
    moved = [floating(call([first + step, *rest]))[0] for step in (0.0, 0.25, 0.5)]
    return close([moved[2] - moved[1]], [moved[1] - moved[0]]) and moved[0].shape.numel() >= first.numel()


def a_difference(call: Probe) -> bool:
    """Blind to what is added to both operands."""
    x, y, *rest = call.drawn(1)
    return close(floating(call([x, y, *rest])), floating(call([x + 0.5, y + 0.5, *rest])))


def divides(call: Probe) -> bool:
    """Other than linear in what it divides by."""
    return not affine_in_each(call) or len(call.values) < len(call.given)


def between_bounds(call: Probe) -> bool:
    """Given its result again, it changes nothing."""
    once = floating(call())
    return close(floating(call([*once, *call.values[1:]])), once)


def deviates(call: Probe) -> bool:
    """Blind to what is added to all entries: the first result of several is asked."""
    first, *rest = call.drawn(1)
    return close(floating(call([first, *rest]))[:1], floating(call([first + 0.5, *rest]))[:1], 1e-5)


def averages(call: Probe) -> bool:
    """A factor of all entries is one of the result, and what is added to them is added to it."""
    first, *rest = call.drawn(1)
    plain, moved = (floating(call([value, *rest]))[0] for value in (first, 2 * first + 0.5))
    return close([moved], [2 * plain + 0.5])


def angles(call: Probe) -> bool:
    """Blind to the lengths of both operands."""
    x, y, *rest = call.drawn(1)
    return close(floating(call([x, y, *rest])), floating(call([2 * x, 3 * y, *rest])), 1e-5)


def chances(call: Probe) -> bool:
    """Between zero and one, or the logarithm of such numbers."""
    made = torch.cat([one.reshape(-1) for one in floating(call())])
    return bool(((made >= 0) & (made <= 1)).all() or (made <= 0).all())


def of_length_one(call: Probe) -> bool:
    """The entries along some dimension have a norm of one, whichever norm."""
    made = floating(call(call.drawn(1)))[0]
    norms = [made.norm(p, dim=dim) for dim in range(made.dim()) for p in (1, 2)]
    return any(close([norm], [torch.ones_like(norm)], 1e-4) for norm in norms)


def powers(call: Probe) -> bool:
    """A factor of the first operand is one of the result, by which it is multiplied throughout."""
    first, *rest = call.drawn(1)
    (one,), (other,) = (floating(call([value, *rest])) for value in (first, 2 * first))
    exponents = [value for value in call.given[1:] if value.numel() > 1]
    return bool(exponents) or bool(torch.allclose(other / one, (other / one).flatten()[0]))


def shaped(call: Probe) -> bool:
    """Other numbers of the operand change nothing."""
    made = [tensors(call(values)) for values in (call.drawn(1), call.drawn(2))]
    return [one.shape for one in made[0]] == [one.shape for one in made[1]] and (
        "empty" in call.sample.name or close(*made)
    )


def own_samples() -> list[Sample]:
    """Samples of what only methods and attributes do, and of what is switched off elsewhere."""
    x, wide = real(2, 3), real(4, 2, 3)
    methods: dict[str, tuple[Any, ...]] = {
        "expand": (4, 2, 3), "expand_as": (wide,), "repeat": (2, 2), "reshape_as": (real(3, 2),), "view": (3, 2),
        "view_as": (real(3, 2),), "sum_to_size": (1, 3), "contiguous": (), "double": (), "__getitem__": (0,),
        "unfold": (1, 2, 1), "detach": (), "bernoulli": (0.5,), "as_strided": ((2, 2), (1, 1)),
    }  # fmt: skip
    noise = "dropout alpha_dropout dropout1d dropout2d dropout3d feature_alpha_dropout rrelu"
    drawn = "bernoulli rand_like randn_like normal poisson rand randn randperm"
    plain = {"rand": (3,), "randn": (3,), "randperm": (9,), "normal": (0.0, 1.0, (3,))}
    return [
        *[Sample(name, (x, *args), call=_method(name)) for name, args in methods.items()],
        *[Sample(name, (x,), call=lambda engine, t, name=name: getattr(t, name)) for name in ("T", "mT", "data")],
        *[Sample(name, (real(2, 2, 2),), {"training": True}, call=_layer(name)) for name in noise.split()],
        *[Sample(name, plain.get(name, (real(2, 3, lo=0.2, hi=0.8),))) for name in drawn.split()],
        Sample(
            "fractional_max_pool2d", (real(1, 4, 4), 2), {"output_ratio": 0.5}, call=_layer("fractional_max_pool2d")
        ),
        Sample("gumbel_softmax", (x,), call=_layer("gumbel_softmax")),
        Sample("feature_dropout", (real(2, 6, 1), 0.5, True)),
        Sample("constant_pad_nd", (x, (1, 1))),
        Sample("multinomial", (real(6, lo=0.1, hi=0.9), 3)),
        Sample("to", (x, torch.float32), call=_method("to")),
    ]


def _method(name: str) -> Callable[..., Any]:
    return lambda engine, t, *args: getattr(t, name)(*args)


def _layer(name: str) -> Callable[..., Any]:
    return lambda engine, *args, **kwargs: getattr(engine.nn.functional, name)(*args, **kwargs)
