"""Writes the source of the fast path of rows that return a view of their first argument, or several (``split``).

All is stored by one function, and what follows from the operand's shape where there are several views is found in a
plan.  That buys 9 of 19 µs for four views in the middle of a program, where whatever is touched (a function, a table,
an object) has left the caches since the call before.
"""

from __future__ import annotations

from typing import Any

from ..aliasing.versions import storage_of
from ..aliasing.views import HOLE
from ..nodes.node import Port
from ..tensors.base import CreationTag, Meta, View
from .fast_path_source import CallSource
from .view_plans import Plan, planning

_ORIGIN = (
    "_m = {x}._meta or {x}.need_meta()",
    "_storage, _parent = _m.storage or storage_of({x}), _m.view",
    "if _parent is None: _base, _tag, _before = {x}, DEFAULT, None",
    "else: _base, _tag, _before = _parent.base, _parent.tag, _parent.chain",
    "_version = _storage.version",
)
_VIEW = (
    "_t._fn = LAZY",
    "_t._meta = _m = Meta()",
    "_m.storage = _storage",
    "_m.view = _v = View()",
    "_v.base = _base",
    "_v.before = _before",
    "_v.version = _version",
    "_v.tag = _tag",
    "_v.op = row",
)
"""With the lines before: what ``make_views`` does while no mode is on that could forbid writing to views."""
_EACH_PIECE = (
    "_views = []",
    "for _nr, _index, _s, _after in zip(_plan.numbers, _plan.indices, _plan.sigs, _plan.after):",
    "    _t = new(Tensor)",
    "    _t._array = _d[_index]",
    "    _t._sig = _s",
)
_PIECES = (
    "_args = _plan.args",
    *_EACH_PIECE,
    *["    " + line for line in _VIEW],
    "    _v.args = _args",
    "    _v.nr = _nr",
    "    if _n is None: _v.fn = None",
    "    else:",
    "        _v.fn = _p = new_port(Port)",  # ``Port(node, nr)`` by stores
    "        _p.node = _n",
    "        _p.nr = _nr",
    "        _p._pending = None",
    "        _p._sigs = _s.alone",
    "        _p._number = _n._number + _after",
    "    _views.append(_t)",
    "if _n is not None and len(_views) == 1: _v.fn = _n",  # no ports: the view leads to the node itself
)
_PARTS = (
    *_EACH_PIECE,
    "    if _n is None or len(_plan.indices) == 1: _t._fn = _n",
    "    else:",
    "        _t._fn = _p = new_port(Port)",
    "        _p.node, _p.nr, _p._pending, _p._sigs, _p._number = _n, _nr, None, _s.alone, _n._number + _after",
    "    _t._meta = None",
    "    _views.append(_t)",
)
"""Tensors of their own on the same memory (``unsafe_split``): nothing follows writes to them."""
VIEW_NAMES: dict[str, Any] = {
    "storage_of": storage_of, "Meta": Meta, "View": View, "HOLE": HOLE, "Port": Port, "new_port": Port.__new__,
    "DEFAULT": CreationTag.DEFAULT, "MULTI_OUTPUT": CreationTag.MULTI_OUTPUT, "INFERENCE": CreationTag.INFERENCE,
    "NO_GRAD": CreationTag.NO_GRAD,
}  # fmt: skip
"""What the generated source refers to."""


class ViewCallSource(CallSource):
    """Writes the source for a row that returns one view of its first operand, the only tensor."""

    def _edges(self) -> list[str]:
        return [*super()._edges(), _no_inference(self)]

    def _leaving(self) -> list[str]:
        return [_no_inference(self)]

    def _computing(self) -> list[str]:
        """The forward computes nothing that NumPy could warn about."""
        return [
            f"try: _d = _forward({', '.join(self._argument(name) for name in self.op.params)})",
            "except (ValueError, TypeError, OverflowError) as _error:",
            *_refused(self),
        ]

    def _result(self) -> list[str]:
        return ["_t = new(Tensor)", "_t._array = _d", *self._sig_of_result(), "_t._sig = sig"]

    def _node(self) -> list[str]:
        """Lines that make the node of a view and return the view."""
        view = [*_origin(self), *_VIEW, "_v.fn, _v.nr = _n, 0", self._arguments()]
        node = _node_of_views(self, "sig.differentiable", "sig.alone")
        return [*node, *view, f"if _mode: {self._notifying('_n')}", "return _t"]

    def _unrecorded(self) -> list[str]:
        view = [*_origin(self), _UNRECORDED, *_VIEW, "_v.fn, _v.nr = None, 0", self._arguments()]
        return [*self._result(), *view, "return _t"]

    def _arguments(self) -> str:
        return f"_v.args = ({', '.join(['HOLE', *self.op.params[1:]])},)"


class PiecesCallSource(CallSource):
    """The same for a row that returns several views, or other parts, with ``pieces``."""

    def __init__(self, op: Any, namespace: dict[str, Any], form: str) -> None:
        super().__init__(op, namespace, form)
        plans: dict[Any, Plan] = {}
        namespace.update(plans=plans, planned=planning(op, plans))

    def _edges(self) -> list[str]:
        return [*super()._edges(), _no_inference(self)]

    def _leaving(self) -> list[str]:
        return [_no_inference(self)]

    def _computing(self) -> list[str]:
        """The views themselves are made when they are recorded."""
        tensor, *others = self.op.params
        given = "".join(f", {name}" for name in others)
        return [
            f"_d = {tensor}._array",
            f"if _d.__class__ is not ndarray: {self.leave}",
            f"try: _plan = plans.get((sig{given},)) or planned({tensor}{given})",
            "except (ValueError, TypeError, OverflowError) as _error:",
            *_refused(self),
        ]

    def _result(self) -> list[str]:
        return []

    def _node(self) -> list[str]:
        node = _node_of_views(self, "_plan.differentiable", "_plan.node_sigs")
        views = [*node, *self._pieces("if _tag != INFERENCE: _tag = MULTI_OUTPUT")]
        return [*views, f"if _mode: {self._notifying('_n')}", "return tuple(_views)"]

    def _unrecorded(self) -> list[str]:
        return ["_n = None", *self._pieces(_UNRECORDED), "return tuple(_views)"]

    def _pieces(self, tagging: str) -> list[str]:
        return [*_origin(self), tagging, *_PIECES] if self.op.view else [*_PARTS]

    def _results(self) -> str:
        return "_views"


_UNRECORDED = "if _tag != INFERENCE: _tag = NO_GRAD"


def _origin(source: CallSource) -> list[str]:
    return [line.format(x=source.tensors[0]) for line in _ORIGIN]


def _refused(source: CallSource) -> list[str]:
    """The general path says what does not fit; but what a signal's handler raised meanwhile is the program's."""
    return ["    if is_from_elsewhere(_error): raise", f"    {source.leave}"]


def _no_inference(source: CallSource) -> str:
    tensor = source.tensors[0]
    return f"if {tensor}._meta is not None and {tensor}._meta.inference: {source.leave}"


def _node_of_views(source: CallSource, differentiable: str, sigs: str) -> list[str]:
    """Lines that make the node, if there is to be one."""
    slots = {"edge_0": "_e0", **{f"kept_{name}": source._saved(name) for name in source.op.saved_names}}
    return [
        "_n = None",
        f"if _e0 is not None and {differentiable}:",
        "    _n = Node()",
        "    _n._number = next_number()",
        f"    _n._sigs = {sigs}",
        "    _n._extra = _n._pending = None",
        *[f"    _n.{slot} = {value}" for slot, value in slots.items()],
    ]
