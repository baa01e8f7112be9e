"""Forward mode of custom Functions: calls ``jvp`` and checks its results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..aliasing.versions import version_of
from ..core.base import TensorBase, wrap
from ..forward_mode.forward_ad import keep_tangent, tangent_of
from ..switches.state import STATE
from .node import BackwardCFunction
from .outputs import Outputs


def run_jvp(node: BackwardCFunction, args: tuple[Any, ...], results: list[Any], pending: Outputs) -> None:
    """Call the user's ``jvp`` and set the outputs' tangents."""
    given = [_input_tangent(node, a) for a in args]
    versions = {id(t): version_of(t) for t in given if t is not None}
    tangents = _checked(node._forward_cls.__name__, _call(node, given), len(results))
    by_input = {id(a): t for a, t in zip(args, given, strict=True) if _tangent_of_argument(a) is not None}
    for raw, out, tangent in zip(pending.raw, results, tangents, strict=True):
        if tangent is None or not isinstance(out, TensorBase):
            continue
        _check_place(node._forward_cls.__name__, raw, out, tangent, pending)
        old = by_input.get(id(raw))
        if id(raw) in pending.dirty:
            if old is not None:
                _check_dirty(old, tangent, versions[id(old)])
        else:
            _check_view(node._forward_cls.__name__, _viewed(raw, old, zip(args, given, strict=True)), tangent)
        keep_tangent(out, tangent)


def _tangent_of_argument(value: Any) -> Any:
    return tangent_of(value) if isinstance(value, TensorBase) else None


def _input_tangent(node: BackwardCFunction, value: Any) -> Any:
    tangent = _tangent_of_argument(value)
    if tangent is None and node._materialize and isinstance(value, TensorBase) and value._sig.differentiable:
        return wrap(np.zeros(value._sig.shape, value._sig.numpy))
    return tangent


def _call(node: BackwardCFunction, tangents: list[Any]) -> Any:
    forward = STATE.forward_grad_enabled
    node._in_jvp = True
    try:
        STATE.forward_grad_enabled = False
        return node._forward_cls.jvp(node, *tangents)
    finally:
        node._in_jvp = False
        STATE.forward_grad_enabled = forward


def _checked(name: str, returned: Any, expected: int) -> tuple[Any, ...]:
    tangents = returned if isinstance(returned, tuple) else (returned,)
    for i, tangent in enumerate(tangents):
        if tangent is not None and not isinstance(tangent, TensorBase):
            raise RuntimeError(
                f"{name}.jvp: expected Variable or None (got {type(tangent).__name__}) for grad output {i}."
            )
    if len(tangents) != expected:
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{expected} but got {len(tangents)}): return one from {name}.jvp for each output."
        )
    return tangents


def _check_place(name: str, raw: Any, out: Any, tangent: Any, pending: Outputs) -> None:
    if not out._sig.differentiable or id(raw) in pending.constant:
        raise RuntimeError(
            f"{name}.jvp returned a gradient for an output that is not a differentiable Tensor; return None there."
        )
    if tangent._sig.shape != out._sig.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(out._sig.shape)} while the given forward gradient is of size "
            f"{list(tangent._sig.shape)}."
        )


def _check_dirty(old: Any, tangent: Any, version: int) -> None:
    if version_of(tangent) == version:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward "
            "is modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )
    if tangent is not old:
        raise RuntimeError(
            "An inplace custom Function is not returning the forward mode gradients as-is: return the very "
            "tangent that was modified."
        )


def _viewed(raw: Any, old: Any, inputs: Iterable[tuple[Any, Any]]) -> list[Any]:
    """Tangents of the inputs that ``raw`` is a view of; its own tangent has to be a view of one of them."""
    if old is not None:
        return [old]
    if not raw._is_view():
        return []
    base = raw._base
    dual = [(x, t) for x, t in inputs if _tangent_of_argument(x) is not None]
    return [t for x, t in dual if x is base or (x._is_view() and x._base is base)]


def _check_view(name: str, sources: list[Any], tangent: Any) -> None:
    """``RuntimeError`` unless the tangent of an output that is a view of an input is the same view of its tangent."""
    if not sources:
        return
    if not tangent._is_view():
        raise RuntimeError(
            f"A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view "
            f"({name}). Return the same view of that input's tangent."
        )
    if not any(tangent._base is (s._base if s._is_view() else s) for s in sources):
        raise RuntimeError(
            f"A custom Function is returning a view but the jvp is not returning a view of the given grad input "
            f"({name}). Return the same view of that input's tangent."
        )
