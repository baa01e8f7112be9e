"""What happens when an operator is called on tensors: promote, compute, record, propagate tangents, tell observers."""

from __future__ import annotations

from time import perf_counter_ns as now
from typing import Any

import numpy as np

from .. import observe
from ..aliasing.new_views import make_views
from ..aliasing.views import gradient_edge, requires_grad
from ..forward_mode.forward_ad import carries_tangent
from ..forward_mode.forward_rules import propagate
from ..nodes.derived import parts, read
from ..nodes.node import edge_to
from ..nodes.opnode import OpNode
from ..nodes.saved import INFERENCE_SAVE, SavedTensor
from ..overriding import overrides
from ..overriding.dispatch_modes import beneath
from ..switches import state
from ..switches.state import STATE
from ..table.op import OpDef, set_dispatcher
from ..table.registry import OPS
from ..tensors.base import CreationTag, TensorBase, is_inference, wrap
from ..tensors.dtypes import get_default_dtype, result_dtype
from .plain import deferred
from .quiet import quietly
from .refusals import check_kinds, kernel_refusal, size_mismatch
from .view_calls import has_view_way, view_call

Number = (bool, int, float, complex)


def dispatch(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator row: on tensors it records, on bare arrays it only computes."""
    if kwargs or len(args) != len(op.params):
        args = op.bind(args, kwargs)
    operands = tensors_in(op, args)
    if not operands:
        out = op.forward(*args)
        return out[: -len(op.aux)] if op.aux and len(out) > 1 + len(op.aux) else (out[0] if op.aux else out)
    if op.kinds:
        check_kinds(op, operands)
    if op.promote and not same_dtype(op, args):
        args = promoted(op, args)
        operands = tensors_in(op, args)
    return _recorded(op, args, operands)


def _recorded(op: OpDef, args: tuple[Any, ...], operands: list[Any]) -> Any:
    """Compute and, where a gradient is asked for, make the node."""
    began = now() if observe.observers else 0
    edges = edges_of(op, args, operands) if STATE.grad_enabled and not STATE.inference else None
    computed = beneath(op, args, compute) if state.MODE and STATE.dispatch_modes else compute(op, args)
    outputs, aux = split_aux(op, computed)
    results = [wrap(a) for a in outputs]
    node = None
    if edges is not None:
        node = record(op, args, edges, results, outputs, aux)
    if op.view:
        make_views(results, operands[0], node, op, args)
    elif node is not None:
        for nr, t in enumerate(results):
            if node._sigs[nr] is not None:
                t._fn = edge_to(node, nr)
    if state.MODE:
        if node is not None and STATE.saved_hooks:
            pack_saved(op, node, results)
        _under_modes(op, args, operands, results, aux)
        if observe.observers:
            observe.tell("operation", op, args, node, operands, results, now() - began)
    return results[0] if op.outputs == 1 else tuple(results)


def _under_modes(op: OpDef, args: tuple[Any, ...], operands: list[Any], results: list[Any], aux: Any) -> None:
    """What modes do with the results of a call."""
    if STATE.forward_grad_enabled and not STATE.inference and carries_tangent(operands):
        with overrides.beneath():
            propagate(op, args, results, aux)
    if STATE.inference:
        _mark_inference(op, results)
    for mode in STATE.dispatch_modes:
        mode._made(results)


def compute(op: OpDef, args: tuple[Any, ...]) -> Any:
    """The forward on arrays; like PyTorch, without NumPy's floating-point warnings."""
    try:
        return quietly(op.forward, arrays_of(op, args))
    except (TypeError, OverflowError) as error:
        raise kernel_refusal(op, tensors_in(op, args), error) from None
    except ValueError as error:
        if "Invalid integer data type" in str(error):
            raise kernel_refusal(op, tensors_in(op, args), error) from None
        if "broadcast" not in str(error):
            raise
        mismatch = size_mismatch([t._sig.shape for t in tensors_in(op, args)], error)
        observe.tell("refused", op.name, args, mismatch)
        raise mismatch from None


def tensors_in(op: OpDef, args: tuple[Any, ...]) -> list[Any]:
    """The tensor operands among the arguments, lists flattened."""
    found: list[Any] = []
    for i in op.tensor_positions:
        value = args[i]
        if isinstance(value, TensorBase):
            found.append(value)
        elif i in op.list_positions and value is not None:
            found.extend([v for v in value if isinstance(v, TensorBase)])
    return found


def arrays_of(op: OpDef, args: tuple[Any, ...]) -> list[Any]:
    """The arguments with tensors replaced by their arrays."""
    arrays = list(args)
    for i in op.tensor_positions:
        value = args[i]
        if isinstance(value, TensorBase):
            arrays[i] = value._array
        elif i in op.list_positions and value is not None:
            arrays[i] = [v._array if isinstance(v, TensorBase) else v for v in value]
    return arrays


def edges_of(op: OpDef, args: tuple[Any, ...], operands: list[Any]) -> tuple[Any, ...] | None:
    """One edge per differentiable operand, or ``None`` when no operand asks for a gradient."""
    if not op.diff_positions:
        return None
    for t in operands:
        if t._fn is not None:
            break
    else:
        return None
    edges: list[Any] = []
    for i in op.diff_positions:
        value = args[i]
        if i in op.list_positions:
            edges.extend([gradient_edge(v) if isinstance(v, TensorBase) else None for v in value])
        else:
            edges.append(gradient_edge(value) if isinstance(value, TensorBase) else None)
    if any(e is not None for e in edges):
        return tuple(edges)
    # a view made before its base required grad, or under no_grad, requires grad but leads nowhere
    return tuple(edges) if any(requires_grad(t) for t in operands) else None


def record(
    op: OpDef, args: tuple[Any, ...], edges: tuple[Any, ...], results: list[Any], outputs: tuple[Any, ...], aux: Any
) -> OpNode | None:
    """The node for a call, with what its rules ask for; ``None`` when no output is differentiable."""
    sigs = tuple([t._sig if t._sig.differentiable and i not in op.nondiff else None for i, t in enumerate(results)])
    if not any(sigs):
        return None
    if len(sigs) == 1 and sigs[0] is not None:
        sigs = sigs[0].alone
    real = sigs[0] is None or sigs[0].floats is not None
    node: OpNode = (op.node_class if real else op.general_node_class).made(edges, sigs)
    wanted = saved_for(op, edges)
    if op.results:  # an output without gradient refers to no node: the tensor itself is kept, and its version with it
        outputs = tuple([a if sig is not None else t for a, sig, t in zip(outputs, sigs, results, strict=True)])
    node.saved = tuple(
        [_saved_value(op, args, name, outputs, aux) if name in wanted else None for name in op.saved_names]
    )
    return node


def saved_for(op: OpDef, edges: tuple[Any, ...]) -> set[str]:
    """Names asked for by the rules of operands that take a gradient."""
    if op.joint is not None or op.lists or len(op.diff_names) == 1:
        return set(op.saved_names)
    wanted: set[str] = set()
    for name, edge in zip(op.diff_names, edges, strict=True):
        if edge is not None:
            wanted.update(op.saved_names[i] for i in op.rule_args[name])
    return wanted


def _saved_value(op: OpDef, args: tuple[Any, ...], name: str, outputs: tuple[Any, ...], aux: Any) -> Any:
    if name == "result":
        return outputs if op.outputs != 1 else outputs[0]
    if name in op.results:
        return outputs[op.results.index(name)]
    if name in op.aux:
        return aux[op.aux.index(name)]
    if name in op.params:
        value = args[op.params.index(name)]
        if name in op.tensor_names:
            _refuse_inference(value)
            return list(value) if name in op.lists else value
        return value
    operand, kind = parts(name)
    value = args[op.params.index(operand)]
    return [read(kind, v) for v in value] if isinstance(value, (list, tuple)) else read(kind, value)


def _refuse_inference(value: Any) -> None:
    if isinstance(value, TensorBase) and is_inference(value):
        raise RuntimeError(INFERENCE_SAVE)


def pack_saved(op: OpDef, node: OpNode, results: list[Any]) -> None:
    """Run the active pack hook on each tensor the node saved."""
    assert node.saved is not None
    saved = list(node.saved)
    for i, name in enumerate(op.saved_names):
        value = saved[i]
        if name == "result" and value is not None:
            packed = [_packed_output(node, t, nr) for nr, t in enumerate(results)]
            saved[i] = packed[0] if op.outputs == 1 else tuple(packed)
        elif name in op.results and value is not None:
            nr = op.results.index(name)
            saved[i] = _packed_output(node, results[nr], nr)
        elif isinstance(value, TensorBase):
            saved[i] = SavedTensor(value, edge=gradient_edge(value))
        elif name in op.lists and isinstance(value, list):
            saved[i] = [SavedTensor(v, edge=gradient_edge(v)) if isinstance(v, TensorBase) else v for v in value]
        elif name in op.aux and isinstance(value, np.ndarray):
            saved[i] = SavedTensor(wrap(value))
    node.saved = tuple(saved)


def _packed_output(node: OpNode, t: Any, nr: int) -> Any:
    if node._sigs[nr] is None:
        return SavedTensor(t)
    return SavedTensor(t, is_output=True, nr=nr)


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


# -- promotion


def same_dtype(op: OpDef, args: tuple[Any, ...]) -> bool:
    """The common case: all tensors of one floating dtype and only real numbers beside them."""
    if op.lists:
        return op.kind == "linear" and _same_in_list(args[op.tensor_positions[0]])
    first: Any = None
    for i in op.tensor_positions:
        value = args[i]
        if isinstance(value, TensorBase):
            numpy = value._sig.numpy
            if first is None:
                first = numpy
                if numpy.kind not in "fc":
                    return False
            elif numpy is not first:
                return False
        elif value is not None and value.__class__ not in (int, float, bool):
            return False
    return True


def _same_in_list(tensors: Any) -> bool:
    """Whether all elements are tensors of one floating dtype."""
    kinds = {t._sig.numpy.char if isinstance(t, TensorBase) else "" for t in tensors}
    return len(kinds) == 1 and kinds.pop() in ("e", "f", "d", "F", "D")


def promoted(op: OpDef, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Cast the operands to their common dtype; the casts are recorded."""
    dimensioned: list[Any] = []
    zero_dim: list[Any] = []
    numbers: list[Any] = []
    for v in _promotable(op, args):
        if isinstance(v, TensorBase):
            wrapped = v._meta is not None and v._meta.wrapped_number
            (numbers if wrapped else dimensioned if v._sig.shape else zero_dim).append(
                v._array.item() if wrapped else v._sig.numpy
            )
        elif isinstance(v, Number):
            numbers.append(v)
        elif v is not None:
            raise TypeError(
                f"{op.name}(): argument '{op.tensor_names[min(1, len(op.tensor_names) - 1)]}' must be Tensor or "
                f"number, not {type(v).__name__}"
            )
    common = result_dtype(dimensioned, zero_dim, numbers)
    if op.promote == "float" and common.kind not in "fc":
        common = get_default_dtype().numpy
    return _cast_all(op, args, common)


def _promotable(op: OpDef, args: tuple[Any, ...]) -> list[Any]:
    flat: list[Any] = []
    for i in op.tensor_positions:
        value = args[i]
        flat.extend(value) if i in op.list_positions and value is not None else flat.append(value)
    return flat


def _cast_all(op: OpDef, args: tuple[Any, ...], common: np.dtype[Any]) -> tuple[Any, ...]:
    result = list(args)
    for i in op.tensor_positions:
        value = args[i]
        if i in op.list_positions and value is not None:
            result[i] = [cast(v, common) for v in value]
        else:
            result[i] = cast(value, common)
    return tuple(result)


def cast(value: Any, numpy: np.dtype[Any]) -> Any:
    """A tensor in another dtype (recorded); a number as NumPy number of that dtype; ``None`` stays."""
    if isinstance(value, TensorBase):
        if value._sig.numpy == numpy:
            return value
        return OPS["_to_copy"](value, numpy)
    if value is None:
        return None
    if numpy.kind == "c":
        return complex(value)
    if numpy.kind == "f":
        return float(value)
    if (numpy.kind in "iu" and not -128 <= value <= 127) or (value < 0 and numpy.kind == "u"):
        return int(np.asarray(value).astype(numpy))  # numbers wrap around as in PyTorch
    return value


def _row_call(op: OpDef) -> Any:
    forward, first_only, listed = op.forward, op.tensor_positions == (0,) and not op.aux, bool(op.lists)

    def general(*args: Any, **kwargs: Any) -> Any:
        if first_only and not kwargs and args:
            first = args[0][0] if listed and args[0].__class__ is list and args[0] else args[0]
            if first.__class__ is np.ndarray:
                return forward(*args)  # what rules on bare arrays call: 1 µs less than finding out that nothing records
        return dispatch(op, args, kwargs)

    general.__name__ = op.name
    if has_view_way(op):
        return view_call(op, general)
    return deferred(op, general, "row")


set_dispatcher(_row_call)
