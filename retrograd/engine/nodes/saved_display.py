"""How nodes show their saved tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliasing import storage
from ..core.argument_checks import Number
from ..core.base import TensorBase, wrap
from ..core.size import Size
from .node import GraphNode
from .opnode import FREED, OpNode
from .saved import SECOND_TIME, SavedTensor, check_input, unpack_output
from .shown_names import SHOWN

# Facts that a node can save instead of an operand, such as its sizes; rules name them `<operand>_<kind>`.

KINDS = {
    "_sizes": "{}._sig.shape",
    "_options": "{}._sig",
    "_by_columns": "{}._array.flags.fnc",
}
"""Ending of the name -> how it is read off a tensor: its shape, its shape and dtype, or whether it is a matrix that is
laid out by columns (and not also by rows)."""


def parts(name: str) -> tuple[str, str]:
    """The operand and the kind in a name; the kind is empty for any other name."""
    for kind in KINDS:
        if name.endswith(kind):
            return name.removesuffix(kind), kind
    return name, ""


def read(kind: str, t: Any) -> Any:
    """The value of this kind for one operand; of a Python number or ``None`` only the shape is known."""
    if kind == "_sizes":
        return t._sig.shape if hasattr(t, "_sig") else ()
    return t._sig if kind == "_options" else hasattr(t, "_array") and t._array.flags.fnc


# Gives nodes `_saved_<name>` and `_raw_saved_<name>` attributes with the saved values, as PyTorch has them.

_KINDS = ("", "_sizes")
"""Kinds of saved values that PyTorch shows, too."""
_LISTS = frozenset({
    "SumBackward1", "MeanBackward1", "NansumBackward0", "VarBackward0", "StdBackward0", "VarMeanBackward0",
    "StdMeanBackward0", "AmaxBackward0", "AminBackward0", "LogsumexpBackward0", "LinalgVectorNormBackward0",
    "FlipBackward0", "RollBackward0", "SqueezeBackward2", "NormBackward1", "NormBackward3", "NormBackward4",
})  # fmt: skip
"""Nodes whose dimensions are a list in PyTorch, even a single one."""
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_WHOLE = frozenset({
    "dim", "dims", "dim0", "dim1", "dim2", "dimension", "shifts", "ignore_index", "padding_idx", "offset", "pad",
    "index", "diagonal", "k", "input_lengths", "target_lengths",
})  # fmt: skip
"""Parameters that are whole numbers in PyTorch and never a ``Scalar``."""


def show_saved_values(cls: type[OpNode]) -> None:
    """Give a row's node class a property for each name under which PyTorch shows something that the node keeps.

    They are properties and not a ``__getattr__``: with one, CPython cannot specialize any attribute of a node, and
    a backward of small operations takes twice as long.
    """
    op = cls.op
    hidden, instead = SHOWN.get(op.node_name, ("", {}))
    for name in op.saved_names:
        if parts(name)[1] in _KINDS and name not in hidden.split():
            _show(cls, name.replace("_sizes", "_sym_sizes"), name, None)
    for name, source in {**instead, **op.shown}.items():
        if isinstance(source, str):
            saved, _, part = source.rstrip("]").partition("[")
            if saved in op.saved_names:
                _show(cls, name, saved, int(part) if part else None)
            continue
        asked = source.__code__.co_varnames[: source.__code__.co_argcount]
        if set(asked) <= set(op.saved_names):  # (rows of other overloads may show the same node)
            setattr(cls, "_saved_" + name, _read_by(source, asked))


def _show(cls: type[OpNode], name: str, saved: str, part: int | None) -> None:
    """Show a saved value, or one part of several results."""
    setattr(cls, "_saved_" + name, property(lambda node: _part(shown_value(node, saved), part)))
    if saved in cls.op.tensor_saved:
        setattr(cls, "_raw_saved_" + name, property(lambda node: shown_handle(node, saved, part)))


def _part(value: Any, part: int | None) -> Any:
    return value if part is None else value[part]


def _read_by(read: Callable[..., Any], asked: tuple[str, ...]) -> property:
    return property(lambda node: read(*[shown_value(node, name) for name in asked]))


def shown_value(node: OpNode, name: str) -> Any:
    """The saved value as PyTorch shows it; ``RuntimeError`` for a tensor that backward has freed."""
    value = _kept(node, name)
    op = node.op
    if value is FREED:
        if name not in op.saved_for(node._edges):
            return None
        raise RuntimeError(SECOND_TIME)
    if name in op.for_hooks and not isinstance(value, SavedTensor):
        return _seen_by_hooks(node, name)
    if name in op.array_lists:
        return shown_parameter(op.node_name, name, tuple([node._read_tensor("", part) for part in value]))
    value = node._read_tensor(name, value)
    if name in op.tensor_saved and isinstance(value, (bool, int, float, complex)):
        if name in op.aux and node._sigs[0] is not None:
            return wrap(np.asarray(value, node._sigs[0].numpy))
        return wrapped_number(value)
    if name in op.tensor_saved and name not in op.array_names:
        return value
    if name in op.array_names and isinstance(value, np.ndarray):
        return wrap(value)
    return shown_parameter(op.node_name, name, value)


def _seen_by_hooks(node: OpNode, name: str) -> Any:
    names = node.op.saved_names
    return wrap(node.op.seen_by_hooks(name, lambda place: node._read_array(names[place], _kept(node, names[place]))))


def _kept(node: OpNode, name: str) -> Any:
    """The value in a slot; a number among the operands in its original form."""
    value = getattr(node, "kept_" + name)
    return value.value if value.__class__ is Number else value


def shown_handle(node: OpNode, name: str, part: int | None = None) -> Any:
    """The record of a saved tensor, on which hooks can be set after the fact; of a list of tensors a tuple of them."""
    value = _kept(node, name)
    if value is FREED:
        if name in node.op.lists or name in node.op.array_lists:
            raise RuntimeError(SECOND_TIME)
        handle = SavedTensor(None)
        handle.release()
        return handle
    if name in node.op.for_hooks and not isinstance(value, SavedTensor):
        value = _seen_by_hooks(node, name)
    several = isinstance(value, (list, tuple))
    values = value if several else (value,)
    handles = [_as_handle(node, name, v, nr) for nr, v in enumerate(values)]
    kept = [v if v is None or isinstance(v, slice) else handle for v, handle in zip(values, handles, strict=True)]
    setattr(node, "kept_" + name, type(value)(kept) if several else kept[0])
    storage.stamp_write()  # only ``_run`` reads handles: it is asked from now on
    return (tuple(handles) if part is None else handles[part]) if several else handles[0]


def _as_handle(node: OpNode, name: str, value: Any, nr: int) -> Any:
    """Turn a plainly kept value into a record."""
    if isinstance(value, SavedTensor):
        return value
    if isinstance(value, TensorBase):
        check_input(value, node._number)
        edge = value._fn if isinstance(value._fn, GraphNode) or hasattr(value._fn, "nr") else None
        return SavedTensor(value, edge=edge)
    results = node.op.results
    if (name == "result" or name in results) and value is not None:
        nr = nr if name == "result" else results.index(name)
        if node._sigs[nr] is None:
            return SavedTensor(wrap(value))
        return SavedTensor(unpack_output(value, node, nr), is_output=True, nr=nr)
    if isinstance(value, np.ndarray):
        return SavedTensor(wrap(value))
    missing = value is None or isinstance(value, slice)  # among indices, a slice stands where PyTorch has no tensor
    return SavedTensor(None if missing else wrapped_number(value))


def shown_parameter(node_name: str, name: str, value: Any) -> Any:
    """A saved parameter: sizes and indices as tuples, negative numbers wrapped around.

    PyTorch reads dimensions and ``ignore_index`` as unsigned numbers of 64 bits: -1 is 18446744073709551615.
    """
    if name == "indices" and not isinstance(value, np.ndarray):
        return shown_indices(value)
    if name == "reduction":
        return _REDUCTIONS.get(value, value)
    if isinstance(value, Size):
        return tuple(value)
    if name in _WHOLE:
        if node_name in _LISTS and isinstance(value, int):
            value = (value,)
        several = isinstance(value, (tuple, list, np.ndarray))
        return tuple([_unsigned(v) for v in value]) if several else _unsigned(value)
    return value


def _unsigned(value: Any) -> Any:
    return int(value) % 2**64 if isinstance(value, (int, np.integer)) else value


def shown_indices(value: Any) -> tuple[Any, ...]:
    """The tensors among the indices of ``x[...]``, ``None`` for whole dimensions."""
    parts = value if isinstance(value, tuple) else (value,)
    return tuple([_index_tensor(p) for p in parts])


def _index_tensor(index: Any) -> Any:
    if isinstance(index, TensorBase):
        return index
    return wrap(np.asarray(index)) if isinstance(index, (np.ndarray, list, np.generic)) else None


def wrapped_number(value: Any) -> Any:
    """A Python number as a 0-d tensor that counts as a number in promotions."""
    t = wrap(np.asarray(value))
    t.need_meta().wrapped_number = True
    return t
