"""The general path of a call: promote, compute, record, propagate tangents, notify observers."""

from __future__ import annotations

import functools
from time import perf_counter_ns as now
from typing import Any

import numpy as np

from .. import late, observe
from ..aliasing.views import make_views
from ..core import batches
from ..core.base import CreationTag, TensorBase, are_plain, is_inference, wrap
from ..core.bits import bits_of, mark, memory_of
from ..core.narrow import LOADED
from ..forward_mode.forward_ad import carries_tangent
from ..forward_mode.forward_rules import propagate
from ..frames import is_from_elsewhere
from ..generated.fast_path import with_fast_path
from ..nodes.node import edge_to
from ..overriding import aten, overrides
from ..overriding.asked_functions import heard
from ..overriding.aten import overload_of
from ..overriding.dispatch_classes import ask, asked_of, dispatches
from ..overriding.dispatch_modes import beneath
from ..overriding.spelling import spelled
from ..switches import state, watchers
from ..switches.quiet import quietly
from ..switches.state import STATE
from ..table.op import OpDef
from . import narrow_calls
from .promotion import promoted, same_dtype
from .record import edges_of, pack_saved, record
from .refusals import check_kinds, check_sizes, kernel_refusal, size_mismatch
from .result_layout import BARE_LAYOUTS, all_arranged


def dispatch(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any], with_aux: bool = False) -> Any:
    """Call an operator row: on tensors it records, on bare arrays it only computes.

    ``with_aux``: also return, as tensors, the row's auxiliary results.
    """
    if kwargs or len(args) != len(op.params):
        args = op.bind(args, kwargs)
    operands = tensors_in(op, args)
    if not operands:
        out = op.forward(*args)
        return out[: -len(op.aux)] if op.aux and len(out) > 1 + len(op.aux) else (out[0] if op.aux else out)
    handlers = asked_of(operands) if watchers.DISPATCHING else None
    unpromoted = operands
    if op.promote and not handlers and not same_dtype(op, args):
        args = promoted(op, args)
        operands = tensors_in(op, args)
    if op.kinds or operands[0]._sig.narrow:
        check_kinds(op, unpromoted if op.promote == "float" else operands)
    return _recorded(op, args, operands, handlers, with_aux)


def _recorded(op: OpDef, args: tuple[Any, ...], operands: list[Any], handlers: Any, with_aux: bool) -> Any:
    """Compute, or ask the classes that are ``handlers``, and where a gradient is asked for make the node."""
    began = now() if observe.observers else 0
    edges = edges_of(op, args, operands) if STATE.grad_enabled and not STATE.inference else None
    view = op.view and (op.toggles is not None or not bits_of(operands[0]))
    computed = asked_result(op, args, handlers) if handlers else _computed(op, args, view)
    if computed is None:
        return None
    outputs, aux = split_aux(op, computed)
    results = (
        [a if isinstance(a, TensorBase) else wrap(a, None, view) for a in outputs]
        if watchers.DISPATCHING
        else [wrap(a, None, view) for a in outputs]
    )

    node = None if edges is None else record(op, args, edges, results, outputs, aux)
    if view:
        _make_views(op, args, results, node)
    elif node is not None:
        for nr, t in enumerate(results):
            if node._sigs[nr] is not None:
                t._fn = edge_to(node, nr)
    if node is not None and (STATE.saved_hooks or _saves_asked(op, results)):
        pack_saved(op, node, results)

    if state.MODE:
        _under_modes(op, args, operands, results, aux)
        if observe.observers:
            observe.notify("operation", op, args, node, operands, results, now() - began)
    if with_aux:
        return (*results, *[a if isinstance(a, TensorBase) else wrap(a) for a in aux])
    return results[0] if op.outputs == 1 else tuple(results)


def _saves_asked(op: OpDef, results: list[Any]) -> bool:
    """Whether subclasses, or modes that save results, must be asked about saved tensors."""
    if watchers.DISPATCHING and any(map(dispatches, results)):
        return True
    return heard() and any(name == "result" or name in op.results for name in op.saved_names)


def _computed(op: OpDef, args: tuple[Any, ...], view: bool) -> Any:
    """The forward on arrays, through the active dispatch modes."""
    read = in_memory(op, args) if view else args
    return beneath(op, read, compute) if state.MODE and STATE.dispatch_modes else compute(op, read)


def _make_views(op: OpDef, args: tuple[Any, ...], results: list[Any], node: Any) -> None:
    """Let the results share the memory of the first operand, and be read as it is or, by ``toggles``, otherwise."""
    source = args[op.tensor_positions[0]]
    make_views(results, source, node, op, args)
    bits = bits_of(source) ^ (op.toggles or 0)
    for t in results:
        mark(t, bits)


def in_memory(op: OpDef, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a view, which is one of the memory, whatever is done to its values when they are read."""
    place = op.tensor_positions[0]
    if not bits_of(args[place]):
        return args
    return (*args[:place], wrap(memory_of(args[place]), shares=True), *args[place + 1 :])


def asked_result(op: OpDef, args: tuple[Any, ...], handlers: list[Any]) -> Any:
    """The results of a call according to the classes of some operands: tensors in place of ``compute``'s arrays."""
    result = ask(overload_of(op, args), handlers, *spelled(op, args))
    one = op.outputs == 1 and not op.aux
    for t in (result,) if one else result:
        if t is not None and not isinstance(t, TensorBase):
            raise RuntimeError(f"Unable to cast {t} to Tensor: __torch_dispatch__ of {op.name} must return tensors")
    return result if one else tuple(result)


def _under_modes(op: OpDef, args: tuple[Any, ...], operands: list[Any], results: list[Any], aux: Any) -> None:
    """The results of a call under dispatch modes."""
    if STATE.forward_grad_enabled and not STATE.inference and carries_tangent(operands):
        with overrides.beneath():
            propagate(op, args, results, aux)
    if STATE.batches:
        if op.dynamic:
            batches.refuse_dynamic(op.name, *[args[op.params.index(name)] for name in op.dynamic])
        batches.spread([*operands, *[a for a in args if isinstance(a, TensorBase)]], results)
    if STATE.inference:
        _mark_inference(op, results)
    for mode in STATE.dispatch_modes:
        mode._made(results)


def compute(op: OpDef, args: tuple[Any, ...]) -> Any:
    """The forward on arrays; like PyTorch, without NumPy's floating-point warnings."""
    try:
        arrays = arrays_of(op, args)
        narrow = LOADED and narrow_calls.is_of_them(op, arrays)
        computed = narrow_calls.computed(op, arrays) if narrow else quietly(op.forward, arrays)
        return all_arranged(op, computed, arrays) if op.layout else computed
    except (TypeError, OverflowError) as error:
        if is_from_elsewhere(error):
            raise
        operands = tensors_in(op, args)
        check_sizes(op, operands)
        raise kernel_refusal(op, operands, error) from None
    except ValueError as error:
        if "Invalid integer data type" in str(error):
            raise kernel_refusal(op, tensors_in(op, args), error) from None
        if isinstance(error, np.linalg.LinAlgError):  # a ValueError; PyTorch's is a RuntimeError
            raise RuntimeError(f"{op.name.strip('_')}: {error}") from None
        if "broadcast" not in str(error):
            raise
        mismatch = size_mismatch([t._sig.shape for t in tensors_in(op, args)], error)
        observe.notify("refused", op.name, args, mismatch)
        raise mismatch from None


def tensors_in(op: OpDef, args: tuple[Any, ...]) -> list[Any]:
    """The tensor operands among the arguments, lists flattened."""
    found: list[Any] = []
    for i in op.tensor_positions:
        value = args[i]
        if isinstance(value, TensorBase):
            found.append(value)
        elif i in op.list_positions and value is not None:
            found.extend(value if are_plain(value) else [v for v in value if isinstance(v, TensorBase)])
    return found


def arrays_of(op: OpDef, args: tuple[Any, ...]) -> list[Any]:
    """The arguments with tensors replaced by their arrays."""
    arrays = list(args)
    for i in op.tensor_positions:
        value = args[i]
        if isinstance(value, TensorBase):
            arrays[i] = value._array
        elif i in op.list_positions and value is not None:
            try:  # asking first whether all are tensors takes as long again
                arrays[i] = [v._array for v in value]
            except AttributeError:
                arrays[i] = [v._array if isinstance(v, TensorBase) else v for v in value]
    return arrays


def split_aux(op: OpDef, computed: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Outputs and auxiliary values of a forward."""
    if op.aux:
        n = len(computed) - len(op.aux)
        return tuple(computed[:n]), tuple(computed[n:])
    return ((computed,), ()) if op.outputs == 1 else (tuple(computed), ())


def _mark_inference(op: OpDef, results: list[Any]) -> None:
    """Results of inference mode are inference tensors, except views of ordinary tensors."""
    for t in results:
        meta = t.need_meta()
        view = meta.view
        if view is None or is_inference(view.base):
            meta.inference = True
        else:
            view.tag = CreationTag.INFERENCE


def _row_call(op: OpDef) -> Any:
    """The function that calls a row: its fast path, with ``dispatch`` as its fallback."""
    forward, first_only, listed = op.forward, op.tensor_positions == (0,) and not op.aux, bool(op.lists)
    laid_out = op.layout in BARE_LAYOUTS

    def general(*args: Any, **kwargs: Any) -> Any:
        if first_only and not kwargs and args:
            first = args[0][0] if listed and args[0].__class__ is list and args[0] else args[0]
            if first.__class__ is np.ndarray:
                # what rules on bare arrays call: 1 µs less than finding out that nothing records
                computed = forward(*args)
                return all_arranged(op, computed, args) if laid_out and not first.flags.c_contiguous else computed
        return dispatch(op, args, kwargs)

    general.__name__ = op.name
    return with_fast_path(op, general, "row")


late.caller_of = _row_call
aten.with_aux = functools.partial(dispatch, with_aux=True)
