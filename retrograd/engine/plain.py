"""The short way through the dispatcher for the commonest calls.

An element-wise row called on one or two tensors of the same floating dtype and shape (or a tensor and a number), with
nothing special switched on, needs no promotion, no broadcasting and no modes.  ``plain_call`` makes a function for
such a row that returns ``None`` when a call is not of that kind; what it records is what the dispatcher would record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import LAZY, new_tensor, tensor_class
from .dtypes import sig_of
from .op import OpDef
from .quiet import quietly
from .views import gradient_edge

PlainCall = Callable[[tuple[Any, ...]], Any]
_ndarray = np.ndarray


def plain_call(op: OpDef) -> PlainCall | None:
    """The short call of a row, or ``None`` for rows that are not simple enough."""
    tensors = op.tensor_positions
    simple = op.kind == "elementwise" and op.outputs == 1 and not (op.aux or op.view or op.lists or op.joint)
    if not simple or tensors not in ((0,), (0, 1)) or op.diff_positions != tensors:
        return None
    if any(name.endswith(("_sizes", "_options")) for name in op.saved_names):
        return None
    return _unary(op) if tensors == (0,) else _binary(op)


def _unary(op: OpDef) -> PlainCall:
    forward, tail, count = op.forward, op.defaults, len(op.params)
    needs_all = op.required == 1
    keep = _keeper(op)
    tensor = tensor_class()

    def call(args: tuple[Any, ...]) -> Any:
        x = args[0]
        if x.__class__ is not tensor or not x._sig.differentiable or (x._meta is not None and _is_special(x._meta)):
            return None
        if len(args) != count:
            if len(args) != 1 or not needs_all:
                return None
            args = (x, *tail)
        edge = x._fn
        if edge is LAZY:
            edge = gradient_edge(x)
            if edge is None:
                return None
        result = _wrapped(quietly(forward, (x._array, *args[1:])), x._sig)
        if edge is not None:
            result._fn = keep(result, (edge,), args)
        return result

    return call


def _binary(op: OpDef) -> PlainCall:
    forward, tail, count = op.forward, op.defaults, len(op.params)
    short = op.required == 2
    keep = _keeper(op)
    tensor = tensor_class()

    def call(args: tuple[Any, ...]) -> Any:
        x = args[0]
        if x.__class__ is not tensor or (x._meta is not None and _is_special(x._meta)):
            return None
        sig = x._sig
        if not sig.differentiable:
            return None
        if len(args) != count:
            if len(args) != 2 or not short:
                return None
            args = (*args, *tail)
        o = args[1]
        if o.__class__ is tensor:
            if o._sig is not sig or (o._meta is not None and _is_special(o._meta)):
                return None
            value, second = o._array, o._fn
        elif o.__class__ is float or o.__class__ is int:
            value, second = o, None
        else:
            return None
        first = x._fn
        if first is LAZY or second is LAZY:
            first = gradient_edge(x)
            second = None if second is None else gradient_edge(o)
            if first is None and second is None:
                return None
        result = _wrapped(quietly(forward, (x._array, value, *args[2:])), sig)
        if first is not None or second is not None:
            result._fn = keep(result, (first, second), args)
        return result

    return call


def _is_special(meta: Any) -> bool:
    """Inference tensors, and views whose node is not known, take the long way."""
    return meta.inference or (meta.view is not None and meta.view.fn is None)


def _wrapped(array: Any, sig: Any) -> Any:
    if array.__class__ is not _ndarray:
        array = np.asarray(array)
    t = new_tensor()
    t._array = array
    t._fn = None
    t._meta = None
    t._sig = sig if array.dtype is sig.numpy and array.shape == sig.shape else sig_of(array)
    return t


def _keeper(op: OpDef) -> Callable[[Any, tuple[Any, ...], tuple[Any, ...]], Any]:
    """Makes the node of a call: each saved value only if the rule of an active edge asks for it."""
    places = tuple(
        (op.params.index(name) if name != "result" else -1, tuple(_askers(op, i)))
        for i, name in enumerate(op.saved_names)
    )
    saves_result = op.saves_result

    def keep(result: Any, edges: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        if not result._sig.differentiable:
            return None
        node = op.node_class(edges, (result._sig,))
        node.output_storages = {} if saves_result else None
        node.saved = tuple(
            [
                (result._array if place < 0 else args[place]) if any(edges[k] is not None for k in askers) else None
                for place, askers in places
            ]
        )
        return node

    return keep


def _askers(op: OpDef, saved_index: int) -> list[int]:
    """Numbers of the edges whose rules ask for a saved value."""
    return [k for k, name in enumerate(op.diff_names) if saved_index in op.rule_args[name]]
