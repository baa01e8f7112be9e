"""Convolution layers in one, two and three dimensions, and their transposes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter
from .. import functional, init
from ..module import Module
from .declared import window

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Sizes, checks, parameters and ``repr``; weights and bias start uniform in ``±1/sqrt(fan_in)``."""

    dimensions: ClassVar[int] = 1
    transposed: ClassVar[bool] = False
    weight: Any
    bias: Any

    def _start(
        self, channels: tuple[int, int], kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        output_padding: Any, groups: int, bias: bool, padding_mode: str, place: dict[str, Any],
    ) -> None:  # fmt: skip
        """Take the settings; make weight ``(out, in / groups, *kernel)`` (transposed: in first) and bias."""
        super().__init__()
        _check(channels, stride, padding, groups, padding_mode)
        self.in_channels, self.out_channels = channels
        self.kernel_size, self.stride, self.dilation, self.output_padding = (
            window(size, self.dimensions) for size in (kernel_size, stride, dilation, output_padding)
        )
        self.padding = padding if isinstance(padding, str) else window(padding, self.dimensions)
        self.groups, self.padding_mode = groups, padding_mode
        first, second = reversed(channels) if not self.transposed else channels
        self.weight = Parameter(FUNCTIONS["empty"](first, second // groups, *self.kernel_size, **place))
        self.register_parameter("bias", Parameter(FUNCTIONS["empty"](self.out_channels, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        """Channels and sizes; what has its usual value is left out."""
        said = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = (0,) * self.dimensions, (1,) * self.dimensions
        for name, usual in (("padding", zeros), ("dilation", ones), ("output_padding", zeros), ("groups", 1)):
            if getattr(self, name) != usual:
                said += f", {name}={getattr(self, name)}"
        said += ", bias=False" if self.bias is None else ""
        return said + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


def _check(channels: tuple[int, int], stride: Any, padding: Any, groups: int, padding_mode: str) -> None:
    """``ValueError`` for groups, padding or a padding mode that a convolution cannot have."""
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    for name, count in zip(("in_channels", "out_channels"), channels, strict=True):
        if count % groups:
            raise ValueError(f"{name} must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(step != 1 for step in window(stride, 1)):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        modes = ", ".join(map(repr, _PADDING_MODES))
        raise ValueError(f"padding_mode must be one of {{{modes}}}, but got padding_mode='{padding_mode}'")


class _Plain(_ConvNd):
    """Convolutions that are not transposed."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        place = {"device": device, "dtype": dtype}
        channels = (in_channels, out_channels)
        self._start(channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, place)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:  # noqa: A002
        """Apply the layer with other parameters, as subclasses do; other paddings than zeros are put on first."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._sides(), mode=self.padding_mode)  # noqa: A001
            padding = window(0, self.dimensions)
        call = getattr(functional, f"conv{self.dimensions}d")
        return call(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _sides(self) -> list[int]:
        """What ``pad`` wants: left and right of each dimension, the last one first."""
        if self.padding == "valid":
            return [0, 0] * self.dimensions
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
        return [int(size) for size in reversed(self.padding) for _ in range(2)]


class Conv1d(_Plain):
    """Convolution of (N, C, L) or (C, L)."""


class Conv2d(_Plain):
    """Convolution of (N, C, H, W) or (C, H, W)."""

    dimensions = 2


class Conv3d(_Plain):
    """Convolution of (N, C, D, H, W) or (C, D, H, W)."""

    dimensions = 3


class _ConvTransposeNd(_ConvNd):
    """Transposes of convolutions."""

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        place = {"device": device, "dtype": dtype}
        channels = (in_channels, out_channels)
        self._start(channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode, place)

    def forward(self, input: Any, output_size: Any = None) -> Any:  # noqa: A002
        """Apply the layer; ``output_size`` chooses among the sizes that a stride leaves open."""
        extra = self.output_padding if output_size is None else self._fitting(input, list(output_size))
        call = getattr(functional, f"conv_transpose{self.dimensions}d")
        return call(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _fitting(self, input: Any, wanted: list[int]) -> list[int]:  # noqa: A002
        """The output padding that gives a wanted size."""
        leading = input.ndim - self.dimensions
        if len(wanted) == leading + self.dimensions:
            wanted = wanted[leading:]
        if len(wanted) != self.dimensions:
            raise ValueError(
                f"ConvTranspose{self.dimensions}D: for {input.ndim}D input, output_size must have {self.dimensions} or "
                f"{leading + self.dimensions} elements (got {len(wanted)})"
            )
        sizes = zip(input.shape[leading:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        smallest = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in sizes]
        largest = [low + step - 1 for low, step in zip(smallest, self.stride, strict=True)]
        if any(not low <= size <= high for size, low, high in zip(wanted, smallest, largest, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {smallest} to {largest} (for an "
                f"input of {input.shape[leading:]})"
            )
        return [size - low for size, low in zip(wanted, smallest, strict=True)]


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of ``Conv1d``: what its gradient computes."""


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of ``Conv2d``."""

    dimensions = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of ``Conv3d``."""

    dimensions = 3
