"""Convolutions in any number of dimensions, plain and transposed, and the windows of ``unfold`` and ``fold``.

Three products make up everything: the convolution of an input with a weight, and its two transposes.  Each is linear
in both of its arguments, and the rules of each are the other two, so gradients of any order stay among them.
``how`` is ``(stride, padding, dilation, groups)``, ``count`` how many windows there are in each dimension.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels.convolving import convolve, convolve_input, convolve_weight
from ...kernels.sliding import Sizes, add_columns, inner, padded, transposed_size, window_count, windows
from ...rules.backward_operators import joint_backward_operator
from ...table.rows import linear, multilinear
from ..pointwise.arithmetic import conj

multilinear(
    "_conv", convolve, node="ConvolutionBackwardBackward0", promote="",
    x=lambda g, weight, x_sizes, how: F._conv_input(g, conj(weight), tuple(x_sizes[2:]), how),
    weight=lambda g, x, weight_sizes, how: F._conv_weight(g, conj(x), tuple(weight_sizes[2:]), how), layout="format",
)  # fmt: skip
multilinear(
    "_conv_input", convolve_input, node="ConvolutionBackwardBackward0", promote="",
    grad=lambda g, weight, grad_sizes, how: F._conv(g, conj(weight), tuple(grad_sizes[2:]), how),
    weight=lambda g, grad, weight_sizes, how: F._conv_weight(conj(grad), g, tuple(weight_sizes[2:]), how),
)  # fmt: skip
multilinear(
    "_conv_weight", convolve_weight, node="ConvolutionBackwardBackward0", promote="",
    grad=lambda g, x, grad_sizes, how: F._conv(conj(x), g, tuple(grad_sizes[2:]), how),
    x=lambda g, grad, x_sizes, how: F._conv_input(conj(grad), g, tuple(x_sizes[2:]), how),
)  # fmt: skip


# -- torch's operator: either direction, with a bias


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, transposed: bool,  # noqa: A002
    output_padding: Sizes, groups: int,
) -> Any:  # fmt: skip
    """The convolution, or transposed convolution, of a batch."""
    how = (stride, padding, dilation, groups)
    if transposed:
        kernel = weight.shape[2:]
        spatial = transposed_size(input.shape[2:], kernel, stride, padding, dilation, output_padding)
        out = convolve_input(input, weight, spatial, how)
    else:
        out = convolve(input, weight, window_count(input.shape[2:], weight.shape[2:], stride, padding, dilation), how)
    if bias is not None:
        out = np.add(out, bias.reshape(-1, *(1,) * (out.ndim - 2)), out=out)
    return out


def _convolution_grads(
    g: Any, needs: Any, input: Any, weight: Any, stride: Sizes, padding: Sizes, dilation: Sizes,  # noqa: A002
    transposed: bool, groups: int, output_padding: Sizes, bias_sizes: Any,
) -> Any:  # fmt: skip
    """Gradients of input, weight and bias, each of them a convolution (or a sum) itself."""
    how = (stride, padding, dilation, groups)
    into_input = into_weight = into_bias = None
    if needs[0] and transposed:
        into_input = F._conv(g, conj(weight), tuple(input.shape[2:]), how)
    elif needs[0]:
        into_input = F._conv_input(g, conj(weight), tuple(input.shape[2:]), how)
    if needs[1]:
        pair = (conj(input), g) if transposed else (g, conj(input))
        into_weight = F._conv_weight(*pair, tuple(weight.shape[2:]), how)
    if needs[2]:
        into_bias = F._sum_dim(g, (0, *range(2, g.ndim)), False)
    return into_input, into_weight, into_bias


def _convolution_backward_grads(
    g: Any, needs: Any, grad_output: Any, input: Any, weight: Any, stride: Sizes, padding: Sizes,  # noqa: A002
    dilation: Sizes, transposed: bool, groups: int, output_padding: Sizes, bias_sizes: Any,
) -> Any:  # fmt: skip
    """Gradients of an incoming gradient, input and weight by those of the three results of ``_convolution_grads``."""
    into_input, into_weight, into_bias = g
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    how = (stride, padding, dilation, transposed, groups, output_padding, bias_sizes)
    into_grad = by_input = by_weight = None
    if needs[0]:
        shares = [] if into_input is None else [F.convolution(into_input, weight, None, *rest)]
        if into_weight is not None:
            shares.append(F.convolution(input, into_weight, None, *rest))
        if into_bias is not None:
            column = F.reshape(into_bias, (-1, *(1,) * (grad_output.ndim - 2)))
            shares.append(F.expand(column, tuple(grad_output.shape)))
        into_grad = sum(shares[1:], shares[0])
    if needs[1] and into_weight is not None:
        by_input = _convolution_grads(grad_output, (True, False, False), input, into_weight, *how)[0]
    if needs[2] and into_input is not None:
        by_weight = _convolution_grads(grad_output, (False, True, False), into_input, weight, *how)[1]
    return into_grad, by_input, by_weight


def _convolution_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    x, weight, _bias, *rest = primal
    terms = []
    if 0 in tangents:
        terms.append(F.convolution(tangents[0], weight, None, *rest))
    if 1 in tangents:
        terms.append(F.convolution(x, tangents[1], None, *rest))
    if 2 in tangents:
        terms.append(F.expand(F.reshape(tangents[2], (-1, *(1,) * (x.ndim - 2))), tuple(results[0].shape)))
    return sum(terms[1:], terms[0])


multilinear(
    "convolution", _convolution, node="ConvolutionBackward0", tensors="input weight bias", promote="",
    joint=joint_backward_operator(
        "convolution", _convolution_grads, "input weight", derived=_convolution_backward_grads),
    jvp=_convolution_jvp, public=False,
    kinds="fciu", layout="formats",
)  # fmt: skip


# -- windows as columns


def _im2col(self: Any, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
    """All windows of an image, or of a batch of images, as columns."""
    if self.ndim == 3:
        return _im2col(self[None], kernel_size, dilation, padding, stride)[0]
    count = window_count(self.shape[2:], kernel_size, stride, padding, dilation)
    cols = windows(padded(self, padding, padding), kernel_size, stride, dilation, count)
    return cols.reshape(self.shape[0], self.shape[1] * math.prod(kernel_size), math.prod(count))


def _col2im(self: Any, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
    """Columns summed up into the images whose windows they are."""
    if self.ndim == 2:
        return _col2im(self[None], output_size, kernel_size, dilation, padding, stride)[0]
    count = window_count(output_size, kernel_size, stride, padding, dilation)
    k = math.prod(kernel_size)
    cols = self.reshape(self.shape[0], self.shape[1] // k, k, *count)
    whole = tuple(n + 2 * p for n, p in zip(output_size, padding, strict=True))
    return np.ascontiguousarray(add_columns(cols, whole, kernel_size, stride, dilation)[inner(padding, output_size)])


linear(
    "_im2col", _im2col, node="Im2ColBackward0",
    self=lambda g, self_sizes, kernel_size, dilation, padding, stride: F._col2im(
        g, tuple(self_sizes[-2:]), kernel_size, dilation, padding, stride
    ),
    kinds="fcb",
)  # fmt: skip
linear(
    "_col2im", _col2im, node="Col2ImBackward0",
    self=lambda g, kernel_size, dilation, padding, stride: F._im2col(g, kernel_size, dilation, padding, stride),
    kinds="fcb", layout="rows",
)  # fmt: skip
