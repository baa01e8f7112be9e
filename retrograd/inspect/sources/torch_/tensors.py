"""Numbers PyTorch's tensors in the table of one recording and describes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...program.spelling import is_name
from ...snapshot import SourceLine
from ...tensor_facts import TensorFacts
from ...tensor_table import TensorTable

_dtypes: dict[Any, str] = {}
_shapes: dict[Any, tuple[int, ...]] = {}
_MAX_SHAPES = 10_000


def number_of(
    table: TensorTable, tensor: Any, name: str = "", *, source: SourceLine | None = None, made_by: int | None = None
) -> int:
    """Return a tensor's number; one that is new gets the name if that is what a user calls a tensor."""
    known = table.known(tensor)
    if known is not None:
        return known
    facts = TensorFacts(
        shape=_shape(tensor),
        dtype=dtype_name(tensor.dtype),
        requires_grad=tensor.requires_grad,
        leaf=tensor.is_leaf,
        made_by=made_by,
        source=source,
    )
    if name and is_name(name):
        facts.name = name
    base = tensor._base if tensor._is_view() else None
    if base is not None:
        facts.view_of = table.known(base)
    return table.add(tensor, facts, memory_of(tensor))


def numbers_of(table: TensorTable, tensors: Sequence[Any], *, source: SourceLine | None = None) -> list[int]:
    """Return the numbers of several tensors, of which most are known."""
    return [
        number_of(table, tensor, source=source) if number is None else number
        for tensor, number in zip(tensors, table.numbers(tensors), strict=True)
    ]


def memory_of(tensor: Any) -> int | None:
    """Return the key of a tensor's memory, None where it has none (sparse, meta) or does not tell."""
    try:
        storage = tensor.untyped_storage()
        return storage._cdata if storage.nbytes() else None
    except Exception:
        return None


def dtype_name(dtype: Any) -> str:
    """Return a dtype's name without its library's prefix."""
    name = _dtypes.get(dtype)
    if name is None:
        name = _dtypes[dtype] = str(dtype).rpartition(".")[2]
    return name


def _shape(tensor: Any) -> tuple[int, ...]:
    """Return a shape as plain numbers; equal ones are one object.  That of a nested tensor is empty."""
    try:
        extent = tensor.shape
        known = _shapes.get(extent)
        if known is None:
            if len(_shapes) >= _MAX_SHAPES:
                _shapes.clear()
            known = _shapes[extent] = tuple(int(size) for size in extent)
    except Exception:
        return ()
    return known
