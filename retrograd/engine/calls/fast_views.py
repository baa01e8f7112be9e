"""The fast path of rows that return several views of their first argument (``split``, ``unbind``).

It records what the general path records in a third of the time.  It is written by hand: the number of views varies.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns as now
from typing import Any

from numpy import asarray, ndarray

from .. import observe
from ..aliasing.new_views import make_views
from ..nodes.derived import parts, read
from ..switches import state
from ..tensors.base import LAZY, PLAIN_CLASSES, TensorBase, tensor_class
from ..tensors.dtypes import sig_of
from .fast_path import leaf_edge


def has_fast_views(op: Any) -> bool:
    """Whether a row makes several views of its first argument, its only tensor."""
    several = bool(op.view) and op.outputs != 1
    return several and op.tensor_positions == (0,) and not (op.aux or op.joint or op.lists or op.nondiff)


def fast_view_call(op: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """The row's call: views of a tensor are made here, everything else by ``general``."""
    tensor, new, forward, count = tensor_class(), TensorBase.__new__, op.forward, len(op.params)
    keep = _keeper(op)

    def call(*args: Any, **kwargs: Any) -> Any:
        mode = state.MODE
        if kwargs or (mode and mode != observe.COUNT) or not args or args[0].__class__ not in PLAIN_CLASSES:
            return general(*args, **kwargs)
        began = mode and now()
        if len(args) != count:
            args = op.bind(args, {})
        x = args[0]
        edge = x._fn
        if edge is LAZY:
            edge = leaf_edge(x)
            if edge is LAZY:
                return general(*args)
        try:
            computed = forward(x._array, *args[1:])
        except (ValueError, TypeError, OverflowError):
            return general(*args)  # which says what does not fit
        results = []
        for a in computed:  # ``wrap``, in place
            t = new(tensor)
            t._array = a = a if a.__class__ is ndarray else asarray(a)
            t._sig = sig_of(a)
            t._fn = t._meta = None
            results.append(t)
        node = None
        if edge is not None and x._sig.differentiable and results:
            sigs = tuple([t._sig for t in results])
            node = op.node_class.made((edge,), sigs if len(sigs) > 1 else sigs[0].alone)
            node.saved = keep(args)
        make_views(results, x, node, op, args)
        if mode:
            observe.notify("operation", op, args, node, [x], results, now() - began)
        return tuple(results)

    return call


def _keeper(op: Any) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What the rule of a view asks for, from the arguments: parameters, the shape or the kind of the first one."""
    places = []
    for name in op.saved_names:
        operand, kind = (name, "") if name in op.params else parts(name)
        places.append((op.params.index(operand), kind))

    def keep(args: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([args[i] if not kind else read(kind, args[i]) for i, kind in places])

    return keep
