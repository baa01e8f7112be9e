"""Creation of evenly spaced numbers, identity matrices, scalars and uninitialised tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....aliasing.strided import Geometry, zeros_like_layout
from ....calls.out_argument import created_into
from ....calls.refusals import refuse, refuse_kind
from ....core.argument_checks import checked_number, real_number
from ....core.base import TensorBase
from ....core.dtypes import dtype as Dtype  # noqa: N812
from ....core.dtypes import from_numpy_dtype, get_default_dtype, is_castable, result_dtype, to_numpy_dtype
from ....core.narrow import kind_of
from ....deprecations import discourage
from ....switches import determinism
from ....switches.quiet import quietly
from ....table.public import public
from .creating import finish, numpy_of


def _number(value: Any) -> Any:
    return value._array.item() if isinstance(value, TensorBase) else value


def _cast(values: Any, numpy: Any) -> Any:
    """Values in a dtype: what it cannot hold is infinite, without NumPy's warning."""
    return quietly(values.astype, (numpy,))


def _check_range(start: Any, end: Any, step: Any) -> None:
    refuse(step == 0 or step != step, "step must be nonzero")
    refuse(
        not (math.isfinite(start) and math.isfinite(end)),
        f"unsupported range: {start} -> {end}",
    )
    refuse(
        (end - start) * step < 0,
        "upper bound and lower bound inconsistent with step sign",
    )


@public("arange", method=False)
def arange(
    start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Evenly spaced values in ``[start, end)``."""
    start, end = (0, start) if end is None else (start, end)
    start, end, step = (real_number(_number(v)) for v in (start, end, step))
    _check_range(start, end, step)
    floating = any(isinstance(v, float) for v in (start, end, step))
    usual = get_default_dtype().numpy if floating else np.dtype(np.int64)
    numpy = numpy_of(dtype, usual if out is None else out._sig.numpy)
    refuse_kind("arange_cpu", numpy, "fiy")
    if numpy == np.int64:
        start, end, step = (int(v) for v in (start, end, step))
        if step == 0:
            raise ValueError("step must be nonzero")
    count = max(math.ceil((end - start) / step), 0)
    if kind_of(numpy) in "iu":  # whole steps from a whole number, however many there are
        start, step = int(start), int(step)
    return created_into(out, finish(_cast(start + np.arange(count) * step, numpy), requires_grad), dtype)


@public("range", method=False)
def range_(
    start: Any, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Evenly spaced values in ``[start, end]``."""
    discourage("range")
    start, end = (0, start) if end is None else (start, end)
    start, end, step = (_number(v) for v in (start, end, step))
    _check_range(start, end, step)
    values = start + np.arange(int((end - start) / step) + 1) * step
    return created_into(out, finish(_cast(values, numpy_of(dtype)), requires_grad), dtype)


def _spaced(start: Any, end: Any, steps: int, numpy: Any, kernel: str) -> Any:
    """As torch counts: forwards from the start in the first half, backwards from the end in the second.

    Integers are counted between whole numbers: the fractions of both ends are dropped first.
    """
    refuse(steps < 0, "number of steps must be non-negative")
    if steps > 1:
        refuse_kind(kernel, numpy, "fciy")
    exact = np.dtype(np.complex128) if kind_of(numpy) == "c" else np.dtype(np.float64)
    start, end = (np.asarray(_number(v)).astype(exact) for v in (start, end))
    if steps == 1:
        return start.reshape(1)
    if kind_of(numpy) in "iu":
        start, end = np.trunc(start), np.trunc(end)
    step = (end - start) / max(steps - 1, 1)
    if kind_of(numpy) == "f" and numpy.itemsize < 8:  # PyTorch rounds the step, then multiplies and adds in one
        start, end = (v.astype(numpy).astype(exact) for v in (start, end))
        step = step.astype(numpy).astype(exact)
    at = np.arange(steps)
    return np.where(at < steps // 2, start + at * step, end - (steps - 1 - at) * step)


def _spacing_dtype(start: Any, end: Any, dtype: Any) -> Any:
    if any(isinstance(v, TensorBase) and v.ndim for v in (start, end)):
        dims = [f"{name} with {v.ndim} dimension(s)" for name, v in (("start", start), ("end", end))
                if isinstance(v, TensorBase) and v.ndim]  # fmt: skip
        raise RuntimeError(f"linspace only supports 0-dimensional start and end tensors, but got {' and '.join(dims)}.")
    if dtype is None and any(isinstance(_number(v), complex) for v in (start, end)):
        return np.dtype(np.complex64 if get_default_dtype().numpy.itemsize < 8 else np.complex128)
    return numpy_of(dtype)


@public("linspace", method=False)
def linspace(
    start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """``steps`` values from ``start`` to ``end`` inclusive."""
    numpy = _spacing_dtype(start, end, dtype)
    for number in (start, end) if steps > 1 and kind_of(numpy) in "fiu" else ():
        checked_number(_number(number), numpy)
    values = _spaced(start, end, steps, numpy, "linspace_cpu")
    return created_into(out, finish(_cast(values, numpy), requires_grad), dtype)


@public("logspace", method=False)
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """``base`` to the power of ``steps`` values from ``start`` to ``end`` inclusive."""
    numpy = _spacing_dtype(start, end, dtype)
    powers = base ** _spaced(start, end, steps, numpy, "logspace_cpu")
    return created_into(out, finish(_cast(powers, numpy), requires_grad), dtype)


@public("eye", method=False)
def eye(
    n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The identity matrix."""
    refuse(n < 0, f"n must be greater or equal to 0, got {n}")
    refuse(m is not None and m < 0, f"m must be greater or equal to 0, got {m}")
    numpy = numpy_of(dtype)
    refuse_kind("eye", numpy, "fciyb")
    return created_into(out, finish(np.eye(n, m, dtype=numpy), requires_grad), dtype)


@public("scalar_tensor", method=False)
def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:  # fmt: skip
    """A 0-d tensor of the default dtype unless given."""
    return finish(_cast(np.asarray(s), numpy_of(dtype)), requires_grad)


@public("empty_permuted", method=False)
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """An uninitialised tensor whose dimensions lie in memory in the order ``physical_layout``."""
    size, order = tuple(size), tuple(physical_layout)
    refuse(
        len(order) != len(size),
        f"Number of dimensions in size does not match the length of the physical_layout: {len(size)} and {order}",
    )
    for place, dim in enumerate(order):
        refuse(
            not 0 <= dim < len(size),
            f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index {place}).  "
            "NB: negative dims not currently supported; file an issue if you want it.",
        )
    refuse(len({*order}) != len(order), "Duplicate dim not allowed")
    base = np.zeros(tuple(size[d] for d in order), numpy_of(dtype))
    determinism.fill(base)
    return finish(base.transpose(np.argsort(order)), requires_grad)


@public("new_empty_strided", function=False, aten="new_empty_strided.default")
def new_empty_strided(
    self: Any, size: Any, stride: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:  # fmt: skip
    """``torch.empty_strided`` with this tensor's dtype."""
    numpy = numpy_of(dtype, self._sig.numpy)
    refuse(
        len(size) != len(stride),
        f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})",
    )
    array = zeros_like_layout(Geometry(tuple(size), tuple(stride), 0), numpy)
    determinism.fill(array)
    return finish(array, requires_grad)


# -- dtypes of results


@public("result_type", method=False, also={"scalar": "other", "scalar1": "tensor", "scalar2": "other"})
def result_type(tensor: Any, other: Any) -> Any:
    """The dtype that an operation on two operands computes in."""
    dimensioned, zero_dim, numbers = [], [], []
    for v in (tensor, other):
        if not isinstance(v, TensorBase):
            numbers.append(v)
        elif v._sig.shape:
            dimensioned.append(v._sig.numpy)
        else:
            zero_dim.append(v._sig.numpy)
    return from_numpy_dtype(result_dtype(dimensioned, zero_dim, numbers))


@public("can_cast", method=False)
def can_cast(from_: Dtype, to: Dtype) -> bool:
    """Whether torch's rules let a result be written in a dtype: never to a smaller kind of number."""
    return is_castable(to_numpy_dtype(from_), to_numpy_dtype(to))
