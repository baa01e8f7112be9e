"""Precision of kernels: halves computed in single precision and rounded once, others in double."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtypes import scalar_name

# Half precision as in PyTorch's kernels: computed in single precision and rounded once.

_HALF, _WIDE = np.dtype(np.float16), np.dtype(np.float32)


def is_half(x: Any) -> bool:
    """Whether something is an array of halves."""
    return x.__class__ is np.ndarray and x.dtype == _HALF


def through_half(x: Any) -> Any:
    """Numbers of single precision, rounded to those that halves have."""
    return np.asarray(x).astype(_HALF).astype(_WIDE)


def dtype_of_sums(dtype: Any) -> Any:
    """The dtype in which elements of a dtype are summed, before the total is rounded."""
    return _WIDE if dtype == _HALF else dtype


def writing_wide(write: Callable[..., None], out: Any, *args: Any) -> None:
    """``write(out, *args)``, which writes into an array; one of halves is rounded when all is written."""
    if out.dtype != _HALF:
        write(out, *args)
        return
    wide = out.astype(_WIDE)
    write(wide, *args)
    out[...] = wide


def added_at(out: Any, where: Any, values: Any) -> None:
    """``np.add.at``; of halves in single precision."""
    writing_wide(np.add.at, out, where, values)


def rounded_once(operands: int = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a forward compute halves in single precision.

    Numbers among the first arguments, its ``operands``, are rounded before, as are numbers that become tensors.
    The forward itself remains available as ``of_wider``, for callers that know that there are no halves.
    """

    def decorate(forward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(forward)
        def call(*args: Any, **kwargs: Any) -> Any:
            for operand in args[:operands]:
                if operand.__class__ is np.ndarray and operand.dtype == _HALF:  # ``is_half``; a call takes 0.1 µs
                    break
            else:
                return forward(*args, **kwargs)
            if any(a.__class__ is complex for a in args) or not all(map(_is_half_or_number, args[:operands])):
                return forward(*args, **kwargs)  # which refuses arrays of several dtypes, where they are not promoted
            given = [a if isinstance(a, np.ndarray) else _rounded(a) for a in args[:operands]]
            wide = [a.astype(_WIDE) if is_half(a) else a for a in (*given, *args[operands:])]
            return np.asarray(forward(*wide, **kwargs)).astype(_HALF)

        call.of_wider, call.rounds = forward, operands  # type: ignore[attr-defined]
        return call

    return decorate


def _is_half_or_number(operand: Any) -> bool:
    return not isinstance(operand, np.ndarray) or operand.dtype == _HALF


def _rounded(number: Any) -> Any:
    return float(_HALF.type(number)) if number.__class__ in (int, float) else number


def exact(number: Any, x: Any) -> Any:
    """A Python number as factor or divisor of ``x``: beside halves in single precision, so that the result is."""
    return _WIDE.type(number) if is_half(x) and number.__class__ in (int, float) else number


# Calls kernels in double precision, on at least one dimension, without NumPy's warnings.

Kernel = Callable[..., Any]


def in_double(kernel: Kernel) -> Kernel:
    """Run a kernel on flat float64 arrays of equal length; the result has the operands' common dtype and shape.

    Raises ``NotImplementedError`` for complex operands.
    """

    @functools.wraps(kernel)
    def call(*operands: Any) -> Any:
        arrays = np.broadcast_arrays(*[np.asarray(x) for x in operands])
        kept = np.result_type(*operands)
        if kept.kind == "c":
            raise NotImplementedError(f'"{kernel.__name__.strip("_")}" not implemented for {scalar_name(kept)!r}')
        flat = [np.array(a, dtype=np.float64).ravel() for a in arrays]
        return np.asarray(kernel(*flat)).astype(kept if kept.kind == "f" else np.float64).reshape(arrays[0].shape)

    return call


def piecewise(x: Any, *cases: tuple[Any, Kernel], otherwise: float = np.nan) -> Any:
    """Apply to each element the kernel of the first condition that holds there."""
    out = np.full(x.shape, otherwise)
    free = np.ones(x.shape, bool)
    for condition, kernel in cases:
        here = condition & free
        if here.any():
            out[here] = kernel(x[here])
            free &= ~here
    return out


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Horner's scheme, highest power first."""
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total
