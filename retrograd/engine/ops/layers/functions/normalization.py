"""Normalisations of ``torch.nn.functional``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....aliasing.memory_formats import format_of, lies_in
from ....calls.inert import refuse_gradients
from ....calls.inplace import bump_version
from ....calls.refusals import refuse, refuse_kind
from ....core.argument_checks import real_argument
from ....core.batches import is_batched
from ....core.layouts import channels_last, channels_last_3d, contiguous_format
from ....core.narrow import limits, widened
from ....core.registry import F
from ....overriding.dispatch_classes import asked_of
from ....rules.by_number import plus
from ....switches import watchers
from ....switches.modes import no_grad
from ....table.public import NAMESPACES, NN, check_tensor, public
from ...reductions.reduce import mean_of
from ..normalization import batch_statistics, inverse_deviation


def _check_enough(shape: Any) -> None:
    """``ValueError`` for a single value per channel."""
    count = shape[0] * math.prod(shape[2:]) if len(shape) > 1 else 0
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape}")


def _check_channels(x: Any, **tensors: Any) -> None:
    for name, t in tensors.items():
        refuse(
            t is not None and t.numel() != x.shape[1],
            f"{name} should contain {x.shape[1]} elements not {t.numel() if t is not None else 0}",
        )


def _check_dtypes(x: Any, *parameters: Any) -> None:
    """``RuntimeError`` unless parameters have the input's dtype, or are all float32 beside one of 16 bits.

    ``NotImplementedError`` for an input that is not of floats.
    """
    numpy = x._sig.numpy
    given = [t._sig.numpy for t in parameters if t is not None]
    if given.count(numpy) == len(given):
        return
    refuse(
        any(dtype != np.float32 for dtype in given), "mixed dtype (CPU): expect parameter to have scalar type of Float"
    )
    refuse_kind("batch_norm", numpy, "f")
    refuse(numpy.itemsize > 2, "mixed dtype (CPU): all inputs must share same datatype.")


def _update(running: Any, fresh: Any, momentum: float) -> None:
    """Move running statistics towards those of the batch, unseen by the graph and, as in torch, by the version."""
    if running is not None:
        array = running._array
        array[...] = (1 - momentum) * array + momentum * fresh


def _of_nothing(x: Any, weight: Any, bias: Any) -> Any:
    """What is made of no elements, which have no statistics; its graph leads to all operands."""
    out = F.clone(x)
    out = out if weight is None else out * weight[0]
    return out if bias is None else out + bias[0]


def _batch_norm(x: Any, weight: Any, bias: Any, running: tuple[Any, Any], how: tuple[bool, float, float]) -> Any:
    """Normalise ``(N, C, ...)`` by the batch's statistics, which update the running ones, or by the running ones."""
    running_mean, running_var = running
    training, momentum, eps = how
    real_argument("batch_norm", "momentum", 7, momentum)
    real_argument("batch_norm", "eps", 8, eps)
    if not x.numel():
        return _of_nothing(x, weight, bias)
    _check_channels(x, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    for name, given in (("running_mean", running_mean), ("running_var", running_var)):
        refuse(not training and given is None, f"{name} must be defined in evaluation mode")
    _check_dtypes(x, weight, bias, running_mean, running_var)
    if running_mean is not None:
        refuse_gradients("native_batch_norm", running_mean=running_mean, running_var=running_var)
    if watchers.DISPATCHING and asked_of((x, weight, bias, running_mean, running_var)):
        return _batch_norm_of_operators(x, weight, bias, running, how)
    stats = None
    if training:
        _check_shared(x, running_mean, running_var)
        mean, variance = batch_statistics(x._array)
        count = x.numel() // max(x.shape[1], 1)
        _update(running_mean, mean, momentum)
        _update(running_var, variance * (count / max(count - 1, 1)), momentum)
        stats = (mean, inverse_deviation(variance, eps))
    return F._batch_norm(x, weight, bias, running_mean, running_var, training, eps, stats)


def _check_shared(x: Any, *running: Any) -> None:
    """``RuntimeError`` for statistics that entries of a batch would all update."""
    if is_batched(x) and any(t is not None and not is_batched(t) for t in running):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched. Use track_running_stats=False, GroupNorm, "
            "torch.func.replace_all_batch_norm_modules_, or pass the statistics as arguments of the function."
        )


def _batch_norm_of_operators(
    x: Any, weight: Any, bias: Any, running: tuple[Any, Any], how: tuple[bool, float, float]
) -> Any:
    """The same composed of operators, for tensors whose values only their class knows."""
    mean: Any
    variance: Any
    training, momentum, eps = how
    channels = (1, x.shape[1], *[1] * (x.ndim - 2))
    mean, variance = (t if t is None else t.view(channels) for t in running)
    if training:
        dims = (0, *range(2, x.ndim))
        mean, variance = x.mean(dims, True), x.var(dims, correction=0, keepdim=True)
        count = x.numel() // x.shape[1]
        _update_by_operators(running[0], mean, momentum)
        _update_by_operators(running[1], variance * (count / max(count - 1, 1)), momentum)
    out = (x - mean) * (variance + eps).rsqrt()
    out = out if weight is None else out * weight.view(channels)
    return out if bias is None else out + bias.view(channels)


def _update_by_operators(running: Any, fresh: Any, momentum: float) -> None:
    """Move a running statistic, if there is one, towards that of a batch."""
    if running is not None:
        with no_grad():
            running.mul_(1 - momentum).add_(fresh.view(-1) * momentum)


@public("batch_norm", namespace=NN)
def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,  # noqa: A002
    training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Any:  # fmt: skip
    """Each channel of ``(N, C, ...)`` normalised over the batch (training) or with running statistics."""
    check_tensor("batch_norm", input)
    if training:
        _check_enough(input.shape)
    if isinstance(eps, float) and (eps < 0 or (training and not eps)):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    return _batch_norm(input, weight, bias, (running_mean, running_var), (training, momentum, eps))


def _torch_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,  # noqa: A002
    momentum: float, eps: float, *unused: Any, **ignored: Any,
) -> Any:  # fmt: skip
    """``nn.functional.batch_norm`` in the argument order of ``torch.batch_norm``."""
    return _batch_norm(input, weight, bias, (running_mean, running_var), (training, momentum, eps))


public("batch_norm", method=False)(_torch_batch_norm)


@public("instance_norm", namespace=NN)
def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,  # noqa: A002
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05,
) -> Any:  # fmt: skip
    """Each channel of each sample normalised by itself: a batch norm with all samples' channels side by side."""
    check_tensor("instance_norm", input)
    real_argument("instance_norm", "momentum", 7, momentum)
    real_argument("instance_norm", "eps", 8, eps)
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size torch.Size({list(input.shape)})"
        )
    refuse(
        not use_input_stats and (running_mean is None or running_var is None),
        "Expected running_mean and running_var to be defined when use_input_stats is false",
    )
    n, c = input.shape[:2]
    repeated: Any = [None if t is None else t.repeat(n) for t in (weight, bias)]
    dtype = input.dtype if weight is None else weight.dtype
    stats: Any = [None if t is None else t.detach().to(dtype).repeat(n) for t in (running_mean, running_var)]
    x = input.contiguous().view(1, n * c, *input.shape[2:])
    out = _batch_norm(x, repeated[0], repeated[1], (stats[0], stats[1]), (use_input_stats, momentum, eps))
    for running, wide in zip((running_mean, running_var), stats, strict=True):
        if running is not None and use_input_stats:
            running._array[...] = mean_of(widened(wide._array).reshape(n, c), 0, False, None)
            bump_version(running)
    return out.view(tuple(input.shape))


def _torch_instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,  # noqa: A002
    momentum: float, eps: float, *unused: Any, **ignored: Any,
) -> Any:  # fmt: skip
    """``nn.functional.instance_norm`` in the argument order of ``torch.instance_norm``."""
    return instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


public("instance_norm", method=False)(_torch_instance_norm)


def _normalized_shape(x: Any, shape: Any, **tensors: Any) -> tuple[int, ...]:
    """The trailing shape to normalise over; ``RuntimeError`` unless input, weight and bias have it."""
    wanted = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    have = x._sig.shape
    fits = 0 < len(wanted) <= len(have) and have[len(have) - len(wanted) :] == wanted
    for t in tensors.values():
        fits = fits and (t is None or t._sig.shape == wanted)
    if not fits:
        _refuse_normalized_shape(x, wanted, tensors)
    return wanted


def _refuse_normalized_shape(x: Any, wanted: tuple[int, ...], tensors: dict[str, Any]) -> None:
    """Say what does not fit (words that nobody reads take 15 µs)."""
    refuse(
        len(wanted) < 1,
        f"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        f"normalized_shape = {list(wanted)}",
    )
    for name, t in tensors.items():
        refuse(
            t is not None and tuple(t.shape) != wanted,
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{list(t.shape) if t is not None else None} and normalized_shape = {list(wanted)}",
        )
    refuse(
        tuple(x.shape[-len(wanted) :]) != wanted or x.ndim < len(wanted),
        f"Given normalized_shape={list(wanted)}, expected input with shape [*, {', '.join(map(str, wanted))}], but got "
        f"input of size{list(x.shape)}",
    )


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05,  # noqa: A002
    cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    """The last dimensions normalised, scaled by ``weight`` and shifted by ``bias``."""
    check_tensor("layer_norm", input)
    shape = _normalized_shape(input, normalized_shape, weight=weight, bias=bias)
    if weight is not None or bias is not None:
        _check_dtypes(input, weight, bias)
    return F._layer_norm(input, shape, weight, bias, real_argument("layer_norm", "eps", 5, eps))


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05,  # noqa: A002
    cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """Groups of channels of each sample normalised."""
    check_tensor("group_norm", input)
    refuse(input.ndim < 2, f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    refuse(num_groups <= 0, f"Expected num groups to be greater than 0, got {num_groups}")
    refuse(
        input.shape[1] % num_groups != 0,
        f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
        f"{list(input.shape)} and num_groups={num_groups}",
    )
    for name, t in (("weight", weight), ("bias", bias)):
        refuse(
            t is not None and (t.ndim != 1 or t.numel() != input.shape[1]),
            f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
            f"{list(t.shape) if t is not None else None} and input of shape {list(input.shape)}",
        )
    if weight is not None or bias is not None:
        _check_dtypes(input, weight, bias)
    real_argument("group_norm", "eps", 5, eps)
    return F._group_norm(_in_rows(input), weight, bias, num_groups, eps)


def _in_rows(input: Any) -> Any:  # noqa: A002
    """The input, or a copy of it that a kernel can go through: one after the other, or with the channels last."""
    array = input._array
    if array.flags.c_contiguous or lies_in(array, channels_last) or lies_in(array, channels_last_3d):
        return input
    return F.clone(input, contiguous_format)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:  # noqa: A002
    """The last dimensions divided by their root mean square, scaled by ``weight``."""
    check_tensor("rms_norm", input)
    shape = _normalized_shape(input, normalized_shape, weight=weight)
    refuse_kind("rms_norm", input._sig.numpy, "fc")
    half = input._sig.numpy == np.float16  # computed, as in PyTorch, in float32
    numpy = np.float32 if half else input._sig.numpy
    epsilon = float(limits(numpy).eps) if eps is None else real_argument("rms_norm", "eps", 4, eps)
    axes = tuple(range(input.ndim - 1, input.ndim - 1 - len(shape), -1))
    x = input.float() if half else input
    out = x * F.rsqrt(plus(F._mean_dim(x.pow(2), axes, True), epsilon))
    out = out if weight is None else out * weight
    return out.type_as(input) if half else out.contiguous(memory_format=format_of(input._array))


for _norm in (layer_norm, rms_norm):
    public(_norm.__name__, namespace=NN)(public(_norm.__name__, method=False)(_norm))
public("group_norm", method=False)(group_norm)


@public("group_norm", namespace=NN)
def group_norm_of_several(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05  # noqa: A002
) -> Any:  # fmt: skip
    """Groups of channels of each sample normalised; a group of a single value has no spread (``ValueError``)."""
    normalised = group_norm(input, num_groups, weight, bias, eps)
    _check_enough([input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]])
    return normalised


@public("local_response_norm", namespace=NN)
def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0  # noqa: A002
) -> Any:  # fmt: skip
    """Each element divided by a power of the squares of neighbouring channels."""
    check_tensor("local_response_norm", input)
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if not input.numel():
        return input
    functional = NAMESPACES[NN]
    around = (size // 2, (size - 1) // 2)
    squares = input.mul(input)
    if input.ndim == 3:
        wide = functional["pad"](F.unsqueeze(squares, 1), (0, 0, *around))
        mean = F._squeeze_dim(functional["avg_pool2d"](wide, (size, 1), stride=1), 1)
    else:
        n, c, h = input.shape[:3]
        wide = functional["pad"](squares.view(n, 1, c, h, -1), (0, 0, 0, 0, *around))
        mean = F._squeeze_dim(functional["avg_pool3d"](wide, (size, 1, 1), stride=1), 1).view(tuple(input.shape))
    return input / mean.mul(alpha).add(k).pow(beta)
