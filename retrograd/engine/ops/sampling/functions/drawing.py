"""Random tensors: what they check, and in what order numbers are put into memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....aliasing.memory_formats import check_memory_format, fastest_first, made_like
from ....aliasing.strided import element_strides
from ....calls.inplace import call_inplace
from ....calls.out_argument import created_into
from ....calls.refusals import refuse, refuse_kind
from ....core.bits import memory_of
from ....core.dtypes import c10_name, scalar_name
from ....core.narrow import kind_of, limits
from ....core.registry import OPS, F
from ....execution.fit import is_expandable_to
from ....random import generator_of
from ....streams.drawing import integers, permutation
from ....streams.normal import normal as standard_normal
from ....streams.uniform import trials, uniform, unit_for
from ....table.public import public
from ....table.rows import function
from ....warning import warn
from ...creation.functions.creating import finish, numpy_of, sizes_of

# Checks of random functions: supported dtypes, and bounds of parameters.


def check_kind(kernel: str, numpy: Any, kinds: str = "f") -> None:
    """``NotImplementedError`` for a dtype that is none of these kinds (``"f"``: real floating)."""
    if kind_of(numpy) not in kinds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(numpy)}'")


def check_continuous(numpy: Any, name: str) -> None:
    """``RuntimeError`` for integers where a distribution is continuous."""
    refuse(
        kind_of(numpy) != "f",
        f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
        f"specified {scalar_name(numpy)}",
    )


def check_uniform(numpy: Any, low: float, high: float) -> None:
    """Bounds of a uniform distribution: in order, and within the dtype."""
    check_kind("check_uniform_bounds", numpy)
    largest = float(limits(numpy).max)
    for name, bound in (("from", low), ("to", high)):
        refuse(
            not -largest <= bound <= largest, f"{name} is out of bounds for {scalar_name(numpy).lower()}, got {bound}"
        )
    refuse(low > high, f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    refuse(
        high - low > largest,
        f"uniform_ expects to-from <= std::numeric_limits<{scalar_name(numpy)}>::max(), but found to={high} and "
        f"from={low} which result in to-from to exceed the limit",
    )


def check_normal(numpy: Any, std: Any) -> None:
    """A standard deviation (or several) that is not negative, and a floating dtype."""
    check_kind("normal_kernel_cpu", numpy, "fc")
    if np.ndim(std):
        refuse(not np.all(np.asarray(std) >= 0), "normal expects all elements of std >= 0.0")
    else:
        refuse(not std >= 0, f"normal expects std >= 0.0, but found std {std}")


def check_probability(p: Any, name: str = "bernoulli_") -> None:
    """A probability between 0 and 1; an array of them must be floating."""
    if isinstance(p, np.ndarray):
        check_kind("bernoulli_tensor_cpu_p_", p.dtype)
        wrong = ~((p >= 0) & (p <= 1))
        if wrong.any():
            raise RuntimeError(
                f"Expected p_in >= 0 && p_in <= 1 to be true, but got false: {p[wrong][0]} is no probability"
            )
    else:
        refuse(not 0 <= p <= 1, f"{name} expects p to be in [0, 1], but got p={p}")


def check_integers(numpy: Any, low: int, high: int) -> None:
    """Bounds of random integers ``[low, high)``: in order, and within what the dtype holds."""
    refuse(low >= high, f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if kind_of(numpy) == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if kind_of(numpy) == "f":
        exact = 2 ** (limits(numpy).nmant + 1)
        for name, bound in (("from", low), ("to - 1", high - 1)):
            refuse(abs(bound) > float(limits(numpy).max), f"{name} is out of bounds for {c10_name(numpy)}")
            if not -exact <= bound <= exact:
                warn(
                    f"{name} is out of bounds [-{exact}, {exact}]. Due to precision limitations "
                    f"{scalar_name(numpy)} can support discrete uniform distribution only within this range."
                )
        return
    least, most = (0, 1) if kind_of(numpy) == "b" else (np.iinfo(numpy).min, np.iinfo(numpy).max)
    for name, bound in (("from", low), ("to - 1", high - 1)):
        refuse(not least <= bound <= most, f"{name} is out of bounds for {numpy.name}, which holds {least} to {most}")


# Puts numbers drawn in sequence into tensors in the order in which PyTorch traverses their memory.


def placed(tensor: Any, line: Any) -> Any:
    """A line of numbers as values for a tensor."""
    array = memory_of(tensor)
    if array.flags.c_contiguous:
        return line.reshape(array.shape)
    order = fastest_first(array.shape, [element_strides(array)])[::-1]
    return line.reshape([array.shape[dim] for dim in order]).transpose(np.argsort(order))


def is_contiguous(tensor: Any) -> bool:
    """Whether the elements lie in memory row by row, without gaps."""
    return bool(memory_of(tensor).flags.c_contiguous)


def drawn_in(shape: Any, draw: Callable[[int], Any]) -> Any:
    """An array of a shape, or of so many numbers, from ``draw``, which gets their number."""
    return draw(shape) if isinstance(shape, int) else draw(math.prod(shape)).reshape(shape)


def none_drawn(t: Any) -> Any:
    """Zeros in place of random numbers for a tensor without memory, for which none are drawn."""
    return np.zeros(tuple(t.shape), t._sig.numpy)


# Random tensors.

for _node in ("Normal", "Uniform", "Bernoulli"):
    function(
        f"_overwrite_{_node.lower()}", lambda self, values: values, tensors="self", self=lambda g: F.zeros_like(g),
        node=f"{_node}Backward{2 if _node == 'Bernoulli' else 0}",
    )  # fmt: skip


function(
    "_overwrite_bernoulli_tensor", lambda self, p, values: values, node="BernoulliBackward1", tensors="self p",
    self=lambda g: F.zeros_like(g), p=lambda g, p_sizes: F.sum_to_size(F.zeros_like(g), tuple(p_sizes)),
)  # fmt: skip
function("_drawn_bernoulli", lambda self, values: values, node="BernoulliBackward0", tensors="self",
         self=lambda g: F.zeros_like(g))  # fmt: skip


def _drawn(draw: Any) -> Any:
    def create(*size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
               device: Any = None, requires_grad: bool = False, **kwargs: Any) -> Any:  # fmt: skip
        sizes = sizes_of((kwargs["size"],) if "size" in kwargs else size)
        numpy = numpy_of(dtype, None if out is None else out._sig.numpy)
        values = _draw(draw, sizes, numpy, generator)
        return created_into(out, finish(values, requires_grad), dtype)

    create.__name__ = create.__qualname__ = draw.__name__
    create.__doc__ = draw.__doc__
    return create


def _draw(draw: Any, shape: Any, numpy: Any, generator: Any) -> Any:
    check_kind("normal_kernel_cpu" if draw is randn_ else "check_uniform_bounds", numpy, "fc")
    rows = not isinstance(shape, int)  # otherwise it is for a tensor whose elements lie in another order
    return drawn_in(shape, lambda count: draw(generator_of(generator), count, numpy, rows))


def rand_(generator: Any, count: int, numpy: Any, rows: bool) -> Any:
    """Uniform on ``[0, 1)``."""
    return uniform(generator, count, numpy)


def randn_(generator: Any, count: int, numpy: Any, rows: bool) -> Any:
    """Standard normal."""
    return standard_normal(generator, count, numpy, rows=rows)


rand = public("rand", method=False)(_drawn(rand_))
randn = public("randn", method=False)(_drawn(randn_))


@public("rand_like", method=False, aten="rand_like.default")
def rand_like(input: Any, **how: Any) -> Any:  # noqa: A002
    """Uniform, shaped and laid out like ``input``."""
    return _drawn_like(input, rand_, **how)


@public("randn_like", method=False, aten="randn_like.default")
def randn_like(input: Any, **how: Any) -> Any:  # noqa: A002
    """Standard normal, shaped and laid out like ``input``."""
    return _drawn_like(input, randn_, **how)


def _drawn_like(
    input: Any, draw: Any, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,  # noqa: A002
    requires_grad: bool = False, memory_format: Any = None, pin_memory: Any = None,
) -> Any:  # fmt: skip
    check_memory_format(draw.__name__ + "like", memory_format)
    numpy = numpy_of(dtype, input._sig.numpy)
    array = made_like(memory_of(input), memory_format, lambda shape: _draw(draw, shape, numpy, generator))
    return finish(array, requires_grad, like=input)


@public("randint", method=False)
def randint(low: Any = 0, high: Any = None, size: Any = None, *, generator: Any = None, out: Any = None,
            dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Any:  # fmt: skip
    """Integers in ``[low, high)``."""
    if size is None:  # randint(high, size)
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    numpy = numpy_of(dtype, np.dtype(np.int64))
    check_integers(numpy, low, high)
    sizes = sizes_of((size,))
    drawn = drawn_in(sizes, lambda count: integers(generator_of(generator), count, int(low), int(high)).astype(numpy))
    return created_into(out, finish(drawn, requires_grad), dtype)


@public("randperm", method=False)
def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A random permutation of ``0 … n-1``."""
    numpy = numpy_of(dtype, np.dtype(np.int64))
    sizes_of((n,))
    refuse_kind("randperm", numpy, "fiu")
    if kind_of(numpy) in "iu" and n > np.iinfo(numpy).max + 1:
        raise RuntimeError(f"value cannot be converted to type {numpy.name} without overflow: {n}")
    if kind_of(numpy) == "f":
        largest = 2 ** (limits(numpy).nmant + 1) + 1
        refuse(n > largest, f"n cannot be greater than {largest} for {scalar_name(numpy)} type.")
    drawn = permutation(generator_of(generator), n).astype(numpy, copy=False)
    return created_into(out, finish(drawn, requires_grad), dtype)


def _overwrite(self: Any, kind: str, values: Any) -> Any:
    return call_inplace(OPS["_overwrite_" + kind], (self, np.asarray(values).astype(self._sig.numpy)), {})


@public("uniform_", function=False, aten="uniform_.default")
def uniform_(self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **kwargs: Any) -> Any:
    """Uniform on ``[from, to)``."""
    low = kwargs.pop("from", from_)
    numpy, count = self._sig.numpy, self.numel()
    if kind_of(numpy) == "c":  # both parts of each number, one after the other
        numpy, count = np.empty(0, numpy).real.dtype, 2 * count
    check_uniform(numpy, low, to)
    line = uniform(generator_of(generator, into=self), count, numpy, low, to)
    return _overwrite(self, "uniform", placed(self, line.view(self._sig.numpy)))


@public("normal_", function=False, aten="normal_.default")
def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Normal with mean ``mean`` and standard deviation ``std``."""
    check_normal(self._sig.numpy, std)
    rows = is_contiguous(self)
    line = standard_normal(generator_of(generator, into=self), self.numel(), self._sig.numpy, mean, std, rows=rows)
    return _overwrite(self, "normal", placed(self, line))


@public("bernoulli", out=True)
def bernoulli(input: Any, p: float | None = None, *, generator: Any = None) -> Any:  # noqa: A002
    """0 or 1, with the elements (or ``p``) as probability of 1."""
    if input.is_meta:
        return F._drawn_bernoulli(input, none_drawn(input))
    limit = input._array if p is None else p
    check_probability(limit)
    source = generator_of(generator, by=(input,))

    numpy, shape = input._sig.numpy, tuple(input.shape)
    if p is None:
        drawn = drawn_in(shape, lambda count: unit_for(source, count, numpy)) < limit
    else:
        drawn = drawn_in(shape, lambda count: trials(source, count, p))
    return F._drawn_bernoulli(input, np.asarray(drawn).astype(numpy))


@public("bernoulli_", function=False, aten="bernoulli_.float")
def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """0 or 1 with probability ``p`` of 1."""
    source = generator_of(generator, into=self, by=(p,))
    check_probability(getattr(p, "_array", p))
    if not hasattr(p, "_array"):
        check_kind("bernoulli_scalar_cpu_", self._sig.numpy, "biuf")
        return _overwrite(self, "bernoulli", placed(self, trials(source, self.numel(), p)))
    refuse(
        not is_expandable_to(p.shape, self.shape),
        f"The expanded size of the tensor {list(self.shape)} must match the existing size {list(p.shape)}",
    )
    drawn = placed(self, unit_for(source, self.numel(), p._sig.numpy))
    values = np.asarray(drawn < p._array).astype(self._sig.numpy)
    return call_inplace(OPS["_overwrite_bernoulli_tensor"], (self, p, values), {})
