"""Numbers PyTorch's tensors in the table of one recording and describes them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from ....bounded import BoundedDict
from ....program.places import SourceLine
from ....program.signals import reraise_from_handler
from ....recording.memory_parts import Part
from ....recording.tensor_facts import TensorFacts
from ....recording.tensor_table import TensorTable
from ...call_data import worthy
from ..library import LIBRARY
from ..private import private

_dtypes: dict[Any, str] = {}
_shapes: BoundedDict[Any, tuple[int, ...]] = BoundedDict(10_000)


def number_of(
    table: TensorTable, tensor: Any, name: str = "", *, source: SourceLine | None = None, made_by: int | None = None
) -> int:
    """Return a tensor's number; a new one gets the name if a user would call a tensor so."""
    known = table.known(tensor)
    return number_new(table, tensor, name, source=source, made_by=made_by) if known is None else known


def number_new(
    table: TensorTable, tensor: Any, name: str = "", *, source: SourceLine | None = None, made_by: int | None = None
) -> int:
    """Number a new tensor."""
    memory, lent, part = memory_of(tensor)
    required, base = tensor.requires_grad, tensor._base
    facts = TensorFacts(
        shape_of(tensor),
        dtype_name(tensor.dtype),
        None,
        required,
        not required or tensor.is_leaf,
        worthy(name),
        made_by=made_by,
        view_of=_wrapped_by(table, tensor) if base is None else table.known(base),
        source=source,
        layout=layout_of(tensor) if part else None,
    )
    number = table.add(tensor, facts, memory=memory)
    if lent and facts.storage is not None:
        table.lent.storages.add(facts.storage)
        _find_owner(table, number, facts, tensor, memory)
    return number


Fresh = tuple[tuple[int, ...], str, bool]
"""Shape, dtype and ``requires_grad`` of a result whose facts its note fills in; equal ones are one object."""


class Alike(NamedTuple):
    """What tensors of one shape, dtype, device and layout have in common."""

    fresh: Fresh
    size: int
    """Bytes of their entries."""
    ordinary: bool
    """Whether a call may have made one: a leaf that requires a gradient was there before."""
    near: bool
    """Whether they are strided, on the CPU."""


_alike: BoundedDict[tuple[Any, ...], Alike] = BoundedDict(10_000)
_look = attrgetter("shape", "dtype", "requires_grad", "is_leaf", "nbytes", "is_cpu", "layout")


def fresh_result(table: TensorTable, tensor: Any) -> tuple[Any, Alike] | None:
    """Return the memory of a new result of a call, and what it has in common with others.

    None for one with further facts: a view of a known tensor, a part of a memory, a trainable leaf, foreign memory.
    What a call returns as a view of something that it made itself, as ``linear`` does, is new.
    """
    base = tensor._base
    if (base is not None and table.known(base) is not None) or private().is_wrapped(tensor):
        return None
    try:
        memory, look = tensor.untyped_storage(), _look(tensor)
        alike = _alike.get(look)
        if alike is None:
            alike = _alike[look] = _looking_so(tensor, *look)
        if memory.nbytes() != alike.size or not alike.ordinary or not memory.resizable():
            return None
    except Exception as failure:  # as in ``memory_of``
        reraise_from_handler(failure)
        return None
    return memory, alike


def _looking_so(
    tensor: Any, shape: Any, dtype: Any, required: bool, leaf: bool, size: int, near: bool, layout: Any
) -> Alike:
    """Return what tensors that look like this one have in common."""
    strided = near and layout is LIBRARY.torch.strided
    return Alike((shape_of(tensor), dtype_name(dtype), required), size, size > 0 and not (required and leaf), strided)


def facts_of(fresh: Fresh, storage: int | None, name: str, row: int, source: SourceLine | None) -> TensorFacts:
    """Return the facts of a result that an event made."""
    shape, dtype, required = fresh
    return TensorFacts(shape, dtype, storage, required, not required, worthy(name), made_by=row, source=source)


def _find_owner(table: TensorTable, number: int, facts: TensorFacts, tensor: Any, memory: Any) -> None:
    """Check whether a tensor's memory is that of another tensor that was shared with others before."""
    lent = table.lent.at(memory.data_ptr())
    if lent is None or lent.owner() is memory or lent.offset % tensor.itemsize:
        return
    facts.storage, facts.view_of = lent.storage, lent.tensor
    table.lent.ways[number] = lent.way
    own, before = layout_of(tensor), lent.offset // tensor.itemsize
    facts.layout = None if own is None else (own[0] + before, *own[1:])
    if not lent.offset:
        table.shares(memory, lent.storage)


def describe_again(table: TensorTable, tensor: Any) -> None:
    """Update the facts of a tensor that got other memory."""
    memory, _, part = memory_of(tensor)
    layout = layout_of(tensor) if part else None
    table.moved(tensor, shape_of(tensor), dtype_name(tensor.dtype), layout, memory)


def _wrapped_by(table: TensorTable, tensor: Any) -> int | None:
    """Return the number of the tensor that a transform of ``torch.func`` wrapped into this one, if known."""
    names, known = private(), None
    while known is None and names.is_wrapped(tensor):
        tensor = names.unwrap(tensor)
        known = table.known(tensor)
    return known


def numbers_of(table: TensorTable, tensors: Sequence[Any], *, source: SourceLine | None = None) -> list[int]:
    """Return the numbers of several tensors, of which most are known."""
    found = table.numbers(tensors)
    if None in found:
        found = [
            number_new(table, tensor, source=source) if number is None else number
            for tensor, number in zip(tensors, found, strict=True)
        ]
    return found  # type: ignore[return-value]


def layout_of(tensor: Any) -> tuple[int, ...] | None:
    """Return a tensor's offset in its memory, and its strides."""
    try:
        return (tensor.storage_offset(), *tensor.stride())
    except Exception as failure:
        reraise_from_handler(failure)
        return None


def part_of(tensor: Any) -> Part | None:
    """Return the entries of its memory that a tensor occupies."""
    layout = layout_of(tensor)
    return None if layout is None else Part(layout[0], shape_of(tensor), layout[1:])


def memory_of(tensor: Any) -> tuple[Any, bool, bool]:
    """Return the owner of a tensor's memory, whether it is lent, and whether the tensor is only a part of it.

    The owner is PyTorch's one Python object for a storage, which lives as long as that.  None for tensors without
    memory (sparse, meta) and those that raise.
    """
    try:
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        return (storage if size else None), not storage.resizable(), bool(size) and size != tensor.nbytes
    except Exception as failure:
        reraise_from_handler(failure)
        return None, False, False


def dtype_name(dtype: Any) -> str:
    """Return a dtype's name without its library's prefix."""
    name = _dtypes.get(dtype)
    if name is None:
        name = _dtypes[dtype] = str(dtype).rpartition(".")[2]
    return name


def shape_of(tensor: Any) -> tuple[int, ...]:
    """Return a shape as plain numbers, equal ones as one object; () for a nested tensor."""
    try:
        extent = tensor.shape
        known = _shapes.get(extent)
        if known is None:
            known = _shapes[extent] = tuple(int(size) for size in extent)
    except Exception as failure:
        reraise_from_handler(failure)
        return ()
    return known
