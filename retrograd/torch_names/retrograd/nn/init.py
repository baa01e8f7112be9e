"""``torch.nn.init``: starting values of parameters, written in place and without recording."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from ..engine.table.public import NAMESPACES

Filler = TypeVar("Filler", bound=Callable[..., Any])


def _unrecorded(function: Filler) -> Filler:
    return cast(Filler, no_grad()(function))


_GAINS = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_PLAIN = ("linear", *(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance of values through a nonlinearity (LeCun, Glorot, He)."""
    if nonlinearity in _PLAIN:
        return 1
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


@_unrecorded
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Uniform in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@_unrecorded
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal with a mean and a standard deviation."""
    return tensor.normal_(mean, std, generator=generator)


@_unrecorded
def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Normal, cut off outside [a, b]; numbers that lie outside are drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    if tensor.is_meta:
        return tensor.normal_(mean, std, generator=generator)
    many_inside = _below((b - mean) / std) - _below((a - mean) / std) > 0.3
    draw = _redrawn_outside if many_inside else _accepted_inside
    return draw(tensor, (mean, std), (a, b), generator)


def _below(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redrawn_outside(tensor: Any, normal: tuple[float, float], bounds: tuple[float, float], generator: Any) -> Any:
    low, high = (tensor.new_tensor(bound).item() for bound in bounds)  # as the dtype has them
    tensor.normal_(*normal, generator=generator)
    while (outside := (tensor < low) | (tensor > high)).any():
        again = FUNCTIONS["empty_like"](tensor).normal_(*normal, generator=generator)
        tensor.copy_(FUNCTIONS["where"](outside, again, tensor))
    return tensor


def _accepted_inside(tensor: Any, normal: tuple[float, float], bounds: tuple[float, float], generator: Any) -> Any:
    """Uniform numbers between the bounds, each accepted in proportion to the density there."""
    mean, std = normal
    mode = max(bounds[0], min(mean, bounds[1]))
    peak = -0.5 * ((mode - mean) / std) ** 2

    def refused(drawn: Any) -> Any:
        density = drawn.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return FUNCTIONS["empty_like"](tensor).uniform_(generator=generator).log_() > density

    pending = refused(tensor.uniform_(*bounds, generator=generator))
    while pending.any():
        again = FUNCTIONS["empty_like"](tensor).uniform_(*bounds, generator=generator)
        tensor.copy_(FUNCTIONS["where"](pending, again, tensor))
        pending = pending & refused(again)
    return tensor


@_unrecorded
def constant_(tensor: Any, val: float) -> Any:
    """One value everywhere."""
    return tensor.fill_(val)


@_unrecorded
def ones_(tensor: Any) -> Any:
    """Ones."""
    return tensor.fill_(1.0)


@_unrecorded
def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return tensor.zero_()


@_unrecorded
def eye_(tensor: Any) -> Any:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(FUNCTIONS["eye"](*tensor.shape, dtype=tensor.dtype))


@_unrecorded
def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Convolution weights that pass channels on, group by group."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    rows, middle = tensor.shape[0] // groups, tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(rows, tensor.shape[1])):
            tensor[(group * rows + channel, channel, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    """How many values come into and go out of each unit of a weight (outputs, inputs, *window)."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform in ±gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Uniform in ±gain * sqrt(3 / fan) (He et al. 2015); ``a`` is the slope of ``leaky_relu``."""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode)))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Normal with standard deviation gain / sqrt(fan) (He et al. 2015); ``a`` is the slope of ``leaky_relu``."""
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def _is_empty(tensor: Any) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


@_unrecorded
def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Orthonormal rows or columns, whichever are fewer, times ``gain`` (Saxe et al. 2013)."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = NAMESPACES["linalg"]["qr"](flat.t() if rows < columns else flat)
    q = q * r.diagonal().sign()
    return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@_unrecorded
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal, with the fraction ``sparsity`` of each column set to zero (Martens 2010)."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        zeros = FUNCTIONS["randperm"](rows)[: math.ceil(sparsity * rows)]
        tensor[zeros, column] = 0
    return tensor


def __getattr__(name: str) -> Any:
    current = globals().get(f"{name}_")
    if current is None or name.startswith("_"):
        raise AttributeError(f"module 'retrograd.nn.init' has no attribute '{name}'")

    def deprecated(*args: Any, **kwargs: Any) -> Any:
        """The function of this name with an underscore."""
        text = f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`."
        warnings.warn(text, FutureWarning, stacklevel=2)
        return current(*args, **kwargs)

    deprecated.__name__ = name
    return deprecated
