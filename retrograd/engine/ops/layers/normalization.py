"""Batch, layer and group norm.

All three subtract a mean and divide by a standard deviation over some dimensions and then scale and shift over others.
Their rules come twice: a kernel for bare arrays with the statistics of the forward pass, where sums over rows are
matrix-vector products (BLAS adds up twice as fast as a reduction), and one formula in differentiable operators from the
input on, for gradients of gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import wrap
from ...core.registry import F
from ...kernels.sums import column_sum, summed, sums_along, sums_of_products
from ...rules.backward_operators import joint_backward_operator
from ...table.rows import function

Sizes = tuple[int, ...]
_FAR = 0.5
"""If a mean is more standard deviations away from 0, its rounding shows in what is normalised."""
_SHORT = 16
"""Rows shorter than this are multiplied before they are summed up, since each product of two takes a call of BLAS."""


def _single(x: Any) -> Any:
    """Half precision is computed in single."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def row_statistics(rows: Any, eps: float) -> tuple[Any, Any, Any]:
    """Of a matrix: the rows without their mean, the means ``(n, 1)`` and inverse standard deviations ``(n, 1)``."""
    width = rows.shape[1]
    mean = _row_means(rows)
    centred = rows - mean
    variance = sums_of_products(centred, centred)[:, None] / rows.dtype.type(max(width, 1))
    rstd = 1 / np.sqrt(variance + rows.dtype.type(eps))
    if np.maximum.reduce(np.abs(mean) * rstd, axis=None, initial=0) > _FAR:
        missed = _row_means(centred)
        centred -= missed
        variance -= missed * missed
        rstd = 1 / np.sqrt(np.maximum(variance, 0) + rows.dtype.type(eps))
        mean += missed
    return centred, mean, rstd


def _row_means(rows: Any) -> Any:
    sums = sums_along(rows, 1)
    sums /= rows.dtype.type(max(rows.shape[1], 1))
    return sums


def _planes(x: Any) -> Any:
    """Batch, channel, and the rest in one dimension."""
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


def _channel_sums(planes: Any, factor: Any = None) -> Any:
    """The sum of each channel of ``_planes``, or of its products with other ones."""
    if factor is None:
        return summed(planes, (0, 2))
    if planes.shape[2] < _SHORT:
        return summed(planes * factor, (0, 2))
    return summed(sums_of_products(planes, factor), (0,))


def _row_gradient(g: Any, normal: Any, rstd: Any) -> Any:
    """Through ``normal = (x - mean) * rstd`` of rows."""
    width = g.shape[1]
    along = sums_of_products(g, normal)[:, None] / g.dtype.type(max(width, 1))
    return (g - _row_means(g) - normal * along) * rstd


def _normalized(x: Any, axes: Sizes, eps: float) -> tuple[Any, Any]:
    """In differentiable operators: the normalised input and the inverse standard deviation."""
    centred = x - F._mean_dim(x, axes, True)
    rstd = F.rsqrt(F._mean_dim(centred * centred, axes, True) + eps)
    return centred * rstd, rstd


def _through_norm(g: Any, normal: Any, rstd: Any, axes: Sizes) -> Any:
    mean, along = F._mean_dim(g, axes, True), F._mean_dim(g * normal, axes, True)
    return rstd * (g - mean - normal * along)


# -- layer norm


def _layer_norm(input: Any, normalized_shape: Sizes, weight: Any, bias: Any, eps: float) -> Any:  # noqa: A002
    """Rows of mean 0 and variance 1, scaled and shifted; then their means and ``1 / sqrt(var + eps)``."""
    x = _single(input)
    width = math.prod(normalized_shape)
    rows = x.reshape(math.prod(x.shape[: x.ndim - len(normalized_shape)]), width)
    centred, mean, rstd = row_statistics(rows, eps)
    out = np.multiply(centred, rstd, out=centred).reshape(x.shape)
    if weight is not None:
        np.multiply(out, weight, out=out)
    if bias is not None:
        np.add(out, bias, out=out)
    lead = (*x.shape[: x.ndim - len(normalized_shape)], *(1,) * len(normalized_shape))
    kept = mean.reshape(lead), rstd.reshape(lead)
    return out.astype(input.dtype, copy=False), *kept


def _layer_norm_grads(
    g: Any, needs: Any, input: Any, normalized_shape: Sizes, result1: Any, result2: Any, weight: Any,  # noqa: A002
    bias: Any, eps: float,
) -> Any:  # fmt: skip
    """Gradients of input, weight and bias from the kept means and reciprocal deviations."""
    if not isinstance(g, np.ndarray):
        return _layer_norm_formula(g, needs, input, normalized_shape, weight, eps)
    width = math.prod(normalized_shape)
    if not g.size:
        empty = np.zeros(normalized_shape, g.dtype)
        return np.zeros(input.shape, g.dtype), empty, empty
    rows, grads = _single(input).reshape(-1, width), _single(g).reshape(-1, width)
    rstd = result2.reshape(-1, 1)
    normal = rows - result1.reshape(-1, 1)
    normal *= rstd
    products = grads * normal
    into_weight = column_sum(products) if needs[1] else None
    into_bias = column_sum(grads) if needs[2] else None
    if len(normalized_shape) != 1:  # (a leaf takes an array over at once if it is no view of another: 8 calls less)
        into_weight = None if into_weight is None else into_weight.reshape(normalized_shape)
        into_bias = None if into_bias is None else into_bias.reshape(normalized_shape)
    if not needs[0]:
        return None, into_weight, into_bias
    factor = np.ones(width, grads.dtype) if weight is None else _single(weight).reshape(-1)
    into_input = grads * factor
    along = sums_of_products(into_input, normal)[:, None] / grads.dtype.type(width)
    into_input -= _row_means(into_input)
    into_input -= np.multiply(normal, along, out=products)
    into_input *= rstd
    return into_input.reshape(input.shape), into_weight, into_bias


def _layer_norm_formula(g: Any, needs: Any, x: Any, shape: Sizes, weight: Any, eps: float) -> Any:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    lead = tuple(range(x.ndim - len(shape)))
    normal, rstd = _normalized(x, axes, eps)
    scaled = g if weight is None else g * weight
    into_input = _through_norm(scaled, normal, rstd, axes) if needs[0] else None
    into_weight = _sum_lead(g * normal, lead) if needs[1] else None
    return into_input, into_weight, _sum_lead(g, lead) if needs[2] else None


def _sum_lead(x: Any, axes: Sizes) -> Any:
    return F._sum_dim(x, axes, False) if axes else x


function(
    "_layer_norm", _layer_norm, node="NativeLayerNormBackward0", tensors="input weight bias", mixes=True,
    joint=joint_backward_operator("native_layer_norm", _layer_norm_grads, "input result1 result2 weight bias"),
    aux=("result1", "result2"),
    kinds="f", layout="rows",
)  # fmt: skip


# -- group norm


def _group_norm(input: Any, weight: Any, bias: Any, group: int, eps: float) -> Any:  # noqa: A002
    x = _single(input)
    n, c = x.shape[:2]
    centred, mean, rstd = row_statistics(x.reshape(n * group, x.size // max(n * group, 1)), eps)
    out = np.multiply(centred, rstd, out=centred).reshape(x.shape)
    column = (c, *(1,) * (x.ndim - 2))
    if weight is not None:
        np.multiply(out, weight.reshape(column), out=out)
    if bias is not None:
        np.add(out, bias.reshape(column), out=out)
    return out.astype(input.dtype, copy=False), mean.reshape(n, group), rstd.reshape(n, group)


def _group_norm_grads(
    g: Any, needs: Any, input: Any, weight: Any, group: int, eps: float, result1: Any, result2: Any  # noqa: A002
) -> Any:  # fmt: skip
    """Gradients of input ``(N, C, ...)``, weight and bias ``(C,)``."""
    if not isinstance(g, np.ndarray):
        return _group_norm_formula(g, needs, input, weight, group, eps)
    n = len(input)
    shape, rows = input.shape, (n * group, input.size // max(n * group, 1))
    rstd = result2.reshape(-1, 1)
    normal = (_single(input).reshape(rows) - result1.reshape(-1, 1)) * rstd
    grads = _planes(_single(g))
    into_input = into_weight = into_bias = None
    if needs[0]:
        scaled = grads if weight is None else grads * weight.reshape(-1, 1)
        into_input = _row_gradient(scaled.reshape(rows), normal, rstd).reshape(shape)
    if needs[1]:
        into_weight = _channel_sums(grads, _planes(normal.reshape(input.shape)))
    if needs[2]:
        into_bias = _channel_sums(grads)
    return into_input, into_weight, into_bias


def _group_norm_formula(g: Any, needs: Any, x: Any, weight: Any, group: int, eps: float) -> Any:
    n, c = x.shape[:2]
    shape, rows = tuple(x.shape), (n, group, math.prod(x.shape[1:]) // group)
    normal, rstd = _normalized(F.reshape(x, rows), (2,), eps)
    others = (0, *range(2, len(shape)))
    into_input = None
    if needs[0]:
        scaled = g if weight is None else g * F.reshape(weight, (c, *(1,) * (len(shape) - 2)))
        into_input = F.reshape(_through_norm(F.reshape(scaled, rows), normal, rstd, (2,)), shape)
    into_weight = F._sum_dim(g * F.reshape(normal, shape), others, False) if needs[1] else None
    return into_input, into_weight, F._sum_dim(g, others, False) if needs[2] else None


function(
    "_group_norm", _group_norm, node="NativeGroupNormBackward0", tensors="input weight bias", mixes=True,
    joint=_group_norm_grads, aux=("result1", "result2"), keeps="input_sizes",
    kinds="f", layout="format",
)  # fmt: skip


# -- batch norm; ``stats`` are mean and inverse standard deviation of the batch, none in evaluation.  A node keeps them
# as PyTorch's does: in evaluation empty ones, and backward asks the running statistics, as they are by then


def batch_statistics(input: Any) -> tuple[Any, Any]:  # noqa: A002
    """Mean and (biased) variance of each channel."""
    x = _single(input)
    c = x.shape[1]
    planes = _planes(x)
    count = max(x.size // max(c, 1), 1)
    mean = _channel_sums(planes) / x.dtype.type(count)
    centred = planes - mean[:, None]
    missed = _channel_sums(centred) / x.dtype.type(count)  # by the mean as it is rounded
    variance = _channel_sums(centred, centred) / x.dtype.type(count) - missed * missed
    return mean + missed, np.maximum(variance, 0)


def inverse_deviation(variance: Any, eps: float) -> Any:
    """One over the standard deviation of each channel."""
    return (1 / np.sqrt(variance + variance.dtype.type(eps))).astype(variance.dtype)


def _batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, eps: float,  # noqa: A002
    stats: Any,
) -> Any:  # fmt: skip
    mean, invstd = stats or (running_mean, inverse_deviation(running_var, eps))
    column = (-1, *(1,) * (input.ndim - 2))
    scale = invstd if weight is None else invstd * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    out = _single(input) * scale.reshape(column)
    out += shift.reshape(column)
    return out.astype(input.dtype, copy=False), *(stats or (mean[:0], mean[:0]))


def _batch_norm_grads(
    g: Any, needs: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any,  # noqa: A002
    result2: Any, training: bool, eps: float,
) -> Any:  # fmt: skip
    """Gradients of input ``(N, C, ...)``, weight and bias ``(C,)``; in evaluation statistics are constants."""
    if not isinstance(g, np.ndarray):
        stats = None if training else (running_mean._array, inverse_deviation(running_var._array, eps))
        return _batch_norm_formula(g, needs, input, weight, training, eps, stats)
    mean, invstd = (result1, result2) if training else (running_mean, inverse_deviation(running_var, eps))
    mean, invstd = mean[:, None], invstd[:, None]
    c = input.shape[1]
    x, grads = _planes(_single(input)), _planes(_single(g))
    total = _channel_sums(grads)
    normal = (x - mean) * invstd
    along = _channel_sums(grads, normal)
    into_input = None
    if needs[0]:
        scale = invstd if weight is None else invstd * weight[:, None]
        if training:
            count = grads.dtype.type(max(x.size // max(c, 1), 1))
            grads = grads - normal * (along / count)[:, None] - (total / count)[:, None]
        into_input = (grads * scale).reshape(input.shape)
    return into_input, along if needs[1] else None, total if needs[2] else None


def _batch_norm_formula(g: Any, needs: Any, x: Any, weight: Any, training: bool, eps: float, stats: Any) -> Any:
    """As ``_batch_norm_grads``, by differentiable operators."""
    axes = (0, *range(2, x.ndim))
    column = (-1, *(1,) * (x.ndim - 2))
    if training:
        normal, rstd = _normalized(x, axes, eps)
    else:
        mean, rstd = (wrap(s.reshape(column).astype(x._sig.numpy)) for s in stats)
        normal = (x - mean) * rstd
    into_input = None
    if needs[0]:
        scaled = g if weight is None else g * F.reshape(weight, (x.shape[1], *column[1:]))
        into_input = _through_norm(scaled, normal, rstd, axes) if training else scaled * rstd
    into_weight = F._sum_dim(g * normal, axes, False) if needs[1] else None
    return into_input, into_weight, F._sum_dim(g, axes, False) if needs[2] else None


function(
    "_batch_norm",
    _batch_norm,
    node="NativeBatchNormBackward0",
    mixes=True,
    tensors="input weight bias running_mean running_var",
    constant="running_mean running_var",
    joint=joint_backward_operator(
        "native_batch_norm", _batch_norm_grads, "input weight result1 result2", constant="running_mean running_var"
    ),
    aux=("result1", "result2"),
    kinds="f",
    layout="format",
)
