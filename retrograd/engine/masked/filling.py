"""Values that replace masked-out elements, and the accepted forms of masks and dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.dtypes import bool_, iinfo
from ..methods import FUNCTIONS
from ..tensors.convert import checked_dim


def filled(function: str, input: Any, mask: Any, order: Any = 2.0) -> Any:  # noqa: A002
    """``input`` with the identity of a function where ``mask`` is false; ``input`` itself without a mask."""
    if mask is None:
        return input
    where = whole_mask(input, mask)
    value = _IDENTITIES[function](function, input.dtype, order)
    return FUNCTIONS["where"](where, input, FUNCTIONS["tensor"](value, dtype=input.dtype))


def whole_mask(input: Any, mask: Any) -> Any:  # noqa: A002
    """The mask as truth values in the shape of ``input``; ``IndexError`` if it has more dimensions than that."""
    if tuple(mask.shape) != tuple(input.shape):
        if mask.ndim > input.ndim:
            raise IndexError(
                f"_input_mask expected broadcastable mask (got mask dimensionality higher than of the input): the mask "
                f"has {mask.ndim} dimensions, the input {input.ndim}"
            )
        mask = FUNCTIONS["broadcast_to"](mask.clone(), tuple(input.shape))  # later writes are not seen
    return mask.to(dtype=bool_)


def reduced_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, in order and counted from the front; ``None`` and ``()`` are all of them."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found: list[int] = []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(checked_dim(d, ndim))
    return tuple(sorted(found))


def has_fractions(dtype: Any) -> bool:
    """Whether a dtype is a floating or complex one."""
    return bool(dtype.is_floating_point or dtype.is_complex)


def _refuse(function: str, dtype: Any) -> Any:
    raise NotImplementedError(f"identity of {function} on {dtype} input")


def _lowest(function: str, dtype: Any, order: Any) -> Any:
    if dtype.is_complex and function == "logsumexp":
        return complex(-math.inf, 0.0)
    return _extreme(function, dtype, -math.inf, "min")


def _highest(function: str, dtype: Any, order: Any) -> Any:
    return _extreme(function, dtype, math.inf, "max")


def _extreme(function: str, dtype: Any, infinity: float, end: str) -> Any:
    if dtype.is_floating_point:
        return infinity
    return _refuse(function, dtype) if dtype is bool_ else getattr(iinfo(dtype), end)


def _of_norm(function: str, dtype: Any, order: Any) -> Any:
    return math.inf if order == -math.inf else 0


_IDENTITIES: dict[str, Callable[[str, Any, Any], Any]] = {
    **dict.fromkeys(("sum", "cumsum", "normalize"), lambda function, dtype, order: 0),
    **dict.fromkeys(("prod", "cumprod"), lambda function, dtype, order: 1),
    **dict.fromkeys(("amax", "argmax", "logaddexp", "logsumexp", "softmax", "log_softmax"), _lowest),
    **dict.fromkeys(("amin", "argmin", "softmin"), _highest),
    "median": lambda function, dtype, order: math.nan,
    "norm": _of_norm,
}
