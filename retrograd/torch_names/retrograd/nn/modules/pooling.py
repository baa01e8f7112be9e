"""Pooling layers in one, two and three dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

from .declared import Layer, window


class _Strided(Layer):
    """Windows that follow each other unless ``stride`` says otherwise."""

    tuples_of: ClassVar[int] = 0
    """Sizes are kept as tuples of so many, or as they were given."""

    def prepare(self, options: dict[str, Any]) -> None:
        """A stride left out is the window's size."""
        if options["stride"] is None:
            options["stride"] = options["kernel_size"]
        if self.tuples_of:
            sizes = ("kernel_size", "stride", "padding")
            options |= {name: window(options[name], self.tuples_of) for name in sizes}
        super().prepare(options)


_MAX = "kernel_size stride padding dilation ceil_mode"


class _MaxPool(_Strided):
    """Maximum of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool1d(_MaxPool, call="max_pool1d", shown=_MAX):
    """Maximum of each window."""


class MaxPool2d(_MaxPool, call="max_pool2d", shown=_MAX):
    """Maximum of each window."""


class MaxPool3d(_MaxPool, call="max_pool3d", shown=_MAX):
    """Maximum of each window."""


class _AvgPool(_Strided):
    """Mean of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


class AvgPool1d(_AvgPool, call="avg_pool1d", shown="kernel_size stride padding"):
    """Mean of each window."""

    tuples_of = 1


class AvgPool2d(_AvgPool, call="avg_pool2d", shown="kernel_size stride padding"):
    """Mean of each window."""

    divisor_override: int | None = None


class AvgPool3d(_AvgPool, call="avg_pool3d", shown="kernel_size stride padding"):
    """Mean of each window."""

    divisor_override: int | None = None


class _LPPool(Layer):
    """Norm of each window."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


class LPPool1d(_LPPool, call="lp_pool1d"):
    """Norm of each window."""


class LPPool2d(_LPPool, call="lp_pool2d"):
    """Norm of each window."""


class LPPool3d(_LPPool, call="lp_pool3d"):
    """Norm of each window."""


class _AdaptiveAvgPool(Layer):
    """Means of windows that give an output of a chosen size."""

    output_size: Any


class AdaptiveAvgPool1d(_AdaptiveAvgPool, call="adaptive_avg_pool1d"):
    """Means of windows that give an output of a chosen size."""


class AdaptiveAvgPool2d(_AdaptiveAvgPool, call="adaptive_avg_pool2d"):
    """Means of windows that give an output of a chosen size."""


class AdaptiveAvgPool3d(_AdaptiveAvgPool, call="adaptive_avg_pool3d"):
    """Means of windows that give an output of a chosen size."""


class _AdaptiveMaxPool(Layer):
    """Maxima of windows that give an output of a chosen size."""

    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMaxPool, call="adaptive_max_pool1d", shown="output_size"):
    """Maxima of windows that give an output of a chosen size."""


class AdaptiveMaxPool2d(_AdaptiveMaxPool, call="adaptive_max_pool2d", shown="output_size"):
    """Maxima of windows that give an output of a chosen size."""


class AdaptiveMaxPool3d(_AdaptiveMaxPool, call="adaptive_max_pool3d", shown="output_size"):
    """Maxima of windows that give an output of a chosen size."""


class _MaxUnpool(_Strided):
    """Maxima back at the places they came from, zeros elsewhere."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0


class MaxUnpool1d(_MaxUnpool, call="max_unpool1d"):
    """Maxima back at the places they came from, zeros elsewhere."""

    tuples_of = 1


class MaxUnpool2d(_MaxUnpool, call="max_unpool2d"):
    """Maxima back at the places they came from, zeros elsewhere."""

    tuples_of = 2


class MaxUnpool3d(_MaxUnpool, call="max_unpool3d"):
    """Maxima back at the places they came from, zeros elsewhere."""

    tuples_of = 3


_FRACTIONAL = "kernel_size output_size output_ratio return_indices _random_samples"


class _Fractional(Layer):
    """Windows of random width."""

    kernel_size: Any
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Any = None

    def prepare(self, options: dict[str, Any]) -> None:
        """Exactly one of the two ways to say the output's size."""
        self.register_buffer("_random_samples", options.pop("_random_samples"))
        super().prepare(options)
        name, ways = type(self).__name__, [options["output_size"], options["output_ratio"]]
        if ways == [None, None]:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if None not in ways:
            raise ValueError("only one of output_size and output_ratio may be specified")
        ratios = ways[1] if isinstance(ways[1], tuple) else (ways[1],)
        if ways[1] is not None and not all(0 < ratio < 1 for ratio in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {ways[1]})")


class FractionalMaxPool2d(_Fractional, call="fractional_max_pool2d", only=_FRACTIONAL, shown=""):
    """Maxima of windows of random width (Graham 2014)."""


class FractionalMaxPool3d(_Fractional, call="fractional_max_pool3d", only=_FRACTIONAL, shown=""):
    """Maxima of windows of random width (Graham 2014)."""
