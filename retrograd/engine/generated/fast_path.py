"""The fast path of calls: a function generated for each row that records the row's commonest calls itself.

It serves tensors of one dtype (and, in element-wise rows, Python numbers) while no mode is on; observers are notified.
Every other call goes to the general path, ``dispatch`` or a public function, with the same meaning.  The function is
generated when the row is first called; docs/generated_code.md shows one.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns as now
from types import FunctionType
from typing import Any

import numpy as np

from .. import late, observe
from ..aliasing.versions import storage_of
from ..aliasing.views import HOLE, accumulator, gradient_edge, requires_grad
from ..calls.result_layout import all_arranged, arranged
from ..core.argument_checks import number_operand
from ..core.base import LAZY, CreationTag, Meta, TensorBase, View
from ..core.narrow import is_narrow
from ..core.sig import sig_of
from ..frames import is_from_elsewhere
from ..nodes.node import Port
from ..switches import state
from ..switches.quiet import QUIET, run_quietly
from ..switches.state import STATE
from .fast_path_source import CallSource
from .formula import Term
from .row_node import TAKEN, execute, is_plain

# Writes the source of the fast path of rows that return a view of their first argument, or several (`split`).
#
# All is stored by one function, and what follows from the operand's shape where there are several views is found in a
# plan.  That buys 9 of 19 µs for four views in the middle of a program, where whatever is touched (a function, a table,
# an object) has left the caches since the call before.

# Plans for rows that return several views: what their calls have in common, found once for each shape.

_MOST_PIECES = 256
_MOST_PLANS = 64
"""Plans that a row remembers, and the pieces of one."""


class Plan:
    """What calls of a row have in common where shape and dtype of the operand, and the parameters, are the same."""

    __slots__ = ("after", "args", "differentiable", "indices", "node_sigs", "numbers", "sigs")

    def __init__(self, op: Any, x: Any, others: tuple[Any, ...]) -> None:
        array = x._array
        indices = op.pieces(array.shape, *others)
        alike = indices.__class__ is range and len(indices) > 0  # rows, of which there may be many
        sigs = [sig_of(array[0])] * len(indices) if alike else [sig_of(array[index]) for index in indices]
        self.args = (HOLE, *others)
        """As ``View.args``."""
        self.sigs = tuple(sigs)
        self.node_sigs = tuple([sig.plain for sig in sigs]) if len(sigs) != 1 else sigs[0].alone
        self.differentiable = bool(sigs) and x._sig.differentiable
        self.indices, self.numbers = indices, range(len(sigs))
        self.after = [0.5 / (nr + 1) for nr in self.numbers]
        """How much newer than the node the port of each view is."""


def planning(op: Any, plans: dict[Any, Plan]) -> Callable[..., Plan]:
    """What makes a row's plans, and remembers those that are not long."""

    def planned(x: Any, *others: Any) -> Plan:
        plan = Plan(op, x, others)
        if len(plan.numbers) <= _MOST_PIECES:
            if len(plans) >= _MOST_PLANS:
                plans.clear()
            plans[x._sig, *others] = plan
        return plan

    return planned


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


class _Missing:
    """Stands for an argument that was not given."""


MISSING = _Missing()


def leaf_edge(t: Any) -> Any:
    """A leaf's new accumulator or a view's edge, ``None`` without gradient; ``LAZY``: take the general path."""
    meta, view = t._meta, t._meta.view
    if view is None:
        return accumulator(t) if meta.requires_grad else LAZY
    if view.fn is None:  # ``x[i]`` of data; but a view that was made before its base required grad is warned about
        return LAZY if meta.requires_grad or (view.base._fn is not None and requires_grad(view.base)) else None
    return view.fn if view.version == meta.storage.version else gradient_edge(t)


def sig_of_mixed(first: Any, array: Any) -> Any:
    """What is computed of two operands that lie differently looks like; ``None``: NumPy's order may not be PyTorch's.

    Where they disagree NumPy takes rows, and PyTorch the order of the first one.
    """
    return sig_of(array) if first._sig.in_order or array.strides == first._array.strides else None


def notify_call(op: Any, args: tuple[Any, ...], operands: list[Any], node: Any, results: list[Any], began: int) -> None:
    """Notify observers of a call on the fast path."""
    if STATE.in_handler:
        return
    took = now() - began
    for hear in observe.OPERATION:
        hear(op, args, node, operands, results, took)


_NAMES: dict[str, Any] = {
    "state": state, "observe": observe, "notify_call": notify_call, "now": now, "LAZY": LAZY, "leaf_edge": leaf_edge,
    "sig_of_mixed": sig_of_mixed, "accumulator": accumulator, "sig_of": sig_of, "number_operand": number_operand,
    "run_quietly": run_quietly, "ndarray": np.ndarray, "asarray": np.asarray,
    "TensorBase": TensorBase, "MISSING": MISSING, "next_number": state.next_number, "new": TensorBase.__new__,
    "STATE": STATE, "arranged": arranged, "all_arranged": all_arranged, "is_narrow": is_narrow,
    "is_from_elsewhere": is_from_elsewhere, **VIEW_NAMES,
}  # fmt: skip
TAKEN.update(_NAMES, ("Node", "ComplexNode", "general", "unrecorded", "computed", "become", "form", "function"))


def has_fast_path(op: Any) -> bool:
    """Whether a fast path can be generated for a row."""
    usual = op.tensor_positions[:1] < (op.required,) and (op.outputs == 1 or op.pieces) and not op.nondiff
    if QUIET is None or not is_plain(op) or not usual or op.toggles or op.sparse:
        return False
    return not op.view or (op.tensor_positions == (0,) and op.joint is None and not op.aux)


def with_fast_path(op: Any, general: Callable[..., Any], form: str) -> Any:
    """A function that becomes the row's fast path when first called; ``general`` itself if there is no fast path.

    ``form`` says what it takes: ``"row"`` all the row's arguments; ``"function"`` whatever ``general`` takes, with the
    fast path only for the required ones; ``"operator"`` just the required ones.
    """
    if not has_fast_path(op):
        return general
    names = {"__builtins__": __builtins__, "become": _become, "row": op, "general": general, "form": form}
    function: Any = FunctionType(_first_call.__code__, names, general.__name__)
    names["function"] = function
    function.__doc__, function.__module__ = general.__doc__, general.__module__
    return function


def _first_call(*args: Any, **kwargs: Any) -> Any:
    # the function's globals are its own, and hold what a closure would in seven objects for the garbage collector
    return become(function, row, general, form, args, kwargs)  # type: ignore[name-defined]  # noqa: F821


def _become(function: Any, op: Any, general: Any, form: str, args: Any, kwargs: Any) -> Any:
    """What the first call does."""
    if any(a.__class__ is Term for a in args):
        # A rule is being read as a formula. Making this row's node now would read its rules, which may call the
        # row whose rule is being read (sin and cos), and so on.
        return general(*args, **kwargs)
    _become_fast(function, op, general, form)
    return function(*args, **kwargs)


def _become_fast(function: FunctionType, op: Any, general: Callable[..., Any], form: str) -> None:
    """Replace the code object of ``function``, which is bound under many names already, by the generated one."""
    namespace = function.__globals__
    namespace.update(_NAMES, Tensor=late.tensor_class, Parameter=late.parameter_class)
    namespace.update(Node=op.node_class, ComplexNode=op.general_node_class)
    namespace.update(row=op, _forward=op.forward, general=_without_missing(general) if form == "function" else general)
    if hasattr(op.forward, "of_wider"):
        namespace["_of_wider"] = op.forward.of_wider
    source = PiecesCallSource if op.pieces else ViewCallSource if op.view else CallSource
    _generate(source(op, namespace, form).lines(), f"<calls of {op.name}>", namespace)
    made = namespace["call"]
    namespace["unrecorded"] = _unrecorded_later(source, op, namespace, form)
    function.__defaults__ = made.__defaults__
    function.__code__ = made.__code__  # at last: other threads may call meanwhile


def _generate(lines: list[str], where: str, namespace: dict[str, Any]) -> None:
    execute("\n".join(lines) + "\n", where, namespace)


def _unrecorded_later(source: Any, op: Any, namespace: dict[str, Any], form: str) -> Callable[..., Any]:
    """What serves calls in ``no_grad``, generated at the first (``x * y``: 1.3 µs, on the general path 7.5)."""

    def first(*args: Any, **kwargs: Any) -> Any:
        _generate(source(op, namespace, form).unrecorded_lines(), f"<calls of {op.name} in no_grad>", namespace)
        return namespace["unrecorded"](*args, **kwargs)

    return first


def _without_missing(general: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return general(*[a for a in args if a is not MISSING], **kwargs)

    return call
