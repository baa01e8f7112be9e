"""In-place operators: check, compute, write, raise the version counter, rewrite history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import observe
from ..aliasing.strided import address, steps
from ..aliasing.versions import share_storage, storage_of, version_of
from ..aliasing.views import gradient_edge, replay, requires_grad
from ..aliasing.write_rules import TOLERATED, check_inplace, check_operands, check_repeated, last_written
from ..core import narrow
from ..core.base import TensorBase, wrap
from ..core.batches import check_write
from ..core.bits import assign, bits_of
from ..core.dtypes import c_name, is_castable, scalar_name
from ..core.registry import F
from ..execution.fit import is_expandable_to
from ..forward_mode.forward_ad import (
    _set_fwd_grad_enabled,
    carries_tangent,
    keep_for_node,
    keep_tangent,
    stripped,
    tangent_of,
)
from ..forward_mode.forward_rules import output_tangents
from ..nodes.saved import SavedTensor
from ..overriding.aten import overload_of
from ..overriding.dispatch_classes import ask, asked_of, beneath_autograd, dispatches, is_dispatching
from ..overriding.dispatch_modes import write_beneath
from ..overriding.spelling import spelled
from ..switches import state, watchers
from ..switches.quiet import quietly
from ..switches.state import STATE
from ..table.op import OpDef
from . import narrow_calls
from .dispatch import arrays_of, compute, split_aux, tensors_in
from .history import rebase_history
from .promotion import promoted, same_dtype
from .record import edges_of, pack_saved, record
from .refusals import check_kinds, size_mismatch

_IDEMPOTENT = frozenset({"_fill_number", "_fill_tensor", "_zero", "threshold"})
"""Operators that may write overlapping tensors: they write one value, or depend on each element alone."""
before_write: list[Callable[[TensorBase], None]] = []
"""Called with each tensor that is about to be written (``allow_mutation_on_saved_tensors`` clones here)."""


def call_inplace(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply an operator to its first argument in place and return that argument.

    Raises ``RuntimeError`` where autograd forbids the write, for a result that does not fit the tensor's shape or
    dtype, and for a tensor whose elements overlap; nothing is written then.
    """
    if kwargs or len(args) != len(op.params):
        args = op.bind(args, kwargs)
    watched = bool(observe.observers)
    if watched:
        observe.notify("writing", op, args)
    try:
        return _written(op, args)
    except BaseException as error:
        if watched:
            observe.notify("refused", op.name + "_", args, error)
        raise


def _written(op: OpDef, args: tuple[Any, ...]) -> Any:
    """Write the result; without a kernel for the dtypes, a result that would not fit is rejected first."""
    try:
        return _checked(op, args)
    except NotImplementedError:
        if op.layout == "operands":
            operands = tensors_in(op, promoted(op, args) if op.promote else args)
            shape = np.broadcast_shapes(*[t._sig.shape for t in operands])
            compares = not op.kinds and op.kind == "elementwise"  # truth values fit into every dtype
            made = np.zeros((), bool if compares else operands[0]._sig.numpy)
            _fitting(op, args[0], np.broadcast_to(made, shape))
        raise


def _checked(op: OpDef, args: tuple[Any, ...]) -> Any:
    """The same with all arguments in the row's order."""
    t = args[0]
    operands = tensors_in(op, args)
    check_kinds(op, operands)
    if "dtype" in op.params:
        _check_asked_dtype(t, args[op.params.index("dtype")])
    records = _records(op, operands)
    check_inplace(t, records)
    if state.MODE and STATE.batches:
        check_write(t, operands)
    if watchers.DISPATCHING and asked_of(operands):
        return _recorded(op, args, args, operands, records)
    check_operands(op.name, t._array, _read_beside(args))
    if not _may_overlap(op, args):
        check_repeated(t._array)
    cast_args = _of_one_dtype(op, args)
    if not records and cast_args[0] is t and _fits_in_place(op, cast_args):
        return _computed_in_place(op, args, cast_args, operands)
    return _recorded(op, args, cast_args, operands, records)


def _check_asked_dtype(t: TensorBase, asked: Any) -> None:
    """``RuntimeError`` for a result in another dtype than the tensor that is to hold it."""
    have = t._sig.numpy
    want = getattr(asked, "numpy", asked)
    if want is not None and want != have:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {c_name(have)} and output tensor dtype {c_name(want)} should match"
        )


def _recorded(op: OpDef, args: tuple[Any, ...], cast_args: tuple[Any, ...], operands: list[Any], records: bool) -> Any:
    """Write, or ask dispatch handlers to, and rewrite the history of the written tensor."""
    t = args[0]
    asking = bool(STATE.dispatch_modes) or (watchers.DISPATCHING > 0 and bool(asked_of(operands)))
    edges = edges_of(op, (t, *cast_args[1:]), operands) if records else None
    kept = _kept(op, (t, *cast_args[1:]), edges)
    early = _saved_before_write(t, kept) if edges is not None else {}
    tangents, aux = (_asked if asking else _overwritten)(op, args, cast_args, kept)
    node = None
    if edges is not None:
        node = record(op, kept, edges, [t], (t._array,), aux)
        if node is not None:
            if early and node.saved is not None:
                node.saved = tuple([early.get(id(v), v) for v in node.saved])
            if op.saves_result:
                node.output_storages = {0: storage_of(t)}
            rebase_history(t, node)
            if STATE.saved_hooks or (asking and dispatches(t)):
                pack_saved(op, node, [t])
    if not asking and _pushes_result(op):  # with the history that it has now
        tangents = _new_tangent(op, kept, t, t._array, aux, operands, gradient_edge(t))
    if tangents is not None:
        _set_new_tangent(t, tangents)
        if node is not None and op.saves_result and tangents[0] is not None:
            keep_for_node(node, 0, tangents[0])
    if observe.observers:
        observe.notify("inplace", op, args, node, t, operands)
    return t


def _kept(op: OpDef, args: tuple[Any, ...], edges: Any) -> tuple[Any, ...]:
    """The operands for rules: the first one with its old value if a rule needs that."""
    needed = edges is not None and "self" in op.saved_for(edges)
    if needed or (STATE.dispatch_modes and state.FORWARD_LEVELS):
        return (_clone_of_old_value(args[0]), *args[1:])
    return args


Written = tuple["list[Any] | None", tuple[Any, ...]]
"""The new tangent, and the auxiliary values that rules need."""


def _overwritten(op: OpDef, args: tuple[Any, ...], cast_args: tuple[Any, ...], kept: tuple[Any, ...]) -> Written:
    """Compute and write."""
    t = args[0]
    outputs, aux = split_aux(op, compute(op, cast_args))
    adds = op.name == "_index_put" and args[3] is True
    new = last_written(op.name, t._array, _fitting(op, t, outputs[0]), adds)
    tangents = None if _pushes_result(op) else _new_tangent(op, kept, t, new, aux, tensors_in(op, args))
    write(t, new)
    return tangents, aux


def _pushes_result(op: OpDef) -> bool:
    """Whether the rule for tangents uses the written result."""
    return op.saves_result and op.jvp is None


def _asked(op: OpDef, args: tuple[Any, ...], cast_args: tuple[Any, ...], kept: tuple[Any, ...]) -> Written:
    """The same through the active dispatch modes."""
    aux = split_aux(op, compute(op, cast_args))[1] if op.aux else ()
    found = asked_of(tensors_in(op, args))
    if found:
        before = version_of(args[0])
        ask(overload_of(op, args, "_"), found, *spelled(op, args))
        if version_of(args[0]) == before:
            bump_version(args[0])
    else:
        write_beneath(op, args, _written_beneath)
    return _new_tangent(op, kept, args[0], None, aux, tensors_in(op, args)), aux


def _written_beneath(op: OpDef, args: tuple[Any, ...]) -> None:
    """The ``func`` that the innermost mode calls."""
    cast_args = _of_one_dtype(op, args)
    with _set_fwd_grad_enabled(False):
        _overwritten(op, args, cast_args, cast_args)


def _read_beside(args: tuple[Any, ...]) -> Iterator[TensorBase]:
    """The tensors among arguments, and in tuples of them, but for the first one, which is written."""
    for value in args[1:]:
        if isinstance(value, TensorBase):
            yield value
        elif value.__class__ is tuple:
            yield from (t for t in value if isinstance(t, TensorBase))


def _may_overlap(op: OpDef, args: tuple[Any, ...]) -> bool:
    """Whether a write to elements that share memory is harmless or tolerated."""
    if op.name == "_copy":
        return _is_same_memory(args[0], args[1])
    return op.name in _IDEMPOTENT or op.name in TOLERATED


def _records(op: OpDef, operands: list[Any]) -> bool:
    """Whether the write gets a node."""
    recording = STATE.grad_enabled and not STATE.inference
    if not (recording and op.diff_positions and operands[0]._sig.differentiable):
        return False
    return any(requires_grad(x) for x in operands)


def _of_one_dtype(op: OpDef, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return promoted(op, args) if op.promote and not same_dtype(op, args) else args


def _computed_in_place(op: OpDef, given: tuple[Any, ...], args: tuple[Any, ...], operands: list[Any]) -> Any:
    """The same without a record and without an array for the result: half the memory traffic of an optimizer step."""
    assert op.into is not None
    t = args[0]
    prepare_write(t)
    if t._sig.narrow:
        quietly(narrow_calls.computed_into, (op, arrays_of(op, args)))
    else:
        quietly(op.into, arrays_of(op, args))
    bump_version(t)
    if observe.observers:
        observe.notify("inplace", op, given, None, t, operands)
    return t


def _fits_in_place(op: OpDef, args: tuple[Any, ...]) -> bool:
    """Whether a row can write to its first operand at once: the result surely has its shape and dtype."""
    if op.into is None or state.FORWARD_LEVELS or STATE.dispatch_modes or bits_of(args[0]):
        return False
    t, other = args[:2]
    a = t._sig
    if (
        not a.differentiable
        or (a.numpy.itemsize < 4 and a.numpy is not narrow.BRAIN)
        or any(v.__class__ is complex for v in args)
    ):
        return False
    if not isinstance(other, TensorBase):
        return other.__class__ in (int, float)
    b = other._sig
    return a is b or (a.numpy is b.numpy and is_expandable_to(b.shape, a.shape))


def _is_same_memory(t: Any, other: Any) -> bool:
    """Whether two tensors are the same view of the same memory, so that copying one to the other does nothing."""
    if not isinstance(other, TensorBase):
        return False
    a, b = t._array, other._array
    return a is b or (steps(a) == steps(b) and address(a) == address(b) and a.dtype == b.dtype)


def _saved_before_write(t: Any, kept: tuple[Any, ...]) -> dict[int, SavedTensor]:
    """Records of the other operands that share the memory about to be written (``t.mul_(t)``).

    The node is made after the write, so only a record made now notices that the value has changed.
    """
    storage = t._meta.storage if t._meta is not None else None
    return {
        id(x): SavedTensor(x, edge=gradient_edge(x))
        for x in kept[1:]
        if x is t or (isinstance(x, TensorBase) and x._meta is not None and x._meta.storage is storage is not None)
    }


def prepare_write(t: TensorBase) -> None:
    """Notify observers that ``t`` is about to be written."""
    for callback in before_write:
        callback(t)


def write(t: Any, new: Any) -> None:
    """Write an array into a tensor's memory and raise the version."""
    prepare_write(t)
    assign(t, new)
    bump_version(t)


def bump_version(t: TensorBase) -> None:
    """Raise the version counter of a tensor (inference tensors have none)."""
    if t._meta is not None and t._meta.inference:
        return
    storage_of(t).bump()


def _fitting(op: OpDef, t: Any, new: Any) -> Any:
    """The result, provided that it fits the tensor."""
    shape = t._sig.shape
    if new.shape != shape and not is_expandable_to(new.shape, shape):
        if not is_expandable_to(shape, new.shape):
            raise size_mismatch([shape, new.shape], None)
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(new.shape)}; "
            "use the out-of-place form to get the larger result"
        )
    have, want = new.dtype, t._sig.numpy
    if have != want and not is_castable(have, want):
        raise RuntimeError(
            f"result type {scalar_name(have)} can't be cast to the desired output type {scalar_name(want)}"
        )
    return new


def _clone_of_old_value(t: TensorBase) -> Any:
    """A copy of the value about to be overwritten, at the old place in the graph."""
    if is_dispatching(t):
        with beneath_autograd():
            old = F.clone(t)
        old._fn = gradient_edge(t)
    else:
        old = wrap(t._array.copy(), gradient_edge(t))
    tangent = tangent_of(t)
    if tangent is not None:
        keep_tangent(old, tangent.clone())
    return old


def _new_tangent(
    op: OpDef, kept: tuple[Any, ...], t: Any, new: Any, aux: tuple[Any, ...], operands: list[Any], edge: Any = None
) -> list[Any] | None:
    if not (state.MODE and STATE.forward_grad_enabled) or STATE.inference or not carries_tangent(operands):
        return None
    have = tangent_of(t)
    if have is not None and kept[0] is t and any(map(requires_grad, (have, *operands))):  # it is overwritten and saved
        kept = (stripped(t), *kept[1:])
        keep_tangent(kept[0], have.clone())
    result = t.detach() if new is None else wrap(new, edge)
    if edge is not None:
        share_storage(result, t)
    return output_tangents(op, kept, [result], aux)


def _zeros_for(t: Any) -> Any:
    return F.zeros_like(t.detach()) if is_dispatching(t) else wrap(t._array * 0)


def _set_new_tangent(t: Any, tangents: list[Any]) -> None:
    """An existing tangent is changed in place; a view of a plain base gives the base a zero tangent first."""
    new = tangents[0]
    have = tangent_of(t)
    if new is None:
        new = _zeros_for(t)
    if have is None:
        view = t._meta.view if t._meta is not None else None
        if view is None:
            keep_tangent(t, F.expand(new, tuple(t._sig.shape)).clone())
            return
        if tangent_of(view.base) is None:
            keep_tangent(view.base, _zeros_for(view.base))
        have = replay(view.replay, tangent_of(view.base))
        keep_tangent(t, have)
    STATE.pushing = True
    try:
        have.copy_(new)
    finally:
        STATE.pushing = False
