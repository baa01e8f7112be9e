"""From Python and NumPy to tensors and back."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from .. import late, observe
from ..aliasing.owners import share
from ..aliasing.views import requires_grad
from ..calls.refusals import size_mismatch
from ..core.base import TensorBase, wrap
from ..core.bits import CONJUGATE, class_of
from ..core.dtypes import get_default_dtype, promote_types, scalar_dtype, scalar_name
from ..core.narrow import LOADED, cast, kind_of
from ..overriding.asked_functions import is_asked, scalar_of
from ..overriding.dispatch_classes import is_dispatching
from ..switches import watchers
from ..switches.quiet import quietly
from ..switches.state import STATE
from ..warning import warn_once

_MOST_DIMENSIONS: Final = 64
"""NumPy's limit."""


def dims_given(dim: Any) -> tuple[int, ...]:
    """One dimension or several as a tuple."""
    if isinstance(dim, (int, np.integer)):
        return (int(dim),)
    return tuple(dim)


def checked_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; ``IndexError`` when out of range."""
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim % span


def array_from(data: Any, numpy: np.dtype[Any] | None = None) -> Any:
    """A fresh array from numbers, nested sequences, arrays or tensors; Python floats get the default dtype."""
    if isinstance(data, TensorBase):
        return np.array(data._array, dtype=numpy)
    if isinstance(data, np.ndarray):
        refuse_foreign_bytes(data)
        return np.array(data, dtype=numpy, order="C")
    if isinstance(data, np.generic):
        return np.array(data) if numpy is None else _in_range(np.array(data), numpy)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    return _from_sequence(data, numpy)


def _from_sequence(data: Any, numpy: np.dtype[Any] | None) -> Any:
    """Nested sequences of numbers and tensors as an array; floats get the default dtype, integers int64."""
    kinds: set[Any] = set()
    plain = _without_tensors(data, kinds)
    try:
        array = np.array(plain)
    except ValueError:
        raise _refusal_of_nesting(plain) from None
    if kind_of(array.dtype) == "O" and not any(True for _ in _no_numbers(data)):
        return _of_long_integers(array, numpy)
    if kind_of(array.dtype) in "OUSmM":
        raise _untyped(data)
    if not kinds <= _PYTHON_NUMBERS:
        return _in_range(array, _common_dtype(kinds) if numpy is None else numpy)
    return _of_numbers(array, plain, numpy)


def _of_numbers(array: Any, data: Any, numpy: np.dtype[Any] | None) -> Any:
    """NumPy's array of Python numbers in the dtype that PyTorch infers for them, or the requested one."""
    kind = kind_of(array.dtype)
    if _holds_long_integers(array, data):
        return _of_long_integers(np.array(data, dtype=object), numpy)
    if kind == "c" and numpy is not None and kind_of(numpy) in "fiu":
        real = "must be real number, not complex"
        raise TypeError(real if kind_of(numpy) == "f" else "'complex' object cannot be interpreted as an integer")
    if array.dtype == np.uint64 and numpy != np.uint64 and (numpy is None or kind_of(numpy) in "iu"):
        raise _too_long()
    if numpy is None:
        numpy = array.dtype if kind == "b" else scalar_dtype({"f": 1.0, "c": 1j}.get(kind, 1))
    return _in_range(array, numpy)


def _common_dtype(kinds: set[Any]) -> np.dtype[Any]:
    """The common dtype of numbers, some of which have a dtype."""
    found = [kind if isinstance(kind, np.dtype) else scalar_dtype(kind()) for kind in kinds]
    return functools.reduce(promote_types, found)


def _in_range(array: Any, numpy: np.dtype[Any]) -> Any:
    """An array in another dtype; integers refuse what they cannot hold, the unsigned ones take negative integers."""
    kinds = kind_of(array.dtype) + kind_of(numpy)
    unchecked = kinds not in ("ii", "iu", "ui", "uu", "fi", "fu") or (kinds == "fu" and numpy.itemsize == 8)
    if array.dtype == numpy:
        return array.astype(numpy, copy=False)
    if numpy in LOADED:
        return cast(array, numpy)
    if unchecked:
        return quietly(array.astype, (numpy,))  # too large a number becomes an infinity
    limits = np.iinfo(numpy)
    least = -limits.max if kinds == "iu" else limits.min
    if numpy == np.uint64 and (array < 0).any():
        raise OverflowError("can't convert negative int to unsigned")
    if not ((array >= least) & (array <= limits.max)).all():
        raise RuntimeError(f"value cannot be converted to type {numpy.name} without overflow")
    return array.astype(numpy, copy=False)


def _holds_long_integers(array: Any, data: Any) -> bool:
    """Whether NumPy made floats of integers that have 64 bits without a sign, because others have one."""
    return array.dtype == np.float64 and _first(data).__class__ is int and bool((array >= 2.0**63).any())


def _of_long_integers(array: Any, numpy: np.dtype[Any] | None) -> Any:
    """Numbers of which some are integers of more than 64 bits: floats and truth values take them."""
    if numpy is None and any(isinstance(value, (float, complex)) for value in array.flat):
        floats = get_default_dtype()
        numpy = (floats.to_complex() if any(isinstance(value, complex) for value in array.flat) else floats).numpy
    if numpy is None or kind_of(numpy) in "iu":
        raise _too_long()
    between = {"b": np.bool_, "c": np.complex128}.get(kind_of(numpy), np.float64)
    return array.astype(between).astype(numpy)


def _too_long() -> Exception:
    return ValueError("Overflow when unpacking long long")


def refuse_long_integer(value: Any) -> None:
    """``ValueError`` for an integer that has more than 63 bits beside its sign."""
    if value.__class__ is int and not -(1 << 63) <= value < 1 << 63:
        raise _too_long()


def refuse_foreign_bytes(array: Any) -> None:
    """``ValueError`` for numbers whose bytes are in the other order, ``TypeError`` for a dtype that NumPy has not."""
    if array.dtype in LOADED:
        raise TypeError(
            f"can't convert np.ndarray of type ml_dtypes.{array.dtype.name}: convert it to float32, and the tensor back"
        )
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )


def _refusal_of_nesting(data: Any) -> Exception:
    """PyTorch's error for nested lists of different lengths: it names the first that differs from those before it."""
    level, depth = [data], 0
    while level and all(isinstance(part, list) or getattr(part, "ndim", 0) for part in level):
        lengths = [len(part) for part in level]
        for length in lengths:
            if length != lengths[0]:
                return ValueError(f"expected sequence of length {lengths[0]} at dim {depth} (got {length})")
        level, depth = [entry for part in level for entry in part], depth + 1
    if depth > _MOST_DIMENSIONS:
        return ValueError(f"lists are nested {depth} deep; NumPy's arrays have at most {_MOST_DIMENSIONS} dimensions")
    return ValueError(f"expected sequences at dim {depth}, but not all entries are: the nested lists are ragged")


def _untyped(data: Any) -> Exception:
    """PyTorch's error for the first value that is not a number."""
    wrong, first = next(_no_numbers(data), data), data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if isinstance(first, (str, bytes)):
        return ValueError(f"too many dimensions '{type(first).__name__}'")
    if isinstance(wrong, (str, bytes)):
        return TypeError(f"new(): invalid data type '{type(wrong).__name__}'")
    return RuntimeError(f"Could not infer dtype of {type(wrong).__name__}")


def _no_numbers(data: Any) -> Iterator[Any]:
    """The entries of nested sequences that are neither numbers, tensors nor sequences, in their order."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (list, tuple)):
            waiting.extend(reversed(value))
        elif not isinstance(value, (bool, int, float, complex, np.number, np.bool_, np.ndarray, TensorBase)):
            yield value


def _without_tensors(data: Any, kinds: set[Any]) -> Any:
    """Nested sequences with numbers in place of tensors; ``kinds`` gets the dtype of each entry, or its class."""
    if isinstance(data, (list, tuple)):
        classes = set(map(type, data))
        if classes <= _PYTHON_NUMBERS:
            kinds |= classes
            return data
        return [_without_tensors(d, kinds) for d in data]
    if isinstance(data, TensorBase):
        kinds.add(data._sig.numpy)
        return _only_number(data)
    if isinstance(data, (np.generic, np.ndarray)):
        kinds.add(data.dtype)
    elif data.__class__ in _PYTHON_NUMBERS:
        kinds.add(data.__class__)
    return data


_PYTHON_NUMBERS: Final = {float, int, bool, complex}


def _only_number(t: Any) -> Any:
    """The number of a tensor among numbers; it must have exactly one element."""
    if t._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    _warn_scalar(t)
    return t.item() if is_dispatching(t) else t._array.reshape(())[()]


def _first(data: Any) -> Any:
    """The first element of nested sequences."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


# -- out of the engine


def reported(reason: str, t: TensorBase, result: Any) -> Any:
    """``result``, after notifying observers that the graph ends there."""
    if observe.observers:
        observe.notify("cut", reason, t, result)
    return result


def refusal(name: str, t: TensorBase, text: str) -> RuntimeError:
    """The error to raise, after notifying observers."""
    error = RuntimeError(text)
    observe.notify("refused", name, (t,), error)
    return error


def to_numpy(t: Any, *, force: bool = False) -> Any:
    """The array itself, sharing memory; ``RuntimeError`` for a tensor that requires grad, unless in ``no_grad``."""
    if watchers.DISPATCHING and is_dispatching(t):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    if t._fn is not None and not force and STATE.grad_enabled and requires_grad(t):
        raise refusal(
            "numpy", t, "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    bits = 0 if t._meta is None else t._meta.bits
    if bits and not force:
        kind, name = ("conjugate", "conj") if bits & CONJUGATE else ("negative", "neg")
        text = f"Can't call numpy() on Tensor that has {kind} bit set. Use tensor.resolve_{name}().numpy() instead."
        raise refusal("numpy", t, text)
    if LOADED and t._array.dtype in LOADED:
        raise TypeError(
            f"Got unsupported ScalarType {scalar_name(t._array.dtype)}: NumPy has no such dtype; write .float().numpy()"
        )
    share(t._array)
    return reported("numpy", t, t._array) if observe.observers else t._array


def array_protocol(t: Any, dtype: Any = None, copy: Any = None) -> Any:  # noqa: A002
    """The result of ``np.asarray(tensor)``."""
    array = to_numpy(t)
    return array if dtype is None else array.astype(dtype, copy=False)


def wrapped_result(t: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """The result of a NumPy function that was called with a tensor: a tensor, with PyTorch's booleans."""
    return wrap(array.astype(np.uint8) if array.dtype == bool else array)


def tolist(t: Any) -> Any:
    """Nested lists of Python numbers."""
    if is_dispatching(t):
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(t).__name__}")
    return reported("tolist", t, t._array.tolist())


def item(t: Any) -> Any:
    """The only element as a Python number."""
    if is_asked(t):
        return scalar_of(t)
    if t._array.size != 1:
        raise RuntimeError(f"a Tensor with {t._array.size} elements cannot be converted to Scalar")
    return reported("item", t, t._array.item())


def _warn_scalar(t: Any) -> None:
    if requires_grad(t):
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
            "tensor.detach() first."
        )


def to_float(t: Any) -> float:
    """``float(tensor)``; warns when it requires grad."""
    _warn_scalar(t)
    return float(_real(_only(t), "double"))


def to_int(t: Any) -> int:
    """``int(tensor)``."""
    return int(_real(_only(t), "int64_t"))


def _real(value: Any, wanted: str) -> Any:
    """The real part of a complex number that has no other; ``wanted`` is what PyTorch calls the type asked for."""
    if not isinstance(value, (complex, np.complexfloating)):
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {wanted} without overflow")
    return value.real


def to_complex(t: Any) -> complex:
    """``complex(tensor)``; warns when it requires grad."""
    _warn_scalar(t)
    return complex(_only(t))


def _only(t: Any) -> Any:
    if t._array.size != 1:
        raise ValueError(
            f"only one element tensors can be converted to Python scalars, but this one has {t._array.size}"
        )
    return item(t)


def length(t: Any) -> int:
    """``len(tensor)``: the size of its first dimension."""
    if not t._sig.shape:
        raise TypeError("len() of a 0-d tensor")
    return int(t._sig.shape[0])


def formatted(t: Any, spec: str) -> str:
    """``format(tensor, spec)``: one without dimensions, and of no subclass, as its number."""
    plain = not t._sig.shape and class_of(t) is late.tensor_class
    return format(t.item(), spec) if plain else object.__format__(t, spec)


def to_index(t: Any) -> int:
    """A one-element integer tensor as an index."""
    value = item(t) if t._array.size == 1 else None
    if not isinstance(value, int):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(value)


def to_bool(t: Any) -> bool:
    """The truth of the only element."""
    if t._array.size > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if not t._array.size:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if is_asked(t):
        return bool(scalar_of(t))
    return bool(t._array.any())


def contains(t: Any, value: Any) -> bool:
    """Whether some element equals a tensor or number; ``RuntimeError`` for anything else."""
    if not isinstance(value, (TensorBase, int, float, complex, np.generic)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}.")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError("int too big to convert")
    wanted = value._array if isinstance(value, TensorBase) else value
    if not isinstance(value, TensorBase) and t._array.dtype in LOADED:
        wanted = t._array.dtype.type(value)
    try:
        return bool(np.any(t._array == wanted))
    except ValueError as error:
        raise size_mismatch([t._sig.shape, np.shape(wanted)], error) from None
