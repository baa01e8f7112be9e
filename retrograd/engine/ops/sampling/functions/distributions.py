"""Draws from distributions: as functions of parameters, and in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....aliasing.memory_formats import check_memory_format, made_like
from ....calls.inplace import call_inplace
from ....calls.out_argument import created_into, refuse_recorded
from ....calls.refusals import refuse, refuse_kind, size_mismatch
from ....core.absent import known_values
from ....core.base import TensorBase, wrap
from ....core.bits import memory_of
from ....core.dtypes import scalar_name
from ....core.narrow import kind_of, limits
from ....core.registry import OPS, F
from ....kernels import gamma
from ....random import generator_of
from ....streams import drawing as streamed
from ....streams import rejection
from ....streams.drawing import integers, with_replacement, without_replacement
from ....streams.drawing import of_dtype as integers_of_dtype
from ....streams.normal import narrowed
from ....streams.normal import normal as standard_normal
from ....table.public import check_tensor, public
from ....table.rows import elementwise, function, underivable
from ...creation.functions.creating import finish, numpy_of
from ...pointwise.arithmetic import zero_gradient
from .drawing import check_continuous, check_integers, check_kind, check_normal, drawn_in, none_drawn, placed

# Gamma-distributed numbers, differentiable with respect to their concentration.

_STEP = 1e-4
"""Step of the central difference, of the width ``sqrt(a)`` (of ``a`` below 1): within four widths of the mean, its
error and that of rounding stay below 1e-6 of the slope for concentrations up to ``_LARGE``."""
_LARGE = 1e4
"""From here on rounding in the distribution function outgrows what the normal approximation leaves out (1e-6)."""


def _difference_slope(a: Any, x: Any) -> Any:
    """``dx/da`` from a central difference of the distribution function."""
    step = _STEP * np.minimum(a, np.sqrt(a))
    lower = gamma.igamma(a + step, x) - gamma.igamma(a - step, x)
    upper = gamma.igammac(a - step, x) - gamma.igammac(a + step, x)  # exact where P is almost 1
    density = np.exp((a - 1.0) * np.log(x) - x - gamma.lgamma(a))
    return -np.where(x < a, lower, upper) / (2 * step) / density


def _asymptotic_slope(a: Any, x: Any) -> Any:
    """``dx/da`` of ``x = a (1 - 1/9a + z/(3 sqrt a))**3`` at a fixed normal number ``z`` (Wilson, Hilferty 1931)."""
    root = np.cbrt(x / a)
    return root**2 * (root + 1.0 / (6.0 * a) - 1.5 * (root - 1.0))


def _slope(self: Any, output: Any) -> Any:
    """``dx/da`` of gamma numbers ``output`` with concentrations ``self``."""
    a, x = np.broadcast_arrays(np.asarray(self, np.float64), np.asarray(output, np.float64))
    slope, large = np.empty(a.shape), a > _LARGE
    with np.errstate(all="ignore"):
        slope[large] = _asymptotic_slope(a[large], x[large])
        slope[~large] = _difference_slope(a[~large], x[~large])
    return np.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0).astype(self.dtype)


underivable("_gamma_slope", _slope, tensors="self output")
elementwise("_drawn_gamma", lambda self, values: values, tensors="self", node="StandardGammaBackward0",
            layout="rows", self=lambda g, self, result: g * F._gamma_slope(self, result))  # fmt: skip


@public("_standard_gamma_grad", method=False)
def _standard_gamma_grad(self: Any, output: Any) -> Any:
    """How gamma numbers ``output`` move with their concentrations ``self``."""
    return F._gamma_slope(self, output)


@public("_standard_gamma", method=False)
def _standard_gamma(self: Any, generator: Any = None) -> Any:
    """Gamma numbers with the elements as concentrations and rate 1."""
    check_tensor("_standard_gamma", self)
    check_kind("gamma_cpu", self._sig.numpy)
    drawn = rejection.gamma(generator_of(generator), self._array)
    tiny = limits(self._sig.numpy).tiny
    return F._drawn_gamma(self, narrowed(np.fmax(drawn, tiny), self._sig.numpy))


@public("_sample_dirichlet", method=False)
def _sample_dirichlet(self: Any, generator: Any = None) -> Any:
    """Probabilities with the elements as concentrations: gamma numbers over their sum; no derivative here."""
    check_tensor("_sample_dirichlet", self)
    refuse_kind("dirichlet", self._sig.numpy, "w")
    drawn = rejection.gamma(generator_of(generator), self._array.astype(np.float64))
    shares = drawn / drawn.sum(-1, keepdims=True) if self.ndim else drawn / drawn
    return wrap(narrowed(np.clip(shares, limits(self._sig.numpy).tiny, 1), self._sig.numpy))


# Draws from distributions: as functions of parameters, and in place.

for _name, _node in {
    "exponential": "ExponentialBackward0", "cauchy": "CauchyBackward0", "log_normal": "LogNormalBackward0",
    "geometric": "GeometricBackward0", "random": "RandomBackward2", "random_to": "RandomBackward1",
    "random_from": "RandomBackward0",
}.items():  # fmt: skip
    function(f"_overwrite_{_name}", lambda self, values: values, tensors="self", self=zero_gradient, node=_node)
function("_drawn_poisson", lambda self, values: values, tensors="self", self=zero_gradient, node="PoissonBackward0")
underivable("_binomial", lambda count, prob, values: values, tensors="count prob")
function("_drawn_mean", lambda mean, values: values, mean=lambda g, mean_sizes: zero_gradient(g),
         node="NormalBackward1", real_only="normal")  # fmt: skip
function("_drawn_std", lambda std, values: values, std=lambda g, std_sizes: zero_gradient(g), node="NormalBackward2")
function(
    "_drawn_mean_std", lambda mean, std, values: values, node="NormalBackward3", tensors="mean std",
    mean=lambda g, mean_sizes: F.sum_to_size(F.zeros_like(g), tuple(mean_sizes)),
    std=lambda g, std_sizes: F.sum_to_size(F.zeros_like(g), tuple(std_sizes)),
)  # fmt: skip


def _filled(self: Any, kind: str, line: Any) -> Any:
    values = placed(self, narrowed(line, self._sig.numpy))
    return call_inplace(OPS[f"_overwrite_{kind}"], (self, values), {})


# -- in place


@public("exponential_", function=False, aten="exponential_.default")
def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
    """Exponential with rate ``lambd``."""
    refuse(not lambd > 0.0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    check_continuous(self._sig.numpy, "Exponential")
    return _filled(self, "exponential", streamed.exponential(generator_of(generator, into=self), self.numel(), lambd))


@public("cauchy_", function=False, aten="cauchy_.default")
def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Cauchy around ``median``, half of it within ``sigma``."""
    refuse(not sigma > 0.0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    check_continuous(self._sig.numpy, "Cauchy")
    return _filled(self, "cauchy", streamed.cauchy(generator_of(generator, into=self), self.numel(), median, sigma))


@public("log_normal_", function=False, aten="log_normal_.default")
def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    """The exponential of a normal."""
    refuse(not std > 0.0, f"log_normal_ expects std > 0.0, but found std={std}")
    check_kind("log_normal_cpu", self._sig.numpy)
    return _filled(self, "log_normal", streamed.log_normal(generator_of(generator, into=self), self.numel(), mean, std))


@public("geometric_", function=False, aten="geometric_.default")
def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """The number of trials until the first success with probability ``p``."""
    check_kind("geometric_cpu", self._sig.numpy, "iuf")
    refuse(not 0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _filled(self, "geometric", streamed.geometric(generator_of(generator, into=self), self.numel(), p))


def _end(numpy: Any) -> int:
    """The end of the integers that a dtype holds without a gap."""
    if kind_of(numpy) == "b":
        return 2
    return 2 ** (limits(numpy).nmant + 1) + 1 if kind_of(numpy) == "f" else int(np.iinfo(numpy).max) + 1


@public("random_", function=False)
def random_(self: Any, *bounds: int, generator: Any = None, **named: Any) -> Any:
    """Integers in ``[from, to)``; without bounds all that the dtype holds."""
    low = named.get("from", bounds[0] if len(bounds) == 2 else 0)
    high = named.get("to", bounds[-1] if bounds else None)
    kind = "random" if high is None else "random_to" if len(bounds) == 1 else "random_from"
    if high is not None:
        check_integers(self._sig.numpy, int(low), int(high))
    check_kind("random_kernel_cpu", self._sig.numpy, "biuf")
    source, count = generator_of(generator, into=self), self.numel()
    if high is not None or low:
        high = _end(self._sig.numpy) if high is None else int(high)
        drawn = integers(source, count, int(low), high)
    else:
        drawn = integers_of_dtype(source, count, self._sig.numpy)
    return call_inplace(OPS[f"_overwrite_{kind}"], (self, placed(self, drawn.astype(self._sig.numpy))), {})


# -- functions of parameters


def _value(parameter: Any) -> Any:
    return known_values(parameter) if isinstance(parameter, TensorBase) else parameter


@public("normal", method=False)
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Normal numbers with means and standard deviations given as tensors, or as numbers with a ``size``."""
    if out is not None:
        refuse_recorded("normal()", mean, std)
        check_normal(out._sig.numpy, _value(std))
    return created_into(out, _normal(mean, std, size, (generator, dtype, requires_grad)), dtype)


def _normal(mean: Any, std: Any, size: Any, how: tuple[Any, ...]) -> Any:
    """Normal numbers of given means and deviations; gradients go to both as PyTorch's do."""
    generator, dtype, grad = how
    spread = _value(std)
    given = [t for t in (mean, std) if isinstance(t, TensorBase)]
    check_normal(given[0]._sig.numpy if given else numpy_of(dtype), spread)
    source = generator_of(generator, by=(mean, std))
    if not given:
        refuse(size is None, "normal() with numbers as mean and std needs a size")
        numpy = numpy_of(dtype)
        drawn = drawn_in(tuple(size), lambda count: standard_normal(source, count, numpy, mean, std))
        return finish(drawn, grad)
    shapes = [tuple(t.shape) for t in given]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise size_mismatch(shapes, error) from None
    numpy = given[0]._sig.numpy
    width = 1.0 if isinstance(std, TensorBase) else std
    if given[0].is_meta:
        drawn = np.zeros(shape, numpy)
    else:
        drawn = drawn_in(shape, lambda count: standard_normal(source, count, numpy, 0.0, width))
    with np.errstate(all="ignore"):
        if isinstance(std, TensorBase):
            drawn = drawn * spread
        drawn = narrowed(drawn + _value(mean), numpy)
    if len(given) == 2:
        return F._drawn_mean_std(mean, std, drawn)
    return F._drawn_mean(mean, drawn) if given[0] is mean else F._drawn_std(std, drawn)


@public("poisson", method=False)
def poisson(input: Any, generator: Any = None) -> Any:  # noqa: A002
    """Poisson numbers with the elements as rates."""
    check_tensor("poisson", input)
    if input.is_meta:
        return F._drawn_poisson(input, none_drawn(input))
    refuse(not np.all(input._array >= 0), "invalid Poisson rate, expected rate to be non-negative")
    check_kind("poisson_cpu", input._sig.numpy)
    drawn = rejection.poisson(generator_of(generator, by=(input,)), input._array.astype(np.float64))
    return F._drawn_poisson(input, narrowed(np.asarray(drawn), input._sig.numpy))


@public("binomial", method=False)
def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """Numbers of successes in ``count`` trials."""
    check_tensor("binomial", count, 1, "count")
    check_tensor("binomial", prob, 2, "prob")
    for name, t in (("count", count), ("prob", prob)):
        if t._sig.kind != "f":
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {scalar_name(t._sig.numpy)}"
            )
    trials, chance = (t._array.astype(np.float64) for t in (count, prob))
    drawn = rejection.binomial(generator_of(generator, by=(count, prob)), trials, chance)
    return F._binomial(count, prob, narrowed(np.asarray(drawn), count._sig.numpy))


@public("multinomial", aten="multinomial.default")
def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """Indices drawn with the elements (of each row) as weights."""
    check_tensor("multinomial", input)
    refuse(
        out is not None and out._sig.numpy != np.int64,
        f"multinomial expects Long tensor out, got: {scalar_name(out._sig.numpy) if out is not None else None}",
    )
    refuse(input.ndim not in (1, 2), "prob_dist must be 1 or 2 dim")
    refuse(
        input._sig.kind != "f",
        f"multinomial only supports floating-point dtypes for input, got: {scalar_name(input._sig.numpy)}",
    )
    refuse(num_samples <= 0, "cannot sample n_sample <= 0 samples")
    refuse(input.ndim > 0 and input.shape[-1] > 2**24, "number of categories cannot exceed 2^24")
    weights = np.atleast_2d(input._array.astype(np.float64))
    refuse(
        not replacement and num_samples > weights.shape[1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    )
    one_by_one = not replacement or num_samples == 1  # these are drawn by another kernel than many with replacement
    refuse(
        one_by_one and bool(np.any(~np.isfinite(weights) | (weights < 0))),
        "probability tensor contains either `inf`, `nan` or element < 0",
    )
    refuse(bool(np.any(weights < 0)), "invalid multinomial distribution (encountering probability entry < 0)")
    refuse(
        bool(np.any(~np.isfinite(weights))),
        "invalid multinomial distribution (encountering probability entry = infinity or NaN)",
    )
    total = weights.sum(1)
    refuse(bool(np.any(total <= 0)), "invalid multinomial distribution (sum of probabilities <= 0)")
    chosen = with_replacement if replacement and num_samples > 1 else without_replacement
    drawn = chosen(generator_of(generator, by=(input,)), np.atleast_2d(input._array), num_samples)
    return created_into(out, finish(drawn if input.ndim == 2 else drawn[0], like=input), None)


@public("randint_like", method=False, aten="randint_like.default")
def randint_like(
    input: Any, low: Any, high: Any = None, *, dtype: Any = None, layout: Any = None, device: Any = None,  # noqa: A002
    requires_grad: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """Integers in ``[low, high)``, shaped and laid out like ``input``."""
    check_memory_format("randint_like", memory_format)
    low, high = (0, low) if high is None else (low, high)
    numpy = numpy_of(dtype, input._sig.numpy)
    check_integers(numpy, int(low), int(high))

    def draw(shape: Any) -> Any:
        return drawn_in(shape, lambda count: integers(generator_of(None), count, int(low), int(high)).astype(numpy))

    return finish(made_like(memory_of(input), memory_format, draw), requires_grad, like=input)
