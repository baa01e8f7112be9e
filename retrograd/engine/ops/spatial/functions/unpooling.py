"""The inverses of max pools, and pools whose windows begin at random places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....core.absent import known_values
from ....core.dtypes import scalar_name
from ....core.registry import F
from ....kernels.sliding import Sizes, sizes_of
from ....random import generator_of
from ....streams.uniform import uniform
from ....switches import determinism
from ....table.public import check_tensor
from .pooling import check_filled, check_input, publish

# Max pools whose windows begin at random places (B. Graham 2014).


def _starts(sample: float, n: int, kernel: int, count: int) -> Any:
    """Where the windows of a fractional pool begin in one dimension."""
    if count <= 1:
        return np.full(count, n - kernel)
    step = (n - kernel) / (count - 1)
    at = ((np.arange(count) + sample) * step).astype(np.int64) - int(sample * step)
    at[-1] = n - kernel
    return at


def _fractional_size(x: Any, dims: int, kernel: Sizes, output_size: Any, output_ratio: Any) -> Sizes:
    """The sizes of the result; ``RuntimeError`` where so many windows do not fit beside one another."""
    name, spatial = f"fractional_max_pool{dims}d", x.shape[-dims:]
    check_filled(name, x, dims, adaptive=True)
    if output_size is None:
        ratio = (output_ratio,) * dims if isinstance(output_ratio, float) else tuple(output_ratio)
        size = tuple(int(n * r) for n, r in zip(spatial, ratio, strict=True))
    else:
        single = isinstance(output_size, (int, np.integer))
        refuse(
            not single and len(output_size) != dims,
            f"{name}: output_size must either be a single Int or tuple of {dims} Ints",
        )
        size = sizes_of(output_size, dims)
    refuse(any(m < 0 for m in size), f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    spare = dims - 2  # (in three dimensions PyTorch wants an element more than the windows need)
    for n, k, m in zip(spatial, kernel, size, strict=True):
        refuse(m + k - 1 + spare > n, f"{name}(): pool size {k} too large relative to input size {n} for {m} windows")
    return size


def _drawn(x: Any, dims: int, samples: Any) -> Any:
    """Where windows begin, as numbers in ``[0, 1)`` for each plane and dimension, given or drawn."""
    lead = tuple(x.shape[:-dims])
    if samples is None:
        return uniform(generator_of(None), math.prod(lead) * dims, x._sig.numpy).reshape(*lead, dims)
    batch = (1, *lead)[-2:]
    shape = tuple(samples.shape)
    refuse(samples._sig.numpy != x._sig.numpy, "Expect _random_samples to have the same dtype as input")
    refuse(len(shape) != 3, f"Expect _random_samples to have 3 dimensions, got {len(shape)}")
    refuse(shape[0] < batch[0], "Expect _random_samples.size(0) no less then input batch size.")
    refuse(shape[1] != batch[1], "Expect _random_samples.size(1) equals to input channel size.")
    refuse(shape[2] != dims, f"Expect _random_samples.size(2) equals to {dims}; got {shape[2]}.")
    return np.asarray(samples._array)[: batch[0]].reshape(*lead, dims)


def _fractional_of(dims: int) -> Any:
    """The public function ``fractional_max_pool2d`` or ``fractional_max_pool3d``."""

    def fractional_max_pool(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,  # noqa: A002
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        """Largest elements of windows that begin at random places."""
        check_input(input, dims, f"fractional_max_pool{dims}d")
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
        kernel, spatial = sizes_of(kernel_size, dims), input.shape[-dims:]
        size = _fractional_size(input, dims, kernel, output_size, output_ratio)
        lead = tuple(input.shape[:-dims])
        drawn = _drawn(input, dims, _random_samples)
        drawn = drawn[..., ::-1] if dims == 2 else drawn
        starts = {
            plane: [_starts(float(u), n, k, m) for u, n, k, m in zip(drawn[plane], spatial, kernel, size, strict=True)]
            for plane in np.ndindex(*lead)
        }
        found = getattr(F, f"_fractional_max_pool{dims}d")(input, kernel, size, starts)
        return found if return_indices else found[0]

    return fractional_max_pool


for _pool_dims in (2, 3):
    publish(f"fractional_max_pool{_pool_dims}d", _fractional_of(_pool_dims))


# The inverses of max pools.


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
