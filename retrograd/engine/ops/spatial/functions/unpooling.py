"""The inverses of max pools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....kernels.sliding import Sizes, sizes_of
from ....switches import determinism
from ....table.public import check_tensor
from ....table.registry import F
from ....tensors.absent import known_values
from ....tensors.dtype_names import scalar_name
from .pooling import publish
from .window_checks import check_filled, check_input


def _unpooled_size(x: Any, dims: int, kernel: Any, stride: Any, padding: Any, output_size: Any) -> Sizes:
    """The sizes before the pool: those asked for, which may be less than a stride away from the least that fit."""
    kernel = sizes_of(kernel, dims)
    stride = kernel if stride in (None, [], ()) else sizes_of(stride, dims)
    padding = sizes_of(padding, dims)
    least = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[-dims:], stride, padding, kernel, strict=True))
    if output_size is None:
        return least
    if len(output_size) not in (dims, dims + 2):
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(output_size)}'"
        )
    asked = tuple(output_size)[-dims:]
    for dim, (n, fit, step) in enumerate(zip(asked, least, stride, strict=True)):
        if not fit - step < n < fit + step:
            raise ValueError(f'invalid output_size "{asked}" (dim {dim} must be between {fit - step} and {fit + step})')
    return asked


def _check_indices(input: Any, indices: Any) -> None:  # noqa: A002
    refuse(
        tuple(indices.shape) != tuple(input.shape),
        f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices "
        f"tensor with shape: {list(indices.shape)}",
    )
    refuse(
        indices._sig.numpy != np.int64,
        f"elements in indices should be type int64 but got: {scalar_name(indices._sig.numpy)}",
    )


def _check_places(places: Any, size: tuple[int, ...]) -> None:
    """``RuntimeError`` for a place outside of an output of this size."""
    bad = places[(places < 0) | (places >= math.prod(size))]
    if bad.size:
        raise RuntimeError(f"Found an invalid max index: {bad.flat[0]} (output volumes are {size})")


def _max_unpool_of(dims: int) -> Any:
    """The public function ``max_unpool1d`` to ``max_unpool3d``."""

    def max_unpool(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
        output_size: Any = None,
    ) -> Any:  # fmt: skip
        """The elements at the positions in ``indices``, zeros elsewhere."""
        check_input(input, dims, f"max_unpool{dims}d")
        check_tensor(f"max_unpool{dims}d", indices, 2, "indices")
        size = _unpooled_size(input, dims, kernel_size, stride, padding, output_size)
        _check_indices(input, indices)
        check_filled(f"max_unpool{dims}d", input, dims, adaptive=True)
        _check_places(known_values(indices), size)
        determinism.check(f"max_unpooling{max(dims, 2)}d_forward_out")
        if dims == 1:
            wide, at = F.unsqueeze(input, -1), F.unsqueeze(indices, -1)
            return F._squeeze_dim(F._max_unpool2d(wide, at, (*input.shape[:-1], *size, 1), 2), -1)
        return getattr(F, f"_max_unpool{dims}d")(input, indices, (*input.shape[:-dims], *size), dims)

    return max_unpool


for _dims in (1, 2, 3):
    publish(f"max_unpool{_dims}d", _max_unpool_of(_dims))
