"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.absent import AbsentMemory
from ...core.base import TensorBase
from ...core.dtypes import scalar_name, to_numpy_dtype
from ...core.registry import COMPOSITES, F
from ...deprecations import discourage
from ...kernels.halves import dtype_of_sums
from ...kernels.sums import column_sum, summed, sums_along
from ...rules.by_number import over
from ...table.rows import function, linear, nondifferentiable
from ...tensors.convert import dims_given


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions as a tuple of non-negative axes; ``None`` and ``()`` mean all."""
    if dim.__class__ is int and -ndim <= dim < ndim:
        return (dim % ndim,)
    if dim.__class__ is tuple and dim == (0,) and ndim:
        return (0,)
    if dim is None:
        return tuple(range(ndim))
    dims = dims_given(dim)
    if not dims:
        return tuple(range(ndim))
    axes = []
    span = max(ndim, 1)
    for d in dims:
        if not -span <= d < span:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {d})")
        axes.append(int(d) % span)
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"dim {max(axes, key=axes.count)} appears multiple times in the list of dims")
    return tuple(axes) if ndim else ()


def plane_of(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """The two axes in whose plane a diagonal lies."""
    (first,), (second,) = axes_of(dim1, ndim), axes_of(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def refuse_complex(name: str, self: Any) -> None:
    """``NotImplementedError`` for complex numbers where an order is asked for; ``sort`` looks at the dtype itself."""
    if self.dtype.kind == "c":
        if name == "sort":
            raise RuntimeError(" Sort does not support complex dtypes on CPU")
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{scalar_name(self.dtype)}': complex numbers have no order"
        )


def unsqueezed(value: Any, sizes: Any, dim: Any, keepdim: bool) -> Any:
    """What was reduced of these sizes, such that it broadcasts to them; what was reduced to one number does already."""
    if keepdim or not sizes:
        return value
    if value.__class__ is np.ndarray:
        return restored(value, sizes, dim, keepdim)
    for axis in () if dim is None or dim == () else sorted(axes_of(dim, len(sizes))):
        value = F.unsqueeze(value, axis)
    return value


def spread(g: Any, sizes: Any, dim: Any, keepdim: bool) -> Any:
    """A reduced gradient broadcast back to the shape that was reduced."""
    return F.expand(unsqueezed(g, sizes, dim, keepdim), tuple(sizes))


def held_by(self: Any, kind: Any) -> Any:
    """What a dtype takes of numbers: their real part if it is a real one; warns, as PyTorch does."""
    if self.dtype.kind != "c" or kind.kind in "cb":
        return self
    discourage("complex to real")
    return self.real


def _sum_dtype(self: Any, dtype: Any) -> Any:
    if dtype is not None:
        return to_numpy_dtype(dtype)
    have = self.dtype
    return np.dtype(np.int64) if have.kind in "biu" else have


def _sum(self: Any, dtype: Any = None) -> Any:
    """Sum of all elements."""
    kind = _sum_dtype(self, dtype)
    return summed(held_by(self, kind), dtype=kind)


def _sum_dim(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    axes = axes_of(dim, self.ndim)
    if self.ndim == 2 and dtype is None and self.dtype.char in "fd" and self.size > len(self):
        if axes == (0,):
            return column_sum(self, keepdim)
        if axes == (1,) and keepdim:
            return sums_along(self, 1)
    kind = _sum_dtype(self, dtype)
    return summed(held_by(self, kind), axes, keepdim, kind)


linear("sum", _sum, self=lambda g, self_sizes: F.expand(g, tuple(self_sizes)))
linear(
    "_sum_dim", _sum_dim, node="SumBackward1",
    self=lambda g, self_sizes, dim, keepdim: spread(g, self_sizes, dim, keepdim), layout="rows",
)  # fmt: skip


def count_of(sizes: Any, dim: Any) -> int:
    """How many elements are reduced into one."""
    n = 1
    for axis in axes_of(dim, len(sizes)):
        n *= sizes[axis]
    return n


def mean_of(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """The mean along dimensions, in a dtype or in the array's own."""
    kind = self.dtype if dtype is None else to_numpy_dtype(dtype)
    if kind.kind not in "fc":
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            "Got: "
            + {"i8": "Long", "i4": "Int", "i2": "Short", "i1": "Char", "u1": "Byte", "b1": "Bool"}.get(
                kind.str[1:], str(kind)
            )
        )
    precise = dtype_of_sums(kind)
    total = summed(held_by(self, kind), None if dim is None else axes_of(dim, self.ndim), keepdim, precise)
    return (total / precise.type(count_of(self.shape, dim))).astype(kind)


def _mean(self: Any, dtype: Any = None) -> Any:
    """Mean of all elements."""
    return mean_of(self, None, False, dtype)


def _mean_dim(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return mean_of(self, dim, keepdim, dtype)


linear(
    "mean", _mean,
    self=lambda g, self_sizes: over(F.expand(g, tuple(self_sizes)), max(count_of(self_sizes, None), 1)),
)  # fmt: skip
linear(
    "_mean_dim", _mean_dim, node="MeanBackward1",
    self=lambda g, self_sizes, dim, keepdim: over(
        spread(g, self_sizes, dim, keepdim), max(count_of(self_sizes, dim), 1)),
    layout="rows",
)  # fmt: skip


def reached(self: Any, result: Any) -> Any:
    """Which elements equal one that was chosen of all; if that is NaN, those that are NaN."""
    value = result._array if isinstance(result, TensorBase) else result
    if value.__class__ is AbsentMemory:  # nobody can look at it
        return F.logical_or(self == result, F.logical_and(F.isnan(self), F.isnan(result)))
    return F.isnan(self) if value != value else self == result


def _share(g: Any, self: Any, result: Any) -> Any:
    """The gradient of an extreme value, shared evenly among the elements that reach it."""
    hit = reached(self, result)
    share = g / F.sum(hit)
    return F._masked_fill_tensor(F.zeros_like(self), hit, share) if isinstance(g, TensorBase) else F._kept(share, hit)


def _extreme_all(name: str, reduce: Any) -> Any:
    def forward(self: Any) -> Any:
        refuse_complex(name, self)
        if not self.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        return reduce(self, axis=None)

    return forward


function("_max_all", _extreme_all("max", np.maximum.reduce), node="MaxBackward1", self=_share)
function("_min_all", _extreme_all("min", np.minimum.reduce), node="MinBackward1", self=_share)


def _extreme(choose: Any) -> Any:
    """The forward of ``max`` or ``min`` along a dimension: values and indices."""

    def forward(self: Any, dim: int, keepdim: bool = False) -> Any:
        refuse_complex(choose.__name__[3:], self)
        if self.ndim == 0:
            axes_of(dim, 0)
            return self.copy(), np.zeros((), np.int64)
        axis = axes_of(dim, self.ndim)[0]
        if not self.shape[axis]:
            raise IndexError(f"{choose.__name__[3:]}(): Expected reduction dim {axis} to have non-zero size.")
        indices = np.expand_dims(choose(self, axis), axis)
        values = np.take_along_axis(self, indices, axis)
        return (values, indices) if keepdim else (np.squeeze(values, axis), np.squeeze(indices, axis))

    return forward


def scatter_back(g: Any, self_sizes: Any, dim: int, keepdim: bool, indices: Any) -> Any:
    """Gradient of a reduction that selects elements: back to the places in ``indices``."""
    return F._value_selecting_backward(g[0], indices, tuple(self_sizes), dim, keepdim)


def _value_selecting_backward(g: Any, indices: Any, sizes: tuple[int, ...], dim: int, keepdim: bool) -> Any:
    out = np.zeros(sizes, g.dtype)
    if not sizes:
        out[...] = g
        return out
    axis = axes_of(dim, len(sizes))[0]
    if not keepdim:
        g, indices = np.expand_dims(g, axis), np.expand_dims(indices, axis)
    np.put_along_axis(out, indices, g, axis)
    return out


def _value_selecting_composed(g: Any, indices: Any, sizes: tuple[int, ...], dim: int, keepdim: bool) -> Any:
    if sizes and not keepdim:
        g, indices = F.unsqueeze(g, dim), F.unsqueeze(indices, dim)
    return F._scatter(g.new_zeros(sizes), dim, indices, g)


def taken(values: Any, indices: Any, dim: int, keepdim: bool) -> Any:
    """The elements of other values at the places that a reduction selected."""
    if keepdim or not values.ndim:
        return F.gather(values, dim, indices)
    return F._squeeze_dim(F.gather(values, dim, F.unsqueeze(indices, dim)), dim)


linear("_value_selecting_backward", _value_selecting_backward, tensors="g indices",
       node="ValueSelectingReductionBackward0",
       g=lambda g, indices, dim, keepdim: taken(g, indices, dim, keepdim))  # fmt: skip
COMPOSITES["_value_selecting_backward"] = _value_selecting_composed


def selected_tangent(primal: Any, tangents: Any, results: Any) -> Any:
    """Forward rule of a reduction that selects elements: their tangents."""
    return taken(tangents[0], results[1], primal[1], primal[2]), None


function("_max_dim", _extreme(np.argmax), node="MaxBackward0", results="values indices", nondiff=(1,),
         self=scatter_back, jvp=selected_tangent)  # fmt: skip
function("_min_dim", _extreme(np.argmin), node="MinBackward0", results="values indices", nondiff=(1,),
         self=scatter_back, jvp=selected_tangent)  # fmt: skip


def _arg(choose: Any) -> Any:
    """The forward of ``argmax`` or ``argmin``."""

    def forward(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """The index of the largest or smallest element, of all or along ``dim``."""
        if self.dtype.kind in "cb":
            kind = "complex" if self.dtype.kind == "c" else "bool"
            raise RuntimeError(f"{choose.__name__}(): does not support {kind} input")
        if not self.size and (dim is None or not self.shape[axes_of(dim, self.ndim)[0]]):
            raise IndexError(f"{choose.__name__}(): Expected reduction dim to be specified for input.numel() == 0.")
        if dim is not None and not isinstance(dim, (int, np.integer)):
            raise TypeError(f"{choose.__name__}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}")
        if not self.ndim:
            axes_of(dim, 0)
        if dim is None:
            index = np.asarray(choose(self, None))
            return index.reshape((1,) * self.ndim) if keepdim else index
        return choose(self, axes_of(dim, self.ndim)[0] if self.ndim else None, keepdims=keepdim)

    return forward


nondifferentiable("argmax", _arg(np.argmax))
nondifferentiable("argmin", _arg(np.argmin))


def _truth(found: Any, self: Any) -> Any:
    """Truth values; of ``uint8``, which once stood for them, in ``uint8``."""
    return found.astype(np.uint8) if self.dtype == np.uint8 else found


def _truth_axes(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """An empty list of dimensions is none of them here, unlike in ``sum``."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return dim if dim is None else ()
    return axes_of(dim, ndim)


def _all(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all elements are nonzero, along ``dim`` or altogether."""
    return _truth(np.all(self, axis=_truth_axes(dim, self.ndim), keepdims=keepdim), self)


def _any(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether any element is nonzero, along ``dim`` or altogether."""
    return _truth(np.any(self, axis=_truth_axes(dim, self.ndim), keepdims=keepdim), self)


nondifferentiable("all", _all, layout="rows")
nondifferentiable("any", _any, layout="rows")


def along(slope: Any, tangent: Any, dim: Any, keepdim: bool) -> Any:
    """The tangent of a real value of all elements along dimensions, by its gradient."""
    product = F.conj(slope) * tangent
    return F._sum_dim(F.real(product) if product.is_complex() else product, dim, keepdim)


def restored(value: Any, sizes: Any, dim: Any, keepdim: bool) -> Any:
    """A reduced value with its reduced dimensions back, of size one."""
    if keepdim or not sizes:
        return value
    return F.reshape(value, tuple(1 if i in axes_of(dim, len(sizes)) else n for i, n in enumerate(sizes)))
