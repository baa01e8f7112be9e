"""The fast path of rows that return several views of their first argument (``split``, ``unbind``).

It records what the general path records in a third of the time.  It is written by hand: the number of views varies.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns as now
from typing import Any

from numpy import asarray, ndarray

from .. import observe
from ..aliasing.versions import storage_of
from ..aliasing.views import HOLE
from ..frames import is_from_elsewhere
from ..nodes.node import Port
from ..nodes.row_node import is_plain
from ..nodes.saved_facts import parts, read
from ..switches import state
from ..tensors.base import LAZY, PLAIN_CLASSES, CreationTag, Meta, TensorBase, View, tensor_class
from ..tensors.dtypes import sig_of
from .fast_path import leaf_edge


def has_fast_views(op: Any) -> bool:
    """Whether a row makes several views of its first argument, its only tensor."""
    several = bool(op.view) and op.outputs != 1
    plain = op.tensor_positions == (0,) and not (op.aux or op.joint or op.lists or op.nondiff)
    return several and plain and is_plain(op)


def fast_view_call(op: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """The row's call: views of a tensor are made here, everything else by ``general``."""
    forward, count, places = op.forward, len(op.params), _kept_places(op)

    def call(*args: Any, **kwargs: Any) -> Any:
        mode = state.MODE
        if kwargs or (mode and mode != observe.COUNT) or not args or args[0].__class__ not in PLAIN_CLASSES:
            return general(*args, **kwargs)
        began = mode and now()
        if len(args) != count:
            args = op.bind(args, {})
        x = args[0]
        edge, meta = x._fn, x._meta or x.need_meta()
        if edge is LAZY:
            edge = leaf_edge(x)
        if edge is LAZY or meta.inference:
            return general(*args)
        try:
            arrays = forward(x._array, *args[1:])
        except (ValueError, TypeError, OverflowError) as error:
            if is_from_elsewhere(error):
                raise
            return general(*args)  # which says what does not fit
        node = None
        if edge is not None and x._sig.differentiable and arrays:
            node = op.node_class()
            node._number, node._extra, node._pending = state.next_number(), None, None
            node.edge_0 = edge
            for slot, i, kind in places:
                setattr(node, slot, read(kind, args[i]) if kind else args[i])
        results = _views(arrays, x, meta, (op, (HOLE, *args[1:])), node)
        if mode:
            observe.notify("operation", op, args, node, [x], results, now() - began)
        return tuple(results)

    return call


def _views(arrays: Any, x: Any, meta: Any, step: tuple[Any, ...], node: Any) -> list[Any]:
    """What ``wrap``, ``make_views`` and ``edges_into`` make while no mode is on, in one loop (9 for 16 µs for four
    views); the node gets its ``_sigs``."""
    tensor, new, new_port, by_shape = tensor_class(), TensorBase.__new__, Port.__new__, x._sig.by_shape
    storage, parent = meta.storage or storage_of(x), meta.view
    base, before, tag = (x, None, CreationTag.MULTI_OUTPUT)
    if parent is not None:
        base, before = parent.base, parent.chain
        tag = parent.tag if parent.tag == CreationTag.INFERENCE else tag
    version, number = storage.version, 0 if node is None else node._number
    results, sigs = [], []
    for nr, a in enumerate(arrays):
        t = new(tensor)
        t._array = a = a if a.__class__ is ndarray else asarray(a)
        t._sig = sig = by_shape.get(a.shape) or sig_of(a)
        t._fn = LAZY
        t._meta = meta = Meta()
        meta.storage = storage
        meta.view = view = View()
        view.base, view.version, view.tag, view.nr = base, version, tag, nr
        view.before, view.step = before, step
        view.fn = None
        if node is not None:  # ``Port(node, nr)``, without a call for each
            view.fn = port = new_port(Port)
            port.node, port.nr, port._pending, port._sigs = node, nr, None, sig.alone
            port._number = number + 0.5 / (nr + 1)
        results.append(t)
        sigs.append(sig)
    if node is not None:
        node._sigs = tuple(sigs) if len(sigs) > 1 else sigs[0].alone
        if len(sigs) == 1:  # no ports: the view leads to the node itself
            view.fn = node
    return results


def _kept_places(op: Any) -> list[tuple[str, int, str]]:
    """What a node keeps for its rule: the slot, the argument read from, and which of its facts (``saved_facts``)."""
    places = []
    for name in op.saved_names:
        operand, kind = (name, "") if name in op.params else parts(name)
        places.append((f"kept_{name}", op.params.index(operand), kind))
    return places
