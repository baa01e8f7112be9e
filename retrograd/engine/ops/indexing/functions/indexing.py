"""``tensor[index]`` and ``tensor[index] = value``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....aliasing.write_rules import check_repeated
from ....calls.inplace import call_inplace
from ....calls.promotion import cast
from ....core.argument_checks import checked_number, type_name_of
from ....core.base import TensorBase, set_array, wrap
from ....core.batches import refuse_dynamic, refuse_mask
from ....core.narrow import kind_of
from ....core.registry import OPS, F
from ....nodes.hooks import tensor_type_name
from ....switches import state
from ....switches.quiet import quietly
from ....table.public import METHODS, public
from ....tensors.convert import refuse_long_integer
from ....warning import warn


def _parts(index: Any) -> list[Any]:
    parts = index if isinstance(index, tuple) or _stands_for_tuple(index) else [index]
    return [list(part) if isinstance(part, range) else part for part in parts]


def _stands_for_tuple(index: Any) -> bool:
    """Torch's old rule: a short list with anything but numbers in it is read as the tuple of its entries."""
    if not isinstance(index, list) or len(index) >= 32:
        return False
    if not any(p is None or p is Ellipsis or isinstance(p, (TensorBase, Sequence, slice, np.ndarray)) for p in index):
        return False
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
        "use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
        "x[torch.tensor(seq)], which will result either in an error or a different result"
    )
    return True


def _is_mask_or_list(part: Any) -> bool:
    if isinstance(part, TensorBase):
        return _is_mask(part) or bool(part._sig.shape)
    return isinstance(part, (list, tuple, np.ndarray, bool))


def _is_mask(part: TensorBase) -> bool:
    """Whether an index tensor says of each place if it is meant: one of truth values, or of bytes."""
    return part._sig.numpy.char in "?B"


_INDEX_DTYPES = frozenset({"bool", "uint8", "int32", "int64"})


def _checked(part: Any) -> Any:
    """An index part as a tensor, where it is one or an array or a list; ``IndexError`` for what torch refuses."""
    if isinstance(part, TensorBase):
        numpy = part._sig.numpy
        if numpy.name not in _INDEX_DTYPES and (part.ndim or kind_of(numpy) not in "iu"):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return part
    if isinstance(part, (list, tuple)):
        part = _array_of(part)
    return wrap(_numbers_of_entries(part)) if isinstance(part, np.ndarray) else part


def _array_of(part: Any) -> Any:
    """A list of numbers, lists and tensors as an array."""
    try:
        array = np.asarray([p._array if isinstance(p, TensorBase) else p for p in part])
    except ValueError:
        raise TypeError(f"'{type(part).__name__}' object cannot be interpreted as an integer") from None
    if array.dtype == object:
        odd = next(p for p in array.flat if not isinstance(p, (int, float, complex)))
        raise RuntimeError(f"Could not infer dtype of {type(odd).__name__}")
    return array if array.size else array.astype(np.int64)


def _numbers_of_entries(array: Any) -> Any:
    """What a list or an array of NumPy says: truth values, or numbers without what is behind their point."""
    if kind_of(array.dtype) == "c":
        raise TypeError("'complex' object cannot be interpreted as an integer")
    if kind_of(array.dtype) not in "fiu" or array.dtype == np.uint8:
        return array
    return array.astype(np.int64, copy=False)


def getitem(self: Any, index: Any) -> Any:
    """Basic indices give views, index tensors and masks give copies."""
    if index.__class__ is int and self._array.ndim:  # as ``_walked`` does it, in a third of the time
        n = len(self._array)
        return F.select(self, 0, index if -n <= index < n else _position(index, self, 0, 0))
    parts = _parts(index)
    if any(_is_mask_or_list(p) for p in parts):
        view, where = _views_then_places(self, parts)
        return F._index(view, where) if where else view  # a view alone: of an array that holds one integer
    return _basic(self, parts)


def _views_then_places(self: Any, parts: list[Any]) -> tuple[Any, tuple[Any, ...]]:
    """As in torch: numbers, slices and ``None`` make a view first; index tensors and masks then read from it."""
    found: dict[int, Any] = {}
    view = _walked(self, parts, found)
    where: list[Any] = []
    dim = 0
    while found and dim <= max(found):
        part = found.get(dim)
        where.append(slice(None) if part is None else part)
        dim += part.ndim if part is not None and _is_mask(part) else 1
    return view, tuple(where)


def _check_mask(mask: Any, t: Any, dim: int) -> None:
    for i, n in enumerate(mask.shape):
        if dim + i >= t.ndim or t.shape[dim + i] != n:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(t.shape)} at index {dim + i}"
            )


def _bound(value: Any) -> int | None:
    """A bound or step of a slice; ``TypeError`` for what is not an integer."""
    if value is None or isinstance(value, TensorBase):
        return None if value is None else value.__index__()
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _basic(self: Any, parts: list[Any]) -> Any:
    """Integers, slices, ``None`` and ``...``, each as the view operator torch uses for it."""
    if len(parts) == 1 and isinstance(parts[0], slice):
        return _sliced(self, 0, parts[0])
    result = _walked(self, parts, {})
    return F.alias(result) if result is self else result


def _walked(self: Any, parts: list[Any], found: dict[int, Any]) -> Any:
    """The view that the basic parts of an index make; index tensors and masks are put in ``found`` by dimension."""
    checked = [_checked(p) if _is_mask_or_list(p) else p for p in parts]
    used = sum(_dimensions(p) for p in checked)
    if used > self.ndim:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number"
            if self.ndim == 0 and len(parts) == 1
            else f"too many indices for tensor of dimension {self.ndim}"
        )
    result, dim = self, 0
    for i, part in enumerate(checked):
        if part is Ellipsis:
            dim += self.ndim - used
        elif part is None:
            result, dim = F.unsqueeze(result, dim), dim + 1
        elif isinstance(part, slice):
            result = result if _takes_all(part, result, dim) else _sliced(result, dim, part)
            dim += 1
        elif isinstance(part, bool) or _is_one_truth(part):
            found[dim] = wrap(np.zeros(int(bool(part)), np.int64))
            result, dim = F.unsqueeze(result, dim), dim + 1
        elif isinstance(part, TensorBase) and _is_mask_or_list(part):
            if _is_mask(part):
                _check_mask(part, result, dim)
                if state.MODE:
                    refuse_mask(part)
            found[dim] = part
            dim += _dimensions(part)
        else:
            result = F.select(result, dim, _position(part, result, dim, i))
    return result


def _dimensions(part: Any) -> int:
    """How many dimensions of the tensor one part of an index consumes."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return int(part.ndim) if isinstance(part, TensorBase) and _is_mask(part) else 1


def _is_one_truth(part: Any) -> bool:
    return isinstance(part, TensorBase) and _is_mask(part) and not part.ndim


def _position(part: Any, t: Any, dim: int, named: int) -> int:
    """An index of one entry as an ``int``; ``IndexError`` for what is none or lies outside of the dimension.

    ``named`` is the dimension as PyTorch counts it: the number of the part.
    """
    value = _checked(part)
    try:
        i = int(value._array.item()) if isinstance(value, TensorBase) else value.__index__()
    except AttributeError:
        if isinstance(part, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type(part).__name__}'") from None
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type(part).__name__})"
        ) from None
    n = t.shape[dim]
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {named} with size {n}")
    return int(i)


def _sliced(t: Any, dim: int, part: slice) -> Any:
    start, stop, step = (_bound(v) for v in (part.start, part.stop, part.step))
    step = 1 if step is None else step
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    size = t.shape[dim] if t.ndim else 0  # a view that may not be used is refused before its dimensions are
    return F._slice(t, dim, *slice(start, stop).indices(size)[:2], step)


def _takes_all(part: slice, t: Any, dim: int) -> bool:
    """Whether a slice is written so that it takes all of a dimension: beside other parts it makes no view then."""
    if part.start is part.stop is part.step is None:
        return True
    start, stop, step = (_bound(v) for v in (part.start, part.stop, part.step))
    return start in (None, 0) and step in (None, 1) and bool(t.ndim) and (stop is None or stop >= t.shape[dim])


def setitem(self: Any, index: Any, value: Any) -> None:
    """Write through a view for basic indices, ``index_put_`` for index tensors and masks."""
    if index is False:
        return
    parts = _parts(None if index is True else index)
    if not isinstance(value, (TensorBase, int, float, complex, np.integer)):
        raise TypeError(f"can't assign a {type_name_of(value)} to a {tensor_type_name(self._sig)}")
    if not isinstance(value, TensorBase):
        value = _written_number(value, self._sig.numpy)
    if any(_is_mask_or_list(p) for p in parts):
        view, where = _views_then_places(self, parts)
        value = _as_fill(value, self, where)
        call_inplace(OPS["_index_put"], (view, where, value, False), {})
        return
    target = self if _is_whole(self, parts) else _basic(self, parts)
    if not isinstance(value, TensorBase):
        value = wrap(quietly(np.array, (value, self._sig.numpy)))
    _write_tensor(target, value)


def _written_number(value: Any, numpy: Any) -> Any:
    """A number that a tensor can hold; halves take all, and make infinities of those that are too large."""
    refuse_long_integer(value)
    checked = checked_number(value, np.dtype(np.float64) if numpy.itemsize == 2 and kind_of(numpy) == "f" else numpy)
    kind = kind_of(numpy)
    return bool(checked) if kind == "b" else (checked if kind == "c" else checked.real)


def _as_fill(value: Any, like: Any, where: Any) -> Any:
    """One number of another dtype in that of the tensor, if there is a mask: other index tensors do not take it."""
    is_tensor = isinstance(value, TensorBase)
    if is_tensor and value.numel() != 1:
        return value
    tensors = [p for p in where if isinstance(p, TensorBase)]
    if len(tensors) == 1 and tensors[0]._sig.numpy == np.uint8:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    if not (is_tensor and len(tensors) == 1 and _is_mask(tensors[0])):
        return value
    if value._sig.kind == "c" != like._sig.kind:
        checked_number(value._array.item(), like._sig.numpy)
    return cast(value if value.ndim < 2 else F.reshape(value, ()), like._sig.numpy)


def _is_whole(t: Any, parts: Any) -> bool:
    """Whether an index takes all of a tensor in its shape; then PyTorch writes the tensor itself, not a view."""
    kept = [p for p in parts if p is not Ellipsis]
    if len(kept) > t.ndim or not all(isinstance(p, slice) for p in kept):
        return False
    at = next((i for i, p in enumerate(parts) if p is Ellipsis), len(kept))
    dims = [*range(at), *range(t.ndim - (len(kept) - at), t.ndim)]
    return all(_takes_all(p, t, dim) for p, dim in zip(kept, dims, strict=True))


def _write_tensor(target: Any, value: Any) -> None:
    """A 0-d value fills; another shape loses its leading ones and is expanded first."""
    if value.shape == target.shape:
        copy_(target, value)
    elif not value.ndim:
        _fill_place(target, value)
    else:
        sizes = tuple(value.shape)
        while sizes and sizes[0] == 1:
            sizes = sizes[1:]
        value = F._view(value, sizes)
        copy_(target, value if value.shape == target.shape else F.expand(value, tuple(target.shape)))


def _fill_place(target: Any, value: Any) -> None:
    """Fill what an index selects, unless its elements share memory, where only a whole tensor may be filled."""
    check_repeated(target._array)
    fill_(target, value)


METHODS["__getitem__"] = getitem
METHODS["__setitem__"] = setitem


@public("copy_", function=False)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write ``src`` (broadcast, cast) into this tensor; ``src`` may be a number."""
    if isinstance(src, (bool, int, float, complex)):
        src = wrap(np.asarray(src))
    return call_inplace(OPS["_copy"], (self, src, non_blocking), {})


def _fill_row(value: Any) -> Any:
    if not isinstance(value, TensorBase):
        return OPS["_fill_number"]
    if value.ndim:
        raise RuntimeError(f"fill only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return OPS["_fill_tensor"]


@public("fill", method=False)
def fill(input: Any, value: Any) -> Any:  # noqa: A002
    """One value in the shape and dtype of ``input``."""
    made = _fill_row(value)(input, value)
    if isinstance(made._array, np.ndarray):  # one element that represents all
        whole = np.empty_like(input._array)
        whole[...] = made._array
        set_array(made, whole)
    return made


@public("fill_")
def fill_(self: Any, value: Any) -> Any:
    """Write one value everywhere."""
    return call_inplace(_fill_row(value).in_place, (self, value), {})


@public("zero_")
def zero_(self: Any) -> Any:
    """Write zeros everywhere."""
    return call_inplace(OPS["_zero"], (self,), {})


@public("index_put_")
def index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write (or add) ``values`` at index tensors."""
    where = _index_tensors(indices)
    return call_inplace(OPS["_index_put"], (self, where, _as_fill(values, self, where), accumulate), {})


def _index_tensors(indices: Any) -> tuple[Any, ...]:
    for i, part in enumerate(indices):
        if not isinstance(part, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(part).__name__}")
    return tuple([_checked(i) for i in indices])


@public("index_put")
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:  # noqa: A002
    """A copy with ``values`` written (or added) at index tensors."""
    where = _index_tensors(indices)
    return F._index_put(input, where, _as_fill(values, input, where), accumulate)


@public("nonzero", out=True, aten="nonzero.default")
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:  # noqa: A002
    """Indices of the elements that are not zero."""
    if state.MODE:
        refuse_dynamic("nonzero", input)
    found = np.nonzero(input._array) if input.ndim else (np.arange(1 if input._array else 0),)
    together = wrap(np.stack(found).T)  # a column lies together, as in PyTorch
    if as_tuple:
        return F.unbind(together, 1)
    return together if input.ndim else wrap(np.zeros((len(found[0]), 0), np.int64))


@public("nonzero_static", out=True)
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Any:  # noqa: A002
    """Indices of the first ``size`` elements that are not zero, filled up where there are fewer."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    found = np.argwhere(input._array)[:size]
    out = np.full((size, input.ndim), fill_value, np.int64)
    out[: len(found)] = found
    return wrap(out)
