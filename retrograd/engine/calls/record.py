"""Makes the node of a call: its edges, and the values that its rules need saved."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import observe
from ..aliasing.views import gradient_edge, requires_grad
from ..core.absent import AbsentMemory
from ..core.base import LAZY, TensorBase, is_inference, wrap
from ..core.dtypes import scalar_name
from ..core.narrow import LOADED
from ..nodes.opnode import OpNode
from ..nodes.saved import INFERENCE_SAVE, SavedTensor
from ..nodes.saved_display import parts, read
from ..overriding.dispatch_classes import count, dispatches
from ..switches.state import STATE
from ..table.op import OpDef


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
            try:
                edges.extend([gradient_edge(v) if v._fn is LAZY else v._fn for v in value])
            except AttributeError:  # not all are tensors
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
    """The node for a call, with what its rules need; ``None`` when no output is differentiable."""
    like = [t._sig.plain if t._sig.differentiable else None for t in results]
    sigs = tuple([None if i in op.nondiff else sig for i, sig in enumerate(like)])
    if not any(sigs):
        if "dtype" in op.params and not op.nondiff:
            raise RuntimeError(f"Autograd not support dtype: {scalar_name(results[0]._sig.numpy)}")
        return None
    if len(sigs) == 1 and sigs[0] is not None:
        sigs = sigs[0].alone
    first = sigs[0]
    plain = first is None or first.floats is not None
    if LOADED and plain:
        plain = not any(sig is not None and sig.narrow for sig in sigs)
    if op.real_only and first is not None and first.numpy.kind == "c":
        raise RuntimeError(
            f"{op.real_only} does not support automatic differentiation for outputs with complex dtype; detach its "
            "operands, or take real and imaginary part one by one"
        )
    node: OpNode = (op.node_class if plain else op.general_node_class).made(edges, sigs)
    if op.sparse:
        count(node)
    wanted = op.saved_for(edges)
    if op.results:  # an output without gradient refers to no node: the tensor itself is kept, and its version with it
        outputs = tuple([a if sig is not None else t for a, sig, t in zip(outputs, sigs, results, strict=True)])
    node.saved = tuple(
        [_saved_value(op, args, name, outputs, aux) if name in wanted else None for name in op.saved_names]
    )
    return node


def _saved_value(op: OpDef, args: tuple[Any, ...], name: str, outputs: tuple[Any, ...], aux: Any) -> Any:
    """The value of a rule's argument name for a call: a result, an argument, or something derived from one."""
    if name == "result":
        return outputs if op.outputs != 1 else outputs[0]
    if name in op.results:
        return outputs[op.results.index(name)]
    if name in op.aux:
        return aux[op.aux.index(name)]
    if name in op.params:
        value = args[op.params.index(name)]
        if name in op.tensor_names:
            _refuse_inference(op, args, value)
            return list(value) if name in op.lists else value
        if name in op.array_lists:
            for part in value:
                _refuse_inference(op, args, part)
        return value
    if name in op.for_hooks:
        return None
    operand, kind = parts(name)
    value = args[op.params.index(operand)]
    return [read(kind, v) for v in value] if isinstance(value, (list, tuple)) else read(kind, value)


def _refuse_inference(op: OpDef, args: tuple[Any, ...], value: Any) -> None:
    if isinstance(value, TensorBase) and is_inference(value):
        error = RuntimeError(INFERENCE_SAVE)
        observe.notify("refused", op.name, args, error)
        raise error


def pack_saved(op: OpDef, node: OpNode, results: list[Any]) -> None:
    """Run the active pack hook on each tensor the node saved."""
    assert node.saved is not None
    saved = list(node.saved)
    in_memory = bool(STATE.saved_hooks) and not any(map(_out_of_reach, saved))
    for i, name in enumerate(op.saved_names):
        value = saved[i]
        if name in op.for_hooks and in_memory and not isinstance(value, TensorBase):
            saved[i] = SavedTensor(wrap(op.seen_by_hooks(name, node.saved.__getitem__)))
        elif name in op.spare:
            saved[i] = None
        elif name == "result" and value is not None:
            packed = [_packed_output(node, t, nr) for nr, t in enumerate(results)]
            saved[i] = packed[0] if op.outputs == 1 else tuple(packed)
        elif name in op.results and value is not None:
            nr = op.results.index(name)
            saved[i] = _packed_output(node, results[nr], nr)
        elif isinstance(value, TensorBase):
            saved[i] = SavedTensor(value, edge=gradient_edge(value))
        elif name in op.lists and isinstance(value, list):
            saved[i] = [SavedTensor(v, edge=gradient_edge(v)) if isinstance(v, TensorBase) else v for v in value]
        elif name in op.array_lists and isinstance(value, tuple):
            saved[i] = tuple([SavedTensor(v) if isinstance(v, TensorBase) else v for v in value])
        elif name in op.aux and isinstance(value, np.ndarray):
            saved[i] = SavedTensor(wrap(value))
        elif name in op.aux and isinstance(value, float):
            saved[i] = SavedTensor(wrap(np.asarray(value, results[0]._sig.numpy)))
    node.saved = tuple(saved)


def _out_of_reach(value: Any) -> bool:
    """Whether only a tensor's class, or nothing, knows its values."""
    return isinstance(value, TensorBase) and (dispatches(value) or value._array.__class__ is AbsentMemory)


def _packed_output(node: OpNode, t: Any, nr: int) -> Any:
    if node._sigs[nr] is None:
        return SavedTensor(t)
    return SavedTensor(t, is_output=True, nr=nr)
