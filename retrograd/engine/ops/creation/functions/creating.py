"""Creation, complex parts and comparison."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .... import observe
from ....aliasing.memory_formats import check_memory_format, laid_out, made_like, strides_in
from ....aliasing.owners import share
from ....aliasing.strided import Geometry, zeros_like_layout
from ....aliasing.views import requires_grad as wants_grad
from ....calls.out_argument import created_into
from ....calls.refusals import refuse, size_mismatch
from ....calls.result_layout import arranged
from ....core.argument_checks import checked_number
from ....core.base import LAZY, TensorBase, set_array, wrap
from ....core.batches import refuse_comparison, spread
from ....core.bits import CONJUGATE, bits_of, memory_of
from ....core.devices import check_present
from ....core.dtypes import get_default_dtype, scalar_name, to_numpy_dtype
from ....core.layouts import preserve_format
from ....core.registry import COMPOSITES, F
from ....core.size import Size
from ....deprecations import discourage
from ....switches import determinism
from ....switches.state import STATE
from ....table.public import SETTERS, check_tensor, property_, public
from ....tensors.convert import array_from, refuse_foreign_bytes
from ....warning import warn
from .copying import to

_ALLOCATING = (np.empty,)


def finish(array: Any, requires_grad: bool = False, *, unwritten: bool = False, like: Any = None) -> Any:
    """A leaf around a fresh array, which may be memory that nobody has written; made ``like`` an entry, it is one."""
    t = wrap(array)
    if like is not None and STATE.batches:
        spread((like,), (t,))
    if STATE.inference:
        t.need_meta().inference = True
    if requires_grad:
        if not t._sig.differentiable:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t.need_meta().requires_grad = True
        t._fn = LAZY
    if unwritten and determinism.level:
        determinism.fill(array)
    if observe.observers:
        observe.notify("allocated" if unwritten else "created", t)
    return t


def sizes_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as a sequence; ``RuntimeError`` for a negative one."""
    if len(size) == 1 and isinstance(size[0], (tuple, list, Size)):
        size = tuple(size[0])
    sizes = tuple([int(s) for s in size])
    for s in sizes:
        if s < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {s}: {list(sizes)}")
    return sizes


def numpy_of(given: Any, default: Any = None) -> Any:
    """NumPy's dtype for a ``dtype=`` argument."""
    if given is not None:
        return to_numpy_dtype(given)
    return get_default_dtype().numpy if default is None else default


@public("tensor", method=False)
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:  # noqa: A002
    """A leaf with a copy of the data."""
    if isinstance(data, TensorBase):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
        )
    made = finish(array_from(data, None if dtype is None else to_numpy_dtype(dtype)), requires_grad)
    if observe.observers:
        observe.notify("copied", data, made)
    return made


@public("as_tensor", method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:  # noqa: A002
    """A tensor sharing the data's memory when possible."""
    if isinstance(data, TensorBase):
        return data if dtype is None else to(data, dtype)
    if isinstance(data, np.ndarray) and (dtype is None or to_numpy_dtype(dtype) == data.dtype):
        return from_numpy(data)
    return tensor(data, dtype=dtype)


@public("from_numpy", method=False)
def from_numpy(ndarray: Any) -> Any:
    """A tensor on an array's own memory."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    refuse_foreign_bytes(ndarray)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if not ndarray.flags.writeable:
        discourage("read-only array")
    share(ndarray)
    return finish(ndarray)


def _filled(make: Any) -> Any:
    """The public function that makes a tensor as NumPy's ``make`` makes an array."""

    def create(
        *size: Any,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **kwargs: Any,
    ) -> Any:
        size = (kwargs["size"],) if "size" in kwargs else size
        made = finish(make(sizes_of(size), numpy_of(dtype)), requires_grad, unwritten=make in _ALLOCATING)
        return created_into(out, made, dtype)

    create.__name__ = create.__qualname__ = make.__name__
    create.__doc__ = f"A tensor like ``numpy.{make.__name__}``."
    return create


zeros = public("zeros", method=False)(_filled(np.zeros))
ones = public("ones", method=False)(_filled(np.ones))
_empty = _filled(np.empty)


@public("empty", method=False)
def empty(*size: Any, memory_format: Any = None, **how: Any) -> Any:
    """A tensor like ``numpy.empty``, in a memory format."""
    check_memory_format("empty", memory_format)
    if memory_format == preserve_format:
        raise RuntimeError("unsupported memory format Preserve: there is no tensor whose format could be kept")
    made = _empty(*size, **how)
    if memory_format is not None:
        set_array(
            made, laid_out(made.shape, strides_in(made.shape, memory_format), partial(np.empty, dtype=made._sig.numpy))
        )
        determinism.fill(made._array)
    return made


@public("full", method=False)
def full(
    size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A tensor of one value; its dtype follows the value unless given."""
    value = fill_value.item() if isinstance(fill_value, (TensorBase, np.generic)) else fill_value
    numpy = to_numpy_dtype(dtype) if dtype is not None else array_from(value).dtype
    made = np.full(sizes_of((size,)), checked_number(value, numpy), numpy)
    return created_into(out, finish(made, requires_grad), dtype)


@public("empty_strided", method=False)
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:  # noqa: A002
    """An uninitialised tensor with the given strides."""
    size, stride = tuple(size), tuple(stride)
    refuse(
        len(size) != len(stride),
        f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})",
    )
    refuse(
        any(step < 0 for step in stride),
        f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}",
    )
    array = zeros_like_layout(Geometry(size, stride, 0), numpy_of(dtype))
    determinism.fill(array)
    return finish(array, requires_grad)


def _like(make: Any) -> Any:
    def create(input: Any, *args: Any, dtype: Any = None, layout: Any = None, device: Any = None,  # noqa: A002
               requires_grad: bool = False, memory_format: Any = None) -> Any:  # fmt: skip
        check_tensor(name, input)
        check_memory_format(name, memory_format)
        numpy = numpy_of(dtype, input._sig.numpy)
        array = made_like(memory_of(input), memory_format, lambda shape: make(shape, *args, dtype=numpy))
        return finish(array, requires_grad, unwritten=make in _ALLOCATING, like=input)

    name = create.__name__ = create.__qualname__ = f"{make.__name__}_like"
    create.__doc__ = f"A tensor like ``numpy.{name}``, laid out as ``input`` is or in a memory format."
    return create


zeros_like = public("zeros_like", method=False, aten="zeros_like.default")(_like(np.zeros))
ones_like = public("ones_like", method=False, aten="ones_like.default")(_like(np.ones))
empty_like = public("empty_like", method=False, aten="empty_like.default")(_like(np.empty))
_filled_like = _like(np.full)


@public("full_like", method=False, aten="full_like.default")
def full_like(input: Any, fill_value: Any, **how: Any) -> Any:  # noqa: A002
    """A tensor of one value, shaped like ``input``."""
    value = fill_value.item() if isinstance(fill_value, TensorBase) else fill_value
    return _filled_like(input, checked_number(value, numpy_of(how.get("dtype"), input._sig.numpy)), **how)


def _new(make: Any) -> Any:
    def create(
        self: Any, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:  # fmt: skip
        array = make(sizes_of(size), numpy_of(dtype, self._sig.numpy))
        return finish(array, requires_grad, unwritten=make in _ALLOCATING, like=self)

    create.__doc__ = f"``torch.{make.__name__}`` with this tensor's dtype."
    return create


public("new_zeros", function=False, aten="new_zeros.default")(_new(np.zeros))
public("new_ones", function=False, aten="new_ones.default")(_new(np.ones))
public("new_empty", function=False, aten="new_empty.default")(_new(np.empty))


@public("new_full", function=False, aten="new_full.default")
def new_full(
    self: Any, size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """``torch.full`` with this tensor's dtype."""
    numpy = numpy_of(dtype, self._sig.numpy)
    value = fill_value.item() if isinstance(fill_value, TensorBase) else fill_value
    return finish(np.full(sizes_of((size,)), checked_number(value, numpy), numpy), requires_grad, like=self)


@public("new_tensor", function=False)
def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:  # noqa: A002
    """``torch.tensor`` with this tensor's dtype."""
    if isinstance(data, TensorBase):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor)."
        )
    return finish(array_from(data, numpy_of(dtype, self._sig.numpy)), requires_grad)


@public("new", function=False)
def new(self: Any, *given: Any, size: Any = None, data: Any = None, other: Any = None, device: Any = None) -> Any:
    """Old constructor: sizes or data."""
    data = other if data is None else data
    if device is not None:
        check_present(device)
    if size is not None:
        given = tuple(size)
    if given and not isinstance(given[0], (int, Size)):
        if isinstance(given[0], (float, complex)):
            raise TypeError(f"new(): data must be a sequence (got {type(given[0]).__name__})")
        data = given[0]
    if isinstance(data, TensorBase) and data._sig.numpy != self._sig.numpy:
        raise TypeError(f"new(): expected a tensor of {self.dtype}, but got one of {data.dtype}")
    if hasattr(data, "untyped"):  # a storage, whose memory the tensor shares
        return wrap(np.zeros(0, self._sig.numpy)).set_(data)
    if data is not None:
        return finish(array_from(data, self._sig.numpy))
    return finish(np.zeros(sizes_of(given) if given else (0,), self._sig.numpy))


@property_("real")
def real(self: Any) -> Any:
    """The real part (a view); a real tensor itself."""
    return F.select(_parts(self), self.ndim, 0) if self._sig.kind == "c" else self


@property_("imag")
def imag(self: Any) -> Any:
    """The imaginary part (a view)."""
    if self._sig.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return F.select(F._neg_view(_parts(self)) if bits_of(self) & CONJUGATE else _parts(self), self.ndim, 1)


def _parts(self: Any) -> Any:
    """Real and imaginary parts as stored in memory."""
    return F.view_as_real(F._conj(self) if bits_of(self) & CONJUGATE else self)


COMPOSITES.update(real=real, imag=imag)
public("real", method=False)(lambda input: real(input))  # noqa: A006
public("imag", method=False)(lambda input: imag(input))  # noqa: A006


@public("allclose", aten="allclose.default")
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:  # noqa: A002
    """Whether all elements agree within ``atol + rtol * |other|``."""
    _check_alike("allclose", input, other)
    _check_tolerances(rtol, atol)
    refuse_comparison("allclose", input, other)
    _tell_of_comparison("allclose", input, other)
    return bool(np.allclose(input._array, other._array, rtol, atol, equal_nan))


@public("equal", aten="equal.default")
def equal(input: Any, other: Any) -> bool:  # noqa: A002
    """Whether shape and all elements are equal."""
    check_tensor("equal", input)
    check_tensor("equal", other, 2, "other")
    refuse_comparison("equal", input, other)
    _tell_of_comparison("equal", input, other)
    return input._sig.shape == other._sig.shape and bool(np.array_equal(input._array, other._array))


@public("isclose", aten="isclose.default")
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:  # noqa: A002
    """Element-wise ``allclose``."""
    _check_alike("isclose", input, other)
    _check_tolerances(rtol, atol)
    operands = (input._array, other._array)
    return wrap(arranged("operands", np.asarray(np.isclose(*operands, rtol, atol, equal_nan)), operands))


def _tell_of_comparison(name: str, input: Any, other: Any) -> None:  # noqa: A002
    """Tell observers of a call whose result is not a tensor."""
    if observe.observers:
        observe.notify("compared", name, input, other)


def _check_tolerances(rtol: float, atol: float) -> None:
    for place, (name, value) in enumerate((("rtol", rtol), ("atol", atol)), 3):
        if isinstance(value, TensorBase) and wants_grad(value):
            raise TypeError(f"isclose(): argument '{name}' (position {place}) must be float, not Tensor")
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")


def _check_alike(name: str, input: Any, other: Any) -> None:  # noqa: A002
    check_tensor(name, input)
    check_tensor(name, other, 2, "other")
    if input._sig.numpy != other._sig.numpy:
        raise RuntimeError(f"{scalar_name(input._sig.numpy)} did not match {scalar_name(other._sig.numpy)}")
    try:
        np.broadcast_shapes(input.shape, other.shape)
    except ValueError as error:
        raise size_mismatch([input.shape, other.shape], error) from None


def _set_part(part: str) -> Callable[[Any, Any], None]:
    def write(self: Any, value: Any) -> None:
        """Write one part of a complex tensor in place."""
        getattr(self, part).copy_(value)

    return write


SETTERS.update({part: _set_part(part) for part in ("real", "imag")})
