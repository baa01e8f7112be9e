"""Max pools whose windows begin at random places (B. Graham 2014)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....kernels.sliding import Sizes, sizes_of
from ....random import generator_of
from ....streams.uniform import uniform
from ....table.registry import F
from .pooling import publish
from .window_checks import check_filled, check_input


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


for _dims in (2, 3):
    publish(f"fractional_max_pool{_dims}d", _fractional_of(_dims))
