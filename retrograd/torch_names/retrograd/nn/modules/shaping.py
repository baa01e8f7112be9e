"""Layers that rearrange, resize and compare: flattening, windows, pixels, upsampling, distances."""

from __future__ import annotations

from typing import Any

from .. import functional
from ..module import Module
from .declared import Layer


class Flatten(Module):
    """A stretch of dimensions as one."""

    __module__ = "retrograd.nn.modules.flatten"

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The stretch."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several."""

    __module__ = "retrograd.nn.modules.flatten"

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, (int, str)):
            raise TypeError("invalid argument type for dim parameter")
        if not isinstance(unflattened_size, (tuple, list)):
            kind = type(unflattened_size).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {kind}")
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                kind = type(size).__name__
                raise TypeError(
                    f"unflattened_size must be a tuple of ints, but found element of type {kind} at pos {i}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The dimension and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Fold(Layer, call="fold"):
    """Windows added up to an image."""

    __module__ = "retrograd.nn.modules.fold"

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class Unfold(Layer, call="unfold"):
    """The windows of an image as columns."""

    __module__ = "retrograd.nn.modules.fold"

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class PixelShuffle(Layer, call="pixel_shuffle"):
    """Channels as finer pixels."""

    __module__ = "retrograd.nn.modules.pixelshuffle"

    upscale_factor: int


class PixelUnshuffle(Layer, call="pixel_unshuffle"):
    """Finer pixels as channels."""

    __module__ = "retrograd.nn.modules.pixelshuffle"

    downscale_factor: int


class ChannelShuffle(Layer, call="channel_shuffle"):
    """Channels taken from groups in turn."""

    __module__ = "retrograd.nn.modules.channelshuffle"

    groups: int


class Upsample(Layer, call="interpolate"):
    """An image in another size."""

    __module__ = "retrograd.nn.modules.upsampling"

    size: Any = None
    scale_factor: Any = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def prepare(self, options: dict[str, Any]) -> None:
        """Scale factors are floats."""
        super().prepare(options)
        self.name, scale = type(self).__name__, self.scale_factor
        if scale is not None:
            self.scale_factor = tuple(map(float, scale)) if isinstance(scale, tuple) else float(scale)

    def extra_repr(self) -> str:
        """The size or the factor, and the mode."""
        chosen = "size" if self.scale_factor is None else "scale_factor"
        return f"{chosen}={getattr(self, chosen)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` by the nearest pixel."""

    __module__ = "retrograd.nn.modules.upsampling"

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` by bilinear interpolation with aligned corners."""

    __module__ = "retrograd.nn.modules.upsampling"

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class CosineSimilarity(Layer, call="cosine_similarity", shown=""):
    """The cosine of the angle between vectors along ``dim``."""

    __module__ = "retrograd.nn.modules.distance"

    dim: int = 1
    eps: float = 1e-8


class PairwiseDistance(Module):
    """The norm of the differences of vectors."""

    __module__ = "retrograd.nn.modules.distance"

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """Apply the layer."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
