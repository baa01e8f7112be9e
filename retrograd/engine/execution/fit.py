"""Validates what a node returned: each gradient must fit the input that receives it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..core.narrow import LOADED, cast, kind_of
from ..core.registry import F
from ..core.sig import Sig
from ..kernels.sums import column_sum, ones_of, summed
from ..nodes.node import NOTHING, GraphNode, Port
from ..nodes.opnode import OpNode


def fit_results(node: GraphNode, results: tuple[Any, ...], tensors: bool) -> tuple[Any, ...]:
    """Sum broadcast gradients down and cast them to the receiving dtype.

    Raises ``RuntimeError`` for a shape that cannot be summed down to the receiver's.
    """
    fitted = list(results)
    for i, edge in enumerate(node._edges):
        g = fitted[i]
        if edge is None or g is None:
            continue
        target, nr = (edge.node, edge.nr) if edge.__class__ is Port else (edge, 0)
        sig = target._sigs[nr] if target._sigs else None
        if sig is None:
            continue
        if tensors:
            if g._sig is not sig or (target.accumulates and target._sigs is not sig.alone):
                fitted[i] = _fit_tensor(node, i, g, _expected(target, sig))
        elif g.__class__ is not np.ndarray or g.dtype != sig.numpy or g.shape != sig.shape or target.accumulates:
            fitted[i] = _fit_array(node, i, g, _expected(target, sig))
    return tuple(fitted)


def fit_one(node: GraphNode, i: int, g: Any, target: Any) -> Any:
    """One array, made to fit the input (a node with one, or a port) that receives it in a sweep."""
    if g is None:
        return NOTHING
    sig = target._sigs[0]
    if sig is None:
        return g
    if g.__class__ is np.ndarray and g.dtype is sig.numpy and target._sigs is sig.alone:
        ones = _of_biases.get((g.shape, sig))
        if ones is not None:
            return ones.dot(g)
        lead = g.ndim - len(sig.shape)
        if 0 < lead < g.ndim and g.shape[lead:] == sig.shape:
            return _total_of_rows(g, sig)
    return _fit_array(node, i, g, _expected(target, sig))


_of_biases: dict[tuple[tuple[int, ...], Sig], Any] = {}
"""Rows of ones by the shape of a matrix and what its sum over rows is: ``fit_one`` asks once for all that must hold
for the gradient of a bias (35 for 91 bytecodes, in each backward of a layer)."""


def _total_of_rows(g: Any, sig: Sig) -> Any:
    """``g`` summed over its leading dimensions; for a matrix of short rows, how is kept for the next one."""
    total = sum_to(g, sig.shape)
    ones = ones_of(g) if g.ndim == 2 and sig.shape > (1,) else None
    if ones is not None:
        if len(_of_biases) > 64:
            _of_biases.clear()
        _of_biases[g.shape, sig] = ones
    return total


def _expected(target: GraphNode, sig: Sig) -> tuple[tuple[int, ...], Any]:
    """Shape and NumPy dtype asked for; a leaf's ``grad_dtype`` overrides the dtype (``None``: any)."""
    variable: Any = target.variable if target.accumulates else None  # type: ignore[attr-defined]
    if variable is not None and variable._meta is not None and variable._meta.grad_dtype is not ...:
        wanted = variable._meta.grad_dtype
        return sig.shape, None if wanted is None else wanted.numpy
    return sig.shape, sig.numpy


def _fit_array(node: GraphNode, i: int, g: Any, expected: tuple[tuple[int, ...], Any]) -> Any:
    """An array in the shape and dtype of its receiver: summed over broadcast dimensions, imaginary parts dropped."""
    shape, numpy = expected
    if g.__class__ is not np.ndarray:
        g = np.asarray(g)
    if g.shape != shape:
        _check_expandable(node, i, shape, g.shape)
        g = sum_to(g, shape)
    if numpy is not None and g.dtype != numpy:
        if kind_of(g.dtype) == "c" and kind_of(numpy) != "c":
            _check_real(node, g.dtype)
            g = g.real
        g = cast(g, numpy) if LOADED else g.astype(numpy, copy=False)
    return g


def fit_tensor(node: GraphNode, i: int, g: Any, edge: Any) -> Any:
    """One tensor, made to fit the input that receives it along an edge."""
    sig, have = edge._sigs[0], g._array.shape
    lead = len(have) - len(sig.shape)
    if sig.shape and lead > 0 and have[lead:] == sig.shape and g._sig.numpy is sig.numpy and edge._sigs is sig.alone:
        # the gradient of a bias: no need to look which dimensions differ
        return F._view(F._sum_dim(g, tuple(range(lead)), True), tuple(sig.shape))
    target = edge.node if edge.__class__ is Port else edge
    return _fit_tensor(node, i, g, _expected(target, edge._sigs[0]))


def _fit_tensor(node: GraphNode, i: int, g: TensorBase, expected: tuple[tuple[int, ...], Any]) -> Any:
    """As ``_fit_array``, by differentiable operators."""
    shape, numpy = expected
    have = g._array.shape
    if have != shape:
        _check_expandable(node, i, shape, have)
        g = sum_tensor_to(g, tuple(shape))
    if numpy is not None and g._sig.numpy != numpy:
        if g._sig.kind == "c" and kind_of(numpy) != "c":
            _check_real(node, g._sig.numpy)
            g = F.real(g)
        if g._sig.numpy != numpy:
            g = F._to_copy(g, numpy)
    return g


def _check_real(node: GraphNode, have: Any) -> None:
    """Operators drop the imaginary part for a real operand; a custom Function must do so itself."""
    made = getattr(node, "fn", node)  # of a write to a view that of the write, while it has one
    if made is not None and not isinstance(made, OpNode):
        raise RuntimeError(
            "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got "
            f"false. {node.name()} returned a {have} gradient for a real input; return its real part."
        )


def _check_expandable(node: GraphNode, i: int, shape: tuple[int, ...], got: tuple[int, ...]) -> None:
    if not is_expandable_to(shape, got):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {i} - got {list(got)} but expected shape "
            f"compatible with {list(shape)}"
        )


def is_expandable_to(shape: tuple[int, ...], desired: tuple[int, ...]) -> bool:
    """Whether ``shape`` broadcasts to ``desired``."""
    if len(shape) > len(desired):
        return False
    return all(s == d or s == 1 for s, d in zip(reversed(shape), reversed(desired), strict=False))


def _broadcast_axes(have: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes along which ``shape`` was broadcast to ``have``."""
    lead = len(have) - len(shape)
    return tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1)


def sum_tensor_to(g: Any, shape: tuple[int, ...]) -> Any:
    """The recorded form: the sum of all, or one that keeps dimensions, then a view without the leading ones."""
    if not shape:
        return F.sum(g)
    axes = _broadcast_axes(g._sig.shape, shape)
    if axes:
        g = F._sum_dim(g, axes, True)
    return g if g._sig.shape == shape else F._view(g, shape)


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum a broadcast array down to ``shape``."""
    width = g.shape[-1:]
    if g.ndim > 1 and width == shape and width > (1,) and g.dtype.char in "fd":
        return column_sum(g if g.ndim == 2 else g.reshape(-1, *width))
    axes = _broadcast_axes(g.shape, shape)
    if axes:
        g = summed(g, axes, True)
    return np.asarray(g).reshape(shape)
