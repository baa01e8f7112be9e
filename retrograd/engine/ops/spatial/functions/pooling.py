"""Max pools and average pools, of windows of a given size or to a given size."""

from __future__ import annotations

import math
from typing import Any

from ....calls.refusals import refuse, refuse_kind
from ....core.registry import F
from ....kernels.sliding import Sizes, sizes_of, window_span
from ....overriding.schema_forms import FORMS, Form
from ....table.public import NN, check_tensor, public
from ....tensors.convert import checked_dim

# Checks of pools, folding and unfolding: window sizes must be positive and images must not be empty.


def check_positive(**sizes: Sizes) -> None:
    """``RuntimeError`` for a size of windows, by its name (``kernel_size``), that is not greater than zero."""
    for name, values in sizes.items():
        refuse(
            any(n <= 0 for n in values),
            f"{name.replace('_', ' ')} should be greater than zero, but got {', '.join(map(str, values))}",
        )


def check_positive_in(name: str, **sizes: Any) -> None:
    """``RuntimeError`` for a size that is not greater than zero, of a function that says its own name."""
    for size, given in sizes.items():
        value = given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given
        refuse(isinstance(value, int) and value <= 0, f"{name}() {size} must be greater than zero, but got {value}")


def check_padding(padding: Sizes) -> None:
    """``RuntimeError`` for a negative padding."""
    refuse(any(n < 0 for n in padding), f"padding should be non-negative, but got {', '.join(map(str, padding))}")


def check_filled(name: str, x: Any, dims: int, *, adaptive: bool = False) -> None:
    """``RuntimeError`` if a dimension other than the batch of ``(N, C, *spatial)`` or ``(C, *spatial)`` is empty.

    The message is that of PyTorch's pools with given windows, or of those with a given output (``adaptive``).
    """
    first = 0 if x.ndim == dims + 1 and not adaptive else 1  # (those with a given output never look at the first)
    empty = next((d for d, n in enumerate(x.shape) if not n and d >= first), None)
    if empty is None:
        return
    shape = list(x.shape)
    if adaptive:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape} "
            f"with dimension {empty} being empty"
        )
    if dims == 3:
        raise RuntimeError(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{shape} and non-batch dimension {empty - (x.ndim - dims - 1)} has length zero!"
        )
    raise RuntimeError(
        f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
        f"but got:{shape}"
    )


def check_input(x: Any, dims: int, name: str) -> None:
    """An error unless the input is ``(N, C, *spatial)`` or ``(C, *spatial)``, ``dims`` of them spatial."""
    check_tensor(name, x)
    if x.ndim in (dims + 1, dims + 2):
        return
    if name == "avg_pool2d" and x.ndim < dims + 1:
        checked_dim(-3, x.ndim)  # which dimension it looks at first
    either, shape = f"{dims + 1}D or {dims + 2}D", list(x.shape)
    if name == "max_pool1d" or name == "avg_pool2d":
        words = (
            f"{name}: Expected {either} (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
        )
    elif dims == 1:
        words = (
            f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for argument #1 'self' (while checking "
            f"arguments for {name})"
        )
    elif name.startswith("adaptive"):
        words = f"{name}(): Expected {either} tensor, but got: {shape}"
    else:
        words = f"{name}: non-empty {either} (batch mode) tensor expected for input, but got {shape}"
    raise RuntimeError(words)


# Max pools and average pools, of windows of a given size or to a given size.


def publish(name: str, function: Any, *, top: bool = False, out: bool = False) -> None:
    """Under ``nn.functional`` and, where torch has it there too, under ``torch``."""
    function.__name__ = function.__qualname__ = name
    public(name, namespace=NN, out=out)(function)
    if top:
        public(name, method=False)(function)


def _check_windows(kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    check_positive(kernel_size=kernel, dilation=dilation)
    refuse(any(s <= 0 for s in stride), "stride should not be zero")
    refuse(min(padding) < 0, f"pad must be non-negative, but got pad: {min(padding)}")
    refuse(
        any(p > k // 2 for p, k in zip(padding, window_span(kernel, dilation), strict=True)),
        f"pad should be at most half of effective kernel size, but got pad={max(padding)}, kernel_size={max(kernel)} "
        f"and dilation={max(dilation)}",
    )


def pooled_sizes(shape: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, *, ceil: bool) -> Sizes:
    """How many windows each dimension holds; ``RuntimeError`` when none."""
    spatial, channels = shape[-len(kernel) :], shape[: -len(kernel)][-1:]
    sizes = []
    for n, s, t, p in zip(spatial, window_span(kernel, dilation), stride, padding, strict=True):
        count = (n + 2 * p - s + (t - 1 if ceil else 0)) // t + 1
        if ceil and (count - 1) * t >= n + p:
            count -= 1
        sizes.append(count)
    refuse(
        any(c < 1 for c in sizes),
        f"Given input size: ({'x'.join(map(str, (*channels, *spatial)))}). Calculated output size: "
        f"({'x'.join(map(str, (*channels, *sizes)))}). Output size is too small",
    )
    return tuple(sizes)


def _asked(stride: Any, dims: int, ceil: bool) -> tuple[Sizes, bool]:
    """Stride, empty where none is given, and rounding, as PyTorch's nodes keep them."""
    return () if stride in (None, [], ()) else sizes_of(stride, dims, "stride"), ceil


def _max_how(x: Any, dims: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    kernel = sizes_of(kernel, dims, "kernel_size")
    stride = kernel if stride in (None, [], ()) else sizes_of(stride, dims, "stride")
    padding, dilation = sizes_of(padding, dims, "padding"), sizes_of(dilation, dims, "dilation")
    _check_windows(kernel, stride, padding, dilation)
    check_filled(f"max_pool{dims}d", x, dims)
    count = pooled_sizes(x.shape, kernel, stride, padding, dilation, ceil=ceil)
    return kernel, stride, padding, dilation, count


def _max_pool(x: Any, how: Any, row: str, indices: bool, asked: Any = None) -> Any:
    return getattr(F, f"{row}_and_indices")(x, how, asked) if indices else getattr(F, row)(x, how, asked)


def _form_of_max_pool(dims: int) -> Form:
    def shown(self: Any, how: Any, asked: Any = None) -> tuple[Any, ...]:
        kernel, stride, padding, dilation, _ = map(list, how)
        return self, kernel, [] if stride == kernel else stride, padding, dilation, bool(asked and asked[1])

    def taken(
        self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> tuple[Any, ...]:
        how = _max_how(self, dims, _each(kernel_size), _each(stride), _each(padding), _each(dilation), ceil_mode)
        return self, how, _asked(_each(stride), dims, ceil_mode)

    return Form(shown, taken, ([], [0] * dims, [1] * dims, False))


def _each(sizes: Any) -> Any:
    """One size for all dimensions where a list has just one."""
    return sizes[0] if isinstance(sizes, (list, tuple)) and len(sizes) == 1 else sizes


def _max_pool_of(dims: int) -> Any:
    """The public function ``max_pool1d`` to ``max_pool3d``."""

    def max_pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,  # noqa: A002
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """The largest element of each window; with ``return_indices`` also its index."""
        check_input(input, dims, f"max_pool{dims}d")
        if dims == 1:
            check_filled("max_pool1d", input, 1)
            check_positive_in("max_pool1d", kernel_size=kernel_size, stride=stride, dilation=dilation)
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
        """The largest element of each window and its index."""
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    return max_pool_with_indices


# -- averages


def _avg_pool(x: Any, dims: int, how: tuple[Any, ...]) -> Any:
    """The mean of each window; one dimension is pooled as two."""
    kernel, stride, padding, ceil, include_pad, override = how
    check_input(x, dims, f"avg_pool{dims}d")
    kernel = sizes_of(kernel, dims, "kernel_size")
    asked = _asked(stride, dims, ceil)
    stride = asked[0] or kernel
    padding = sizes_of(padding, dims, "padding")
    refuse(override == 0, "divisor must be not zero")
    _check_windows(kernel, stride, padding, (1,) * dims)
    count = pooled_sizes(x.shape, kernel, stride, padding, (1,) * dims, ceil=ceil)
    check_filled(f"avg_pool{dims}d", x, dims)
    if dims == 3 and any(n < k for n, k in zip(x.shape[-3:], kernel, strict=True)):
        (t, h, w), (kt, kh, kw) = x.shape[-3:], kernel
        raise RuntimeError(f"input image (T: {t} H: {h} W: {w}) smaller than kernel size (kT: {kt} kH: {kh} kW: {kw})")
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


def _form_of_avg_pool(dims: int) -> Form:
    def shown(self: Any, how: Any, asked: Any = None) -> tuple[Any, ...]:
        kernel, stride, padding, _, include_pad, override = how
        stride = [] if stride == kernel else list(stride)
        return self, list(kernel), stride, list(padding), bool(asked and asked[1]), include_pad, override

    def taken(
        self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        kernel, stride, padding, _, count = _max_how(
            self, dims, _each(kernel_size), _each(stride), _each(padding), 1, ceil_mode
        )
        how = kernel, stride, padding, count, count_include_pad, divisor_override
        return self, how, _asked(_each(stride), dims, ceil_mode)

    return Form(shown, taken, ([], [0] * dims, False, True, None))


# -- pools to a given size


def _target(x: Any, dims: int, output_size: Any, name: str) -> Sizes:
    """The sizes of the result: those given, or the input's where they are ``None``."""
    check_tensor(name, x)
    if x.ndim <= dims and not isinstance(output_size, int):
        raise ValueError(f"Input dimension should be at least {dims + 1}")
    check_input(x, dims, name)
    wanted = (output_size,) * dims if output_size is None or isinstance(output_size, int) else tuple(output_size)
    refuse(
        len(wanted) != dims,
        f"{name}() argument 'output_size' should contain one int (got {len(wanted)})"
        if dims == 1
        else f"{name}(): internal error: output_size.size() must be {dims}"
        if "max" in name
        else f"{name}: output_size must be {dims}",
    )
    size = tuple(n if w is None else int(w) for n, w in zip(x.shape[-dims:], wanted, strict=True))
    if "max" in name:
        refuse(any(n < 0 for n in size), f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    else:
        refuse(
            any(n < 0 for n in size),
            f"{name}: elements of output_size must be greater than or equal to 0 but received {list(size)}",
        )
    if "max" in name or any(n != 1 for n in size):  # (the mean of everything is taken by a sum)
        check_filled(name, x, dims, adaptive=True)
    return size


def _adaptive_avg_of(dims: int) -> Any:
    def adaptive_avg_pool(input: Any, output_size: Any) -> Any:  # noqa: A002
        """Means of windows chosen so that the result has ``output_size``."""
        size = _target(input, dims, output_size, f"adaptive_avg_pool{dims}d")
        return F._squeeze_dim(_means(F.unsqueeze(input, -2), (1, *size)), -2) if dims == 1 else _means(input, size)

    return adaptive_avg_pool


def _means(x: Any, size: Sizes) -> Any:
    """As in PyTorch, a single cell is a mean."""
    dims = len(size)
    if all(n == 1 for n in size):
        return F._mean_dim(x, tuple(range(-1, -dims - 1, -1)), True)
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


def _form_of_adaptive_max(dims: int) -> Form:
    """Of the pool by even divisions."""

    def taken(self: Any, output_size: Any) -> tuple[Any, ...]:
        size = _target(self, dims, output_size, f"adaptive_max_pool{dims}d")
        kernel = tuple(n // m for n, m in zip(self.shape[-dims:], size, strict=True))
        return self, (kernel, kernel, (0,) * dims, (1,) * dims, size)

    return Form(lambda self, how, asked=None: (self, list(how[-1])), taken)


def _adaptive_max_of(dims: int) -> Any:
    def adaptive_max_pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:  # noqa: A002
        """Largest elements of windows chosen so that the result has ``output_size``."""
        size = _target(input, dims, output_size, f"adaptive_max_pool{dims}d")
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


publish("avg_pool1d", avg_pool1d, top=True)
for _dims in (1, 2, 3):
    _pool = _max_pool_of(_dims)
    publish(f"max_pool{_dims}d", _pool, top=True)
    publish(f"max_pool{_dims}d_with_indices", _with_indices(_pool), top=_dims == 1)
    publish(f"adaptive_avg_pool{_dims}d", _adaptive_avg_of(_dims), top=_dims == 1)
    publish(f"adaptive_max_pool{_dims}d", _adaptive_max_of(_dims))
    publish(f"lp_pool{_dims}d", _lp_pool_of(_dims))
for _dims in (2, 3):
    publish(f"avg_pool{_dims}d", _avg_pool_of(_dims), out=True)
    FORMS[f"_avg_pool{_dims}d"] = _form_of_avg_pool(_dims)
    FORMS[f"_MaxPool{_dims}DWithIndices"] = _form_of_max_pool(_dims)
    FORMS[f"_AdaptiveMaxPool{_dims}D"] = _form_of_adaptive_max(_dims)
