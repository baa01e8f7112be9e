"""Checks of random functions: supported dtypes, and bounds of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....tensors.dtype_names import c10_name, scalar_name
from ....tensors.narrow import kind_of, limits
from ....warning import warn


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
