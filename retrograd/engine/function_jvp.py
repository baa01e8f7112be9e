"""Forward mode of custom Functions: calling ``jvp`` and checking what it returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import TensorBase, wrap
from .forward_ad import keep_tangent, tangent_of
from .function_node import BackwardCFunction
from .function_outputs import Outputs
from .state import STATE, set_grad_enabled_here


def run_jvp(node: BackwardCFunction, args: tuple[Any, ...], results: list[Any], pending: Outputs) -> None:
    """Call the user's ``jvp`` and give the outputs their tangents."""
    given = [_input_tangent(node, a) for a in args]
    returned = _call(node, given)
    tangents = list(returned) if isinstance(returned, tuple) else [returned]
    if len(tangents) != len(results):
        raise RuntimeError(
            f"{node._forward_cls.__name__}.jvp returned an invalid number of forward gradients (expected "
            f"{len(results)} but "
            f"got {len(tangents)})"
        )
    by_input = {id(a): t for a, t in zip(args, given, strict=True) if isinstance(a, TensorBase)}
    for raw, out, tangent in zip(pending.raw, results, tangents, strict=True):
        _set(node, raw, out, tangent, by_input, pending)


def _input_tangent(node: BackwardCFunction, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        return None
    tangent = tangent_of(value)
    if tangent is None and node._materialize and value._sig.differentiable:
        return wrap(np.zeros(value._sig.shape, value._sig.numpy))
    return tangent


def _call(node: BackwardCFunction, tangents: list[Any]) -> Any:
    grad, forward = STATE.grad_enabled, STATE.forward_grad_enabled
    node._in_jvp = True
    try:
        set_grad_enabled_here(True)
        STATE.forward_grad_enabled = False
        return node._forward_cls.jvp(node, *tangents)
    finally:
        node._in_jvp = False
        set_grad_enabled_here(grad)
        STATE.forward_grad_enabled = forward


def _set(node: BackwardCFunction, raw: Any, out: Any, tangent: Any, by_input: dict[int, Any], pending: Outputs) -> None:
    name = node._forward_cls.__name__
    if tangent is None:
        return
    if not isinstance(tangent, TensorBase):
        raise RuntimeError(f"{name}.jvp: expected Variable or None (got {type(tangent).__name__})")
    if not isinstance(out, TensorBase) or not out._sig.differentiable or id(raw) in pending.constant:
        raise RuntimeError(
            f"{name}.jvp returned a gradient for an output that is not a differentiable Tensor; return None there."
        )
    if tangent._sig.shape != out._sig.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(out._sig.shape)} while the given forward gradient is of size "
            f"{list(tangent._sig.shape)}."
        )
    if id(raw) in pending.dirty:
        _check_dirty(name, by_input.get(id(raw)), tangent)
    elif id(raw) in pending.inputs or (out._is_view() and tangent_of(out._base) is not None):
        _check_view(name, out, tangent)
    keep_tangent(out, tangent)


def _check_dirty(name: str, old: Any, tangent: Any) -> None:
    if old is not None and tangent is not old:
        if np.shares_memory(tangent._array, old._array):
            raise RuntimeError(
                f"An inplace custom Function ({name}) is not returning the forward mode gradients as-is: return "
                "the very "
                "tangent that was modified."
            )
        raise RuntimeError(
            f"An inplace custom Function ({name}) is not modifying the forward mode gradients inplace. If the "
            "forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )


def _check_view(name: str, out: Any, tangent: Any) -> None:
    base = tangent_of(out._base) if out._base is not None else None
    if base is not None and not np.shares_memory(tangent._array, base._array):
        raise RuntimeError(
            f"A custom Function's forward is returning a view but the jvp is not returning a view ({name}). If "
            "the forward "
            "returns a view of an input, the jvp must return the same view of that input's tangent."
        )
