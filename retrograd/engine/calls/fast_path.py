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

from .. import observe
from ..aliasing.views import accumulator, gradient_edge, requires_grad
from ..frames import is_from_elsewhere
from ..nodes.row_node import TAKEN, execute, is_plain
from ..switches import state
from ..switches.state import STATE
from ..tensors.base import LAZY, TensorBase, parameter_class, tensor_class
from ..tensors.narrow import is_narrow
from ..tensors.numbers_ import number_operand
from ..tensors.sig import sig_of
from .fast_path_source import CallSource
from .fast_views import VIEW_NAMES, PiecesCallSource, ViewCallSource
from .formula import Term
from .quiet import QUIET, run_quietly
from .result_layout import all_arranged, arranged


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
    """A function that becomes the row's fast path when it is first called; ``general`` itself where there is none.

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
    namespace.update(_NAMES, Tensor=tensor_class(), Parameter=parameter_class())
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
