"""Max pools, their inverses, and average pools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...calls.refusals import refuse, refuse_kind
from ...kernels.sliding import Sizes, sizes_of, window_span
from ...random import rng_of
from ...table.public import NN, check_tensor, public
from ...table.registry import F


def publish(name: str, function: Any, *, top: bool = False, out: bool = False) -> None:
    """Under ``nn.functional`` and, where torch has it there too, under ``torch``."""
    function.__name__ = function.__qualname__ = name
    public(name, namespace=NN, out=out)(function)
    if top:
        public(name, method=False)(function)


def _check_input(x: Any, dims: int, name: str) -> None:
    check_tensor(name, x)
    refuse(
        x.ndim not in (dims + 1, dims + 2),
        f"{name}: Expected {dims + 1}D or {dims + 2}D input, but got input of size: {list(x.shape)}",
    )


def pooled_sizes(spatial: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, *, ceil: bool) -> Sizes:
    """How many windows each dimension holds; ``RuntimeError`` when none."""
    refuse(any(s <= 0 for s in stride), "stride should not be zero")
    refuse(
        any(p < 0 or p > k // 2 for p, k in zip(padding, window_span(kernel, dilation), strict=True)),
        f"pad should be at most half of effective kernel size, but got pad={max(padding)}, kernel_size={max(kernel)} "
        f"and dilation={max(dilation)}",
    )
    sizes = []
    for n, s, t, p in zip(spatial, window_span(kernel, dilation), stride, padding, strict=True):
        count = (n + 2 * p - s + (t - 1 if ceil else 0)) // t + 1
        if ceil and (count - 1) * t >= n + p:
            count -= 1
        sizes.append(count)
    refuse(
        any(c < 1 for c in sizes),
        f"Given input size: ({'x'.join(map(str, spatial))}). Calculated output size: ({'x'.join(map(str, sizes))}). "
        "Output size is too small",
    )
    return tuple(sizes)


def _asked(stride: Any, dims: int, ceil: bool) -> tuple[Sizes, bool]:
    """Stride, empty where none is given, and rounding, as PyTorch's nodes keep them."""
    return () if stride in (None, [], ()) else sizes_of(stride, dims, "stride"), ceil


def _max_how(x: Any, dims: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    kernel = sizes_of(kernel, dims, "kernel_size")
    stride = kernel if stride in (None, [], ()) else sizes_of(stride, dims, "stride")
    padding, dilation = sizes_of(padding, dims, "padding"), sizes_of(dilation, dims, "dilation")
    count = pooled_sizes(x.shape[-dims:], kernel, stride, padding, dilation, ceil=ceil)
    return kernel, stride, padding, dilation, count


def _max_pool(x: Any, how: Any, row: str, indices: bool, asked: Any = None) -> Any:
    return getattr(F, f"{row}_and_indices")(x, how, asked) if indices else getattr(F, row)(x, how, asked)


def _max_pool_of(dims: int) -> Any:
    """The public function ``max_pool1d`` to ``max_pool3d``."""

    def max_pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,  # noqa: A002
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """The largest element of each window; with ``return_indices`` also where it stands."""
        _check_input(input, dims, f"max_pool{dims}d")
        how = _max_how(input, dims, kernel_size, stride, padding, dilation, ceil_mode)
        asked = _asked(stride, dims, ceil_mode)
        if dims > 1:
            return _max_pool(input, how, f"_MaxPool{dims}DWithIndices", return_indices, asked)
        if not return_indices:
            refuse_kind("max_pool1d_impl", input._sig.numpy, "f")
        flat = tuple((lone, *sizes) for lone, sizes in zip((1, 1, 0, 1, 1), how, strict=True))
        asked = flat[1], ceil_mode
        found = _max_pool(F.unsqueeze(input, -2), flat, "_MaxPool2DWithIndices", return_indices, asked)
        return _without(found, -2)

    return max_pool


def _without(found: Any, dim: int) -> Any:
    return tuple([F._squeeze_dim(t, dim) for t in found]) if isinstance(found, tuple) else F._squeeze_dim(found, dim)


def _with_indices(pool: Any) -> Any:
    def max_pool_with_indices(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,  # noqa: A002
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """The largest element of each window and where it stands."""
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    return max_pool_with_indices


# -- averages


def _avg_pool(x: Any, dims: int, how: tuple[Any, ...]) -> Any:
    """The mean of each window; one dimension is pooled as two."""
    kernel, stride, padding, ceil, include_pad, override = how
    _check_input(x, dims, f"avg_pool{dims}d")
    kernel = sizes_of(kernel, dims, "kernel_size")
    asked = _asked(stride, dims, ceil)
    stride = asked[0] or kernel
    padding = sizes_of(padding, dims, "padding")
    refuse(override == 0, "divisor must be not zero")
    count = pooled_sizes(x.shape[-dims:], kernel, stride, padding, (1,) * dims, ceil=ceil)
    if dims == 1:
        flat = ((1, *kernel), (1, *stride), (0, *padding), (1, *count), include_pad, override)
        return F._squeeze_dim(F._avg_pool2d(F.unsqueeze(x, -2), flat, (flat[1], ceil)), -2)
    return getattr(F, f"_avg_pool{dims}d")(x, (kernel, stride, padding, count, include_pad, override), asked)


def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,  # noqa: A002
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window."""
    return _avg_pool(input, 1, (kernel_size, stride, padding, ceil_mode, count_include_pad, None))


def _avg_pool_of(dims: int) -> Any:
    def avg_pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,  # noqa: A002
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        """The mean of each window."""
        return _avg_pool(input, dims, (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))

    return avg_pool


# -- pools to a given size


def _target(x: Any, dims: int, output_size: Any) -> Sizes:
    wanted = (output_size,) * dims if output_size is None or isinstance(output_size, int) else tuple(output_size)
    wanted = wanted * dims if len(wanted) == 1 else wanted
    return tuple(n if w is None else int(w) for n, w in zip(x.shape[-dims:], wanted, strict=True))


def _adaptive_avg_of(dims: int) -> Any:
    def adaptive_avg_pool(input: Any, output_size: Any) -> Any:  # noqa: A002
        """Means of windows chosen so that the result has ``output_size``."""
        _check_input(input, dims, f"adaptive_avg_pool{dims}d")
        size = _target(input, dims, output_size)
        return F._squeeze_dim(_means(F.unsqueeze(input, -2), (1, *size)), -2) if dims == 1 else _means(input, size)

    return adaptive_avg_pool


def _means(x: Any, size: Sizes) -> Any:
    """As in PyTorch, a single cell is a mean."""
    dims = len(size)
    if all(n == 1 for n in size):
        return F._mean_dim(x, tuple(range(-dims, 0)), True)
    return getattr(F, f"_adaptive_avg_pool{dims}d")(x, size)


def _adaptive_max(x: Any, size: Sizes, indices: bool) -> Any:
    """Even divisions are ordinary pools, which are much faster."""
    dims, spatial = len(size), x.shape[-len(size) :]
    refuse_kind("adaptive_max_pool2d" if dims == 2 else "adaptive_max_pool3d_cpu", x._sig.numpy, "f")
    if all(m and n % m == 0 for n, m in zip(spatial, size, strict=True)) and x.numel():
        kernel = tuple(n // m for n, m in zip(spatial, size, strict=True))
        how = (kernel, kernel, (0,) * dims, (1,) * dims, size)
        return _max_pool(x, how, f"_AdaptiveMaxPool{dims}D", indices)
    found = getattr(F, f"_adaptive_max_pool{dims}d")(x, size)
    return found if indices else found[0]


def _adaptive_max_of(dims: int) -> Any:
    def adaptive_max_pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:  # noqa: A002
        """Largest elements of windows chosen so that the result has ``output_size``."""
        _check_input(input, dims, f"adaptive_max_pool{dims}d")
        size = _target(input, dims, output_size)
        if dims == 1:
            return _without(_adaptive_max(F.unsqueeze(input, -2), (1, *size), return_indices), -2)
        return _adaptive_max(input, size, return_indices)

    return adaptive_max_pool


# -- the rest


def _lp_pool_of(dims: int) -> Any:
    def lp_pool(
        input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False  # noqa: A002
    ) -> Any:  # fmt: skip
        """The p-norm of each window."""
        mean = _avg_pool(input.pow(norm_type), dims, (kernel_size, stride, 0, ceil_mode, True, None))
        area = math.prod(sizes_of(kernel_size, dims))
        return (F.sign(mean) * mean.abs().relu()).mul(area).pow(1.0 / norm_type)

    return lp_pool


def _unpooled_size(x: Any, dims: int, kernel: Any, stride: Any, padding: Any, output_size: Any) -> Sizes:
    if output_size is not None:
        return tuple(output_size)[-dims:]
    kernel = sizes_of(kernel, dims)
    stride = kernel if stride in (None, [], ()) else sizes_of(stride, dims)
    padding = sizes_of(padding, dims)
    return tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[-dims:], stride, padding, kernel, strict=True))


def _max_unpool_of(dims: int) -> Any:
    """The public function ``max_unpool1d`` to ``max_unpool3d``."""

    def max_unpool(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
        output_size: Any = None,
    ) -> Any:  # fmt: skip
        """The elements back where ``indices`` say they stood, zeros elsewhere."""
        _check_input(input, dims, f"max_unpool{dims}d")
        size = _unpooled_size(input, dims, kernel_size, stride, padding, output_size)
        refuse(
            tuple(indices.shape) != tuple(input.shape),
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}",
        )
        area = math.prod(size)
        bad = indices._array[(indices._array < 0) | (indices._array >= area)]
        refuse(
            bad.size > 0, f"Found an invalid max index: {bad.flat[0] if bad.size else 0} (output volumes are {size})"
        )
        if dims == 1:
            wide, at = F.unsqueeze(input, -1), F.unsqueeze(indices, -1)
            return F._squeeze_dim(F._max_unpool2d(wide, at, (*input.shape[:-1], *size, 1), 2), -1)
        return getattr(F, f"_max_unpool{dims}d")(input, indices, (*input.shape[:-dims], *size), dims)

    return max_unpool


def _starts(sample: float, n: int, kernel: int, count: int) -> Any:
    """Where the windows of a fractional pool begin in one dimension."""
    if count == 1:
        return np.array([n - kernel])
    step = (n - kernel) / (count - 1)
    at = ((np.arange(count) + sample) * step).astype(np.int64) - int(sample * step)
    at[-1] = n - kernel
    return at


def _fractional_of(dims: int) -> Any:
    """The public function ``fractional_max_pool2d`` or ``fractional_max_pool3d`` (B. Graham 2014)."""

    def fractional_max_pool(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,  # noqa: A002
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        """Largest elements of windows that begin at random places."""
        _check_input(input, dims, f"fractional_max_pool{dims}d")
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
        kernel, spatial = sizes_of(kernel_size, dims), input.shape[-dims:]
        if output_size is None:
            ratio = (output_ratio,) * dims if isinstance(output_ratio, float) else tuple(output_ratio)
            size = tuple(int(n * r) for n, r in zip(spatial, ratio, strict=True))
        else:
            size = sizes_of(output_size, dims)
        lead = tuple(input.shape[:-dims])
        drawn = rng_of(None).random((*lead, dims)) if _random_samples is None else _random_samples._array
        drawn = np.asarray(drawn).reshape(*lead, dims)
        drawn = drawn[..., ::-1] if dims == 2 else drawn
        starts = {
            plane: [_starts(float(u), n, k, m) for u, n, k, m in zip(drawn[plane], spatial, kernel, size, strict=True)]
            for plane in np.ndindex(*lead)
        }
        found = getattr(F, f"_fractional_max_pool{dims}d")(input, kernel, size, starts)
        return found if return_indices else found[0]

    return fractional_max_pool


publish("avg_pool1d", avg_pool1d, top=True)
for _dims in (1, 2, 3):
    _pool = _max_pool_of(_dims)
    publish(f"max_pool{_dims}d", _pool, top=True)
    publish(f"max_pool{_dims}d_with_indices", _with_indices(_pool), top=_dims == 1)
    publish(f"adaptive_avg_pool{_dims}d", _adaptive_avg_of(_dims), top=_dims == 1)
    publish(f"adaptive_max_pool{_dims}d", _adaptive_max_of(_dims))
    publish(f"lp_pool{_dims}d", _lp_pool_of(_dims))
    publish(f"max_unpool{_dims}d", _max_unpool_of(_dims))
for _dims in (2, 3):
    publish(f"avg_pool{_dims}d", _avg_pool_of(_dims), out=True)
    publish(f"fractional_max_pool{_dims}d", _fractional_of(_dims))
