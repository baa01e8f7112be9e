"""``interpolate`` in all its modes, pixel shuffles."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....core.argument_checks import type_name_of
from ....core.registry import F
from ....deprecations import discourage
from ....table.public import NAMESPACES, NN, check_tensor, public

_MODES = {
    "nearest": ("upsample_nearest{}d", (1, 2, 3)),
    "nearest-exact": ("_upsample_nearest_exact{}d", (1, 2, 3)),
    "linear": ("upsample_linear{}d", (1,)),
    "bilinear": ("upsample_bilinear{}d", (2,)),
    "bicubic": ("upsample_bicubic{}d", (2,)),
    "trilinear": ("upsample_trilinear{}d", (3,)),
    "lanczos": ("upsample_lanczos{}d", (2,)),
    "area": ("adaptive_avg_pool{}d", (1, 2, 3)),
}
"""For each mode: the row, and the numbers of spatial dimensions it takes."""
_ALIGNABLE = ("linear", "bilinear", "bicubic", "trilinear")


def _wanted_size(x: Any, size: Any, factor: Any, recompute: Any) -> tuple[tuple[int, ...], Any]:
    """The result's spatial size, and the scale factors where they set the sampling points."""
    dims = x.ndim - 2
    if (size is None) == (factor is None):
        raise ValueError(
            "either size or scale_factor should be defined"
            if size is None
            else "only one of size or scale_factor should be defined"
        )
    given = size if factor is None else factor
    given = tuple(given) if isinstance(given, (list, tuple)) else (given,) * dims
    if len(given) != dims:
        raise ValueError(
            f"Input and {'output' if factor is None else 'scale_factor'} must have the same number of spatial "
            f"dimensions, but got input with spatial dimensions of {list(x.shape[2:])} and {list(given)}. Please "
            "provide input tensor in (N, C, d1, d2, ...,dK) format and size or scale_factor in (o1, ...,oK) format."
        )
    if factor is None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return tuple(_whole(n) for n in given), None
    factors = [_factor(f) for f in given]
    target = tuple(math.floor(float(n) * f) for n, f in zip(x.shape[2:], factors, strict=True))
    return target, None if recompute else tuple(factors)


def _whole(size: Any) -> int:
    """A size; ``TypeError`` for what is not an integer, nor a tensor with one."""
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(f"interpolate(): argument 'size' must be int or a tuple of ints, not {type_name_of(size)}")
    try:
        return operator.index(size)
    except TypeError:
        raise TypeError("interpolate(): argument 'size' must be int, not a tensor of other numbers") from None


def _factor(factor: Any) -> float:
    """A scale; ``TypeError`` for what is not a number."""
    if not isinstance(factor, (int, float, np.number)):
        raise TypeError(f"interpolate(): argument 'scale_factor' must be float, not {type_name_of(factor)}")
    number = float(factor)
    if not abs(number) < 2.0**62:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return number


def _check_mode(x: Any, mode: str, align: Any, antialias: bool) -> None:
    """``ValueError`` or ``NotImplementedError`` for a mode that does not go with the input or the options."""
    if mode == "lanczos" and (align or not antialias):
        wrong = "does not support align_corners=True" if align else "requires antialias=True"
        raise ValueError(f"Lanczos mode {wrong}")
    if mode in _MODES and mode not in (*_ALIGNABLE, "lanczos") and align is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and (mode not in ("bilinear", "bicubic", "lanczos") or x.ndim != 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic and lanczos modes and requires a 4-D "
                         "tensor as input")  # fmt: skip
    if mode not in _MODES or x.ndim not in (3, 4, 5):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {x.ndim}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    wanted = _MODES[mode][1]
    if x.ndim - 2 not in wanted:
        raise NotImplementedError(f"Got {x.ndim}D input, but {mode} mode needs {wanted[0] + 2}D input")


@public("interpolate", namespace=NN)
def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,  # noqa: A002
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Resample ``(N, C, ...)`` to ``size`` or by ``scale_factor``."""
    check_tensor("interpolate", input)
    _check_mode(input, mode, align_corners, antialias)
    target, scales = _wanted_size(input, size, scale_factor, recompute_scale_factor)
    refuse(
        any(n < 1 for n in (*input.shape[2:], *target)),
        f"Input and output sizes should be greater than 0, but got input {list(input.shape[2:])} output {list(target)}",
    )
    dims = input.ndim - 2
    refuse(
        not input.shape[1] and mode != "area",
        f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}",
    )
    if mode == "area":
        return NAMESPACES[NN][f"adaptive_avg_pool{dims}d"](input, target)
    row = _MODES[mode][0].format(dims)
    if antialias:
        row = f"_{row}_aa"
    return getattr(F, row)(input, target, bool(align_corners), scales)


@public("upsample", namespace=NN)
def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """Old name of ``interpolate``."""
    discourage("resampling", "upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@public("upsample_nearest", namespace=NN)
def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:  # noqa: A002
    """``interpolate`` with the nearest element."""
    discourage("resampling", "upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@public("upsample_bilinear", namespace=NN)
def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:  # noqa: A002
    """``interpolate`` between neighbours with aligned corners."""
    discourage("resampling", "upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# -- channels into pixels


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:  # noqa: A002
    """``(..., C r², H, W)`` as ``(..., C, H r, W r)``."""
    check_tensor("pixel_shuffle", input)
    refuse(
        input.ndim < 3,
        f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)",
    )
    refuse(upscale_factor <= 0, f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    refuse(
        input.shape[-3] % upscale_factor**2 != 0,
        f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
        f"input.size(-3)={input.shape[-3]} is not divisible by {upscale_factor**2}",
    )
    return F._pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:  # noqa: A002
    """``(..., C, H r, W r)`` as ``(..., C r², H, W)``."""
    check_tensor("pixel_unshuffle", input)
    refuse(
        input.ndim < 3,
        f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)",
    )
    refuse(downscale_factor <= 0, f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    for name, n in (("height", input.shape[-2]), ("width", input.shape[-1])):
        refuse(
            n % downscale_factor != 0,
            f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size is {n} and "
            f"downscale_factor {downscale_factor}",
        )
    return F._pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input: Any, groups: int) -> Any:  # noqa: A002
    """Channels of several groups dealt out in turn."""
    check_tensor("channel_shuffle", input)
    refuse(input.ndim < 3, f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    refuse(groups <= 0, f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    refuse(
        input.shape[1] % groups != 0,
        f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups.",
    )
    return F._channel_shuffle(input, groups)


for _shuffle in (pixel_shuffle, pixel_unshuffle, channel_shuffle):
    public(_shuffle.__name__, namespace=NN)(public(_shuffle.__name__, method=False)(_shuffle))
