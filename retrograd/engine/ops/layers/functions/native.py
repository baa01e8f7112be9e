"""Further forms of layers in torch: returning statistics or indices, with numbered modes, in other layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....core.absent import known_values
from ....core.base import wrap
from ....core.registry import F
from ....table.public import NAMESPACES, NN, check_tensor, public
from ...reductions.functions.summaries import norm_along, norm_of_all
from ..normalization import batch_statistics, row_statistics

_NN = NAMESPACES[NN]


@public("native_layer_norm", method=False)
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:  # noqa: A002
    """``layer_norm`` with the means and inverse standard deviations."""
    out = _NN["layer_norm"](input, normalized_shape, weight, bias, eps)
    shape = (*input.shape[: input.ndim - len(normalized_shape)], *(1,) * len(normalized_shape))
    _, mean, rstd = row_statistics(known_values(input).reshape(-1, math.prod(normalized_shape)), eps)
    return out, *[wrap(found.reshape(shape)).to(input.device) for found in (mean, rstd)]


@public("native_batch_norm", method=False, out=True)
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,  # noqa: A002
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    """``batch_norm`` with the mean and inverse standard deviation of the batch, empty ones in evaluation."""
    check_tensor("native_batch_norm", input)
    out = _NN["batch_norm"](input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, wrap(np.zeros(0, input._sig.numpy)), wrap(np.zeros(0, input._sig.numpy))
    mean, variance = batch_statistics(known_values(input))
    inverse = 1 / np.sqrt(variance + variance.dtype.type(eps))
    given = next((t for t in (weight, bias, running_mean, running_var) if t is not None), input)
    kind = given._sig.numpy  # statistics of halves are wider only beside wider parameters
    return out, *[wrap(found.astype(kind, copy=False)).to(input.device) for found in (mean, inverse)]


@public("native_group_norm", method=False)
def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float  # noqa: A002, N803
) -> Any:  # fmt: skip
    """``group_norm`` with the means and inverse standard deviations of all groups."""
    out = _NN["group_norm"](input, group, weight, bias, eps)
    rows = input.reshape(N, group, C // group * HxW)
    variance = F._var(rows, (2,), 0, False)
    return out, F._mean_dim(rows, 2, False), F.rsqrt(variance + eps)


def _with_indices(name: str) -> Any:
    def pool(*args: Any, **kwargs: Any) -> Any:
        """The pool and the indices of its elements."""
        kwargs["return_indices"] = True
        return _NN[name](*args, **kwargs)

    pool.__name__ = pool.__qualname__ = f"{name}_with_indices"
    return pool


for _dims in (1, 2, 3):
    public(f"adaptive_max_pool{_dims}d_with_indices", namespace=NN)(_with_indices(f"adaptive_max_pool{_dims}d"))
    if _dims > 1:
        public(f"fractional_max_pool{_dims}d_with_indices", namespace=NN)(_with_indices(f"fractional_max_pool{_dims}d"))
public("adaptive_max_pool1d", method=False)(_with_indices("adaptive_max_pool1d"))


@public("native_channel_shuffle", method=False)
def native_channel_shuffle(input: Any, groups: int) -> Any:  # noqa: A002
    """``channel_shuffle``."""
    return _NN["channel_shuffle"](input, groups)


public("native_channel_shuffle", namespace=NN)(native_channel_shuffle)


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:  # noqa: A002
    """A convolution over time: input ``(T, N, C)``, weight ``(kernel, C, O)``."""
    check_tensor("conv_tbc", input)
    refuse(input.ndim != 3, "Input must have 3 dims: time, batch, in_channel")
    refuse(weight.ndim != 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    refuse(bias.ndim != 1, "Bias must be 1-D")
    out = _NN["conv1d"](input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return out.permute(2, 0, 1)


public("conv_tbc", namespace=NN)(public("conv_tbc", method=False)(conv_tbc))


@public("one_hot", namespace=NN)
def one_hot(input: Any, num_classes: int = -1) -> Any:  # noqa: A002
    """Class numbers as rows of zeros with a single one."""
    check_tensor("one_hot", input)
    refuse(input._sig.numpy != np.int64, "one_hot is only applicable to index tensor of type LongTensor.")
    if input.is_meta and num_classes > 0:
        return input.new_empty((*input.shape, num_classes))
    labels = input._array
    refuse(not labels.size and num_classes <= 0, "Can not infer total number of classes from empty tensor.")
    refuse(bool(labels.size and labels.min() < 0), "Class values must be non-negative.")
    largest = int(labels.max(initial=-1))
    refuse(num_classes != -1 and largest >= num_classes, "Class values must be smaller than num_classes.")
    count = largest + 1 if num_classes == -1 else num_classes
    return F.eq(input.unsqueeze(-1), wrap(np.arange(count))).long()  # recorded: what it is made of can be followed


@public("norm_except_dim", method=False)
def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:  # noqa: A002
    """The norm over all dimensions but one, which keep size 1."""
    if dim == -1:
        return norm_of_all(v, pow)
    last = v.ndim - 1
    if dim == 0:
        rows = F._view(v.contiguous(), (v.shape[0], -1))
        return F._view(norm_along(rows, pow, (1,)), (v.shape[0], *(1,) * last))
    if dim == last:
        columns = F._view(v.contiguous(), (-1, v.shape[last]))
        return F._view(norm_along(columns, pow, (0,)), (*(1,) * last, v.shape[last]))
    return F.transpose(norm_except_dim(F.transpose(v, 0, dim), pow, 0), 0, dim)
