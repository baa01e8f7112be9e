"""``conv1d`` to ``conv3d``, their transposed forms, ``unfold`` and ``fold``."""

from __future__ import annotations

import math
from typing import Any

from ....calls.refusals import refuse, refuse_kind
from ....core.dtypes import c_name, scalar_name
from ....core.registry import F
from ....kernels.sliding import Sizes, sizes_of, transposed_size, window_count, window_span
from ....table.public import NN, check_tensor, public
from ....tensors.convert import checked_dim
from .pooling import check_filled, check_padding, check_positive


def batched(x: Any, dims: int, what: str) -> tuple[Any, bool]:
    """The input with a batch dimension, and whether it had one."""
    if x.ndim == dims + 2:
        return x, True
    refuse(
        x.ndim != dims + 1,
        f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {what}, but got input of size: "
        f"{list(x.shape)}",
    )
    return F.unsqueeze(x, 0), False


def unbatched(out: Any, had_batch: bool) -> Any:
    """Without the batch dimension that ``batched`` added."""
    return out if had_batch else F._squeeze_dim(out, 0)


def _check_numbers(stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> None:
    refuse(any(s <= 0 for s in stride), "non-positive stride is not supported")
    refuse(any(p < 0 for p in padding), "negative padding is not supported")
    shown = [1, *dilation] if len(dilation) == 1 else list(dilation)
    refuse(
        any(d <= 0 for d in dilation),  # PyTorch says the one or the other, by which library computes it
        f"non-positive dilation is not supported: dilation should be greater than zero, but got {shown}",
    )
    refuse(groups <= 0, "non-positive groups is not supported")


def _check_operands(x: Any, weight: Any, bias: Any, groups: int, transposed: bool) -> None:
    """``RuntimeError`` unless input ``(N, C, *spatial)``, weight and bias fit each other and ``groups``."""
    _check_kinds(x, weight, bias)
    _check_channels(x, weight, groups, transposed)
    _check_bias(weight, bias, groups, transposed)


def _check_kinds(x: Any, weight: Any, bias: Any) -> None:
    given = x._sig.numpy
    refuse(
        bias is not None and bias._sig.numpy != given,
        f"Input type ({c_name(given)}) and bias type ({'' if bias is None else c_name(bias._sig.numpy)}) should be the "
        "same",
    )
    refuse(
        weight._sig.numpy != given,
        f"expected scalar type {scalar_name(given)} but found {scalar_name(weight._sig.numpy)}: input and weight",
    )


def _check_weight(x: Any, weight: Any) -> None:
    shape = list(weight.shape)
    refuse(weight.ndim < 3, "weight should have at least three dimensions")
    refuse(
        weight.ndim != x.ndim,
        f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight{shape}, but got "
        f"{x.ndim}-dimensional input of size {list(x.shape)} instead",
    )
    check_positive(kernel_size=tuple(shape[2:]))


def _check_channels(x: Any, weight: Any, groups: int, transposed: bool) -> None:
    shape = list(weight.shape)
    wanted = shape[0] if transposed else shape[1] * groups
    refuse(
        shape[0] < groups,
        f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
        f"{shape} instead",
    )
    refuse(
        x.shape[1] != wanted,
        f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {shape}, expected input"
        f"{list(x.shape)} to have {wanted} channels, but got {x.shape[1]} channels instead",
    )
    refuse(
        shape[0] % groups != 0,
        f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
        f"{shape} instead",
    )


def _check_bias(weight: Any, bias: Any, groups: int, transposed: bool) -> None:
    if bias is None:
        return
    shape = list(weight.shape)
    made = shape[1] * groups if transposed else shape[0]
    refuse(
        tuple(bias.shape) != (made,),
        f"Given {'transposed=1' if transposed else 'transposed=0'}, weight of size {shape}, expected bias to be "
        f"1-dimensional with {made} elements, but got bias of size {list(bias.shape)} instead",
    )


def _check_window(x: Any, kernel: Sizes, padding: Sizes, dilation: Sizes) -> None:
    whole = [n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)]
    span = window_span(kernel, dilation)
    refuse(
        any(s > n for s, n in zip(span, whole, strict=True)),
        f"Calculated padded input size per channel: ({' x '.join(map(str, whole))}). Kernel size: "
        f"({' x '.join(map(str, span))}). Kernel size can't be greater than actual input size",
    )


def _same_padding(x: Any, kernel: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Any, Sizes]:
    """The padding that keeps the size; where it is uneven the input grows by one on the far side."""
    refuse(any(s != 1 for s in stride), "padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(t % 2 for t in total):
        pad = [entry for t in reversed(total) for entry in (0, t % 2)]
        x = F.constant_pad_nd(x, tuple(pad), 0)
    return x, tuple(t // 2 for t in total)


def _conv(dims: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """``conv1d`` to ``conv3d``: arguments checked and spelled out, one image made a batch, then the row."""
    name = f"conv{dims}d"
    check_tensor(name, x)
    check_tensor(name, weight, 2, "weight")
    x, had_batch = batched(x, dims, name)
    stride, dilation = sizes_of(stride, dims, "stride"), sizes_of(dilation, dims, "dilation")
    kernel = tuple(weight.shape[2:])
    _check_weight(x, weight)
    if padding == "same":
        x, padding = _same_padding(x, kernel, stride, dilation)
    elif isinstance(padding, str):
        refuse(padding != "valid", f"Invalid padding string: '{padding}'")
        padding = (0,) * dims
    padding = sizes_of(padding, dims, "padding")
    _check_numbers(stride, padding, dilation, groups)
    _check_operands(x, weight, bias, groups, False)
    _check_window(x, kernel, padding, dilation)
    out = F.convolution(x, weight, bias, stride, padding, dilation, False, (0,) * dims, groups)
    return unbatched(out, had_batch)


def _conv_of(dims: int) -> Any:
    def conv(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,  # noqa: A002
        groups: int = 1,
    ) -> Any:  # fmt: skip
        return _conv(dims, input, weight, bias, stride, padding, dilation, groups)

    conv.__name__ = conv.__qualname__ = f"conv{dims}d"
    conv.__doc__ = f"Convolution over {dims} dimensions: input ``(N, C, ...)``, weight ``(O, C / groups, ...)``."
    return conv


def _transposed(
    dims: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
    dilation: Any,
) -> Any:  # fmt: skip
    """``conv_transpose1d`` to ``conv_transpose3d``: arguments checked and spelled out, then the row."""
    name = f"conv_transpose{dims}d"
    check_tensor(name, x)
    check_tensor(name, weight, 2, "weight")
    refuse_kind(f"slow_conv_transpose{3 if dims == 3 else 2}d_out_cpu", x._sig.numpy, "fcl")
    x, had_batch = batched(x, dims, name)
    stride, dilation = sizes_of(stride, dims, "stride"), sizes_of(dilation, dims, "dilation")
    padding, extra = sizes_of(padding, dims, "padding"), sizes_of(output_padding, dims, "output_padding")
    _check_numbers(stride, padding, dilation, groups)
    _check_weight(x, weight)
    _check_operands(x, weight, bias, groups, True)
    for o, s, d in zip(extra, stride, dilation, strict=True):
        refuse(
            o >= s and o >= d,
            f"output padding must be smaller than either stride or dilation, but got output_padding: {o}, stride: "
            f"{s}, dilation: {d}",
        )
    size = transposed_size(x.shape[2:], tuple(weight.shape[2:]), stride, padding, dilation, extra)
    refuse(
        min(size) < 1,
        f"Given input size per channel: ({' x '.join(map(str, x.shape[2:]))}). Calculated output size per channel: "
        f"({' x '.join(map(str, size))}). Output size is too small",
    )
    out = F.convolution(x, weight, bias, stride, padding, dilation, True, extra, groups)
    return unbatched(out, had_batch)


def _conv_transpose_of(dims: int) -> Any:
    def conv_transpose(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        return _transposed(dims, input, weight, bias, stride, padding, output_padding, groups, dilation)

    conv_transpose.__name__ = conv_transpose.__qualname__ = f"conv_transpose{dims}d"
    conv_transpose.__doc__ = f"Transposed convolution over {dims} dimensions; weight ``(C, O / groups, ...)``."
    return conv_transpose


for _dims in (1, 2, 3):
    for _made in (_conv_of(_dims), _conv_transpose_of(_dims)):
        public(_made.__name__, namespace=NN)(public(_made.__name__, method=False)(_made))


@public("convolution", method=False)
def convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,  # noqa: A002
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """Convolution or transposed convolution in as many dimensions as the weight has."""
    check_tensor("convolution", input)
    dims = weight.ndim - 2
    if transposed:
        return _transposed(dims, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _conv(dims, input, weight, bias, stride, padding, dilation, groups)


# -- windows as columns


@public("unfold", namespace=NN)
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:  # noqa: A002
    """Sliding windows of a batch of images as columns ``(N, C * window, windows)``."""
    check_tensor("unfold", input)
    if input.ndim < 3:
        checked_dim(input.ndim, input.ndim)  # PyTorch looks at the one behind the last
    refuse(
        input.ndim > 4,
        f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
        f"but got: {list(input.shape)}",
    )
    kernel, dilation, padding, stride = (sizes_of(v, 2) for v in (kernel_size, dilation, padding, stride))
    check_positive(kernel_size=kernel, stride=stride, dilation=dilation)
    check_padding(padding)
    check_filled("unfold", input, 2)
    height, width = input.shape[-2:]
    count = window_count((height, width), kernel, stride, padding, dilation)
    refuse(
        any(c < 1 for c in count),
        f"Given input with spatial size ({height}, {width}), kernel_size={kernel}, dilation={dilation}, "
        f"padding={padding}, stride={stride}, calculated shape of the array of sliding blocks as {count}, which is "
        "too small (non-positive).",
    )
    return F._im2col(input, kernel, dilation, padding, stride)


@public("fold", namespace=NN)
def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1  # noqa: A002
) -> Any:  # fmt: skip
    """Columns of windows summed up into images of ``output_size``."""
    check_tensor("fold", input)
    refuse(
        input.ndim not in (2, 3),
        f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
        f"input, but got: {list(input.shape)}",
    )
    size, kernel, dilation, padding, stride = (
        sizes_of(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)
    )
    check_positive(kernel_size=kernel, stride=stride, dilation=dilation)
    check_padding(padding)
    check_filled("fold", input, 1)
    rows, windows = input.shape[-2:]
    refuse(
        rows % math.prod(kernel) != 0,
        f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
        f"input.size(1)={rows} and kernel_size={kernel}.",
    )
    count = window_count(size, kernel, stride, padding, dilation)
    refuse(
        windows != math.prod(count),
        f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
        f"expected size of input's dimension 2 to match the calculated number of sliding blocks "
        f"{' * '.join(map(str, count))} = {math.prod(count)}, but got input.size(2)={windows}.",
    )
    return F._col2im(input, size, kernel, dilation, padding, stride)
