"""The short way through the dispatcher: a function generated for each row that records the commonest calls itself.

It serves tensors of one dtype (and, in element-wise rows, Python numbers) while nothing special is switched on but
observers, whom it tells; every other call goes to the general way, ``dispatch`` or a public function, which does the
same for all.  What is generated is ordinary Python (tracebacks and profilers show it) and is made when a row is first
called.

What its lines buy, in ns for an operation on small arrays: the test of ``MODE`` in place of asking for each switch 150;
``__class__ is Tensor`` in place of ``isinstance`` 20; storing to slots in place of calling ``__init__`` 250; a leaf's
accumulator found here 120; setting NumPy's context variable in place of ``np.errstate`` 700; a number's array 290.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from . import observe, state
from .base import LAZY, TensorBase, tensor_class
from .dtypes import sig_of
from .formula import Formula, Term, formula_of
from .numbers_ import Number, number_operand
from .quiet import QUIET, reset_quiet, set_quiet
from .row_node import execute, is_plain, keep_numbers, ufuncs
from .views import accumulator, gradient_edge, requires_grad


class _Missing:
    """Stands for an argument that was not given."""


MISSING = _Missing()


def leaf_edge(t: Any) -> Any:
    """The accumulator of a leaf, or a view's edge, ``None`` without gradient; ``LAZY``: the general way has to look."""
    meta, view = t._meta, t._meta.view
    if view is None:
        if meta.accumulator is not None:
            node = meta.accumulator()
            if node is not None:
                return node
        return accumulator(t) if meta.requires_grad else LAZY
    if view.fn is None:  # ``x[i]`` of data; but a view that was made before its base required grad is warned about
        return LAZY if meta.requires_grad or requires_grad(view.base) else None
    return gradient_edge(t)


def told(op: Any, args: tuple[Any, ...], node: Any, result: Any) -> None:
    """Tell observers of a call; whatever else is switched on makes a call go the general way."""
    args = tuple([a.value if a.__class__ is Number else a for a in args])
    operands = [args[i] for i in op.tensor_positions if isinstance(args[i], TensorBase)]
    observe.tell("operation", op, args, node, operands, [result])


_NAMES: dict[str, Any] = {
    "state": state, "observe": observe, "told": told, "LAZY": LAZY, "leaf_edge": leaf_edge, "sig_of": sig_of,
    "number_operand": number_operand,
    "QUIET": QUIET, "set_quiet": set_quiet, "reset_quiet": reset_quiet, "ndarray": np.ndarray, "asarray": np.asarray,
    "TensorBase": TensorBase, "MISSING": MISSING, "next_number": state.next_number, "new": TensorBase.__new__,
}  # fmt: skip


def has_short_way(op: Any) -> bool:
    """Whether a row's commonest calls can be served by a generated function."""
    first = op.tensor_positions[:1]
    return QUIET is not None and is_plain(op) and not op.view and not op.nondiff and first < (op.required,)


def deferred(op: Any, general: Callable[..., Any], form: str) -> Any:
    """A function that becomes the row's short way when it is first called; ``general`` itself where there is none.

    ``form`` says what it takes: ``"row"`` all the row's arguments; ``"function"`` whatever ``general`` takes, where
    more than the required ones makes it the general way; ``"operator"`` just the required ones.
    """
    if not has_short_way(op):
        return general
    function: Any = FunctionType(_first_call.__code__, {"__builtins__": __builtins__}, general.__name__)

    def become(args: Any, kwargs: Any) -> Any:
        if any(a.__class__ is Term for a in args):
            # A rule is being read as a formula. Making this row's node now would read its rules, which may call the
            # row whose rule is being read (sin and cos), and so on.
            return general(*args, **kwargs)
        _become_short(function, op, general, form)
        return function(*args, **kwargs)

    function.__globals__["become"] = become
    function.__doc__, function.__module__ = general.__doc__, general.__module__
    return function


def _first_call(*args: Any, **kwargs: Any) -> Any:
    return become(args, kwargs)  # type: ignore[name-defined]  # noqa: F821 - the function's globals are its own


def _become_short(function: FunctionType, op: Any, general: Callable[..., Any], form: str) -> None:
    """Exchange the code of ``function``, which is bound under many names already."""
    namespace = function.__globals__
    namespace.update(_NAMES, Tensor=tensor_class(), Node=op.node_class, ComplexNode=op.general_node_class)
    namespace.update(row=op, _forward=op.forward, general=_without_missing(general) if form == "function" else general)
    text = "\n".join(_CallText(op, namespace, form).lines()) + "\n"
    execute(text, f"<calls of {op.name}>", namespace)
    made = namespace["call"]
    function.__code__, function.__defaults__ = made.__code__, made.__defaults__


def _without_missing(general: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return general(*[a for a in args if a is not MISSING], **kwargs)

    return call


class _CallText:
    """Writes the source of a row's short way; what it refers to is put into ``namespace``."""

    def __init__(self, op: Any, namespace: dict[str, Any], form: str) -> None:
        self.op, self.namespace, self.form = op, namespace, form
        required = list(op.params[: op.required])
        self.given = list(op.params) if form == "row" else required
        self.tensors = [name for name in op.tensor_names if name in self.given]
        self.optional = [name for name in self.tensors if name not in required]
        self.formula = self._formula()
        self.numbers = self.formula is not None and len(self.tensors) == 2
        """Whether the second operand may be a number."""
        self.leave = f"return general({', '.join(self.given)}{', *_rest, **_named' if form == 'function' else ''})"
        for name, value in zip(op.params[op.required :], op.defaults, strict=True):
            namespace[f"default_{name}"] = value
            if form != "row":
                namespace[name] = value

    def _formula(self) -> Formula | None:
        """The forward as formula; only element-wise rows of tensors alone have one."""
        op = self.op
        if op.kind != "elementwise" or not op.promote or op.aux or len(op.tensor_names) != op.required:
            return None
        if self.form == "row" and op.defaults:
            return None
        arrays = {f"_{name}": len(op.tensor_names) == 1 for name in op.tensor_names}
        formula = formula_of(op.forward, arrays, op.defaults)
        if formula is not None:
            self.namespace.update(ufuncs(formula))
            keep_numbers(formula)
        return formula

    def lines(self) -> list[str]:
        """The whole function."""
        parts = self._tests, self._second_operand, self._edges, self._computing, self._result, self._node
        return [f"def call({self._head()}):", *["    " + line for part in parts for line in part()]]

    def _head(self) -> str:
        if self.form == "function":
            return ", ".join(f"{name}=MISSING" for name in self.given) + ", /, *_rest, **_named"
        defaulted = self.op.params[self.op.required :]
        return ", ".join(f"{name}=default_{name}" if name in defaulted else name for name in self.given)

    def _tests(self) -> list[str]:
        """Leave for everything that is not common."""
        tests = ["_rest", "_named"] if self.form == "function" else []
        tests.append("(_mode and _mode != observe.COUNT)")
        for name in self.tensors[:1] if self.numbers else self.tensors:
            test = f"{name}.__class__ is not Tensor"
            tests.append(f"({name} is not None and {test})" if name in self.optional else test)
        lines = [
            "_mode = state.MODE",
            f"if {' or '.join(tests)}:",
            *self._bare_arrays(),
            f"    {self.leave}",
            f"sig = {self.tensors[0]}._sig",
        ]
        if self.op.promote and not self.numbers:
            differ = ["sig.floats is None" if self.formula is not None else "not sig.differentiable"]
            for name in self.tensors[1:]:
                test = f"{name}._sig.numpy is not sig.numpy"
                differ.append(f"({name} is not None and {test})" if name in self.optional else test)
            lines.append(f"if {' or '.join(differ)}: {self.leave}")
        return lines

    def _bare_arrays(self) -> list[str]:
        """Rules on bare arrays call rows too: those compute at once."""
        if self.form != "row" or self.op.aux:
            return []
        first, *others = self.tensors
        test = " and ".join([f"{first}.__class__ is ndarray", *[f"not isinstance({t}, TensorBase)" for t in others]])
        return [f"    if {test}: return _forward({', '.join(self.op.params)})"]

    def _second_operand(self) -> list[str]:
        """Beside a tensor: a tensor of the same dtype, or a number, in whose place its array is put."""
        if not self.numbers:
            return []
        other = self.given[1]
        tensor = [
            f"if {other}.__class__ is Tensor:",
            f"    if {other}._sig.numpy is not sig.numpy or sig.floats is None: {self.leave}",
        ]
        if not self.op.numbers:
            return [*tensor, f"else: {self.leave}"]
        return [
            *tensor,
            "else:",
            f"    if {other}.__class__ is float: _known = sig.floats",
            f"    elif {other}.__class__ is int: _known = sig.ints",
            f"    else: {self.leave}",
            f"    try: _number = _known[{other}]",
            f"    except (KeyError, TypeError): _number = number_operand(sig, {other})",
            f"    if _number is None: {self.leave}",
            f"    {other} = _number",
        ]

    def _edges(self) -> list[str]:
        leave = self._leave_later()
        lines = []
        for i, name in enumerate(self.op.diff_names):
            if name not in self.given:
                lines.append(f"_e{i} = None")
                continue
            found = f"None if {name} is None else {name}._fn" if name in self.optional else f"{name}._fn"
            lines += [f"_e{i} = {found}", f"if _e{i} is LAZY:", f"    _e{i} = leaf_edge({name})"]
            lines.append(f"    if _e{i} is LAZY: {leave}")
        for name in self.op.saved_names:
            if name in self.tensors:
                given = f"{name} is not None and " if name in self.optional else ""
                lines.append(f"if {given}{name}._meta is not None and {name}._meta.inference: {leave}")
        return lines

    def _leave_later(self) -> str:
        """Leave for the general way when a number's array may have taken the place of the second operand."""
        if not self.numbers:
            return self.leave
        other = self.given[1]
        return self.leave.replace(f", {other}", f", {other} if {other}.__class__ is Tensor else {other}.value", 1)

    def _computing(self) -> list[str]:
        """The forward, without NumPy's warnings; what does not fit is said by the general way."""
        if self.formula is not None:
            inner = [f"_{name} = {name}._array" for name in self.tensors] + self.formula.lines("_d")
        else:
            inner = [f"_d = _forward({', '.join(self._argument(name) for name in self.op.params)})"]
        lines = ["_token = set_quiet(QUIET)", "try:", *["    " + line for line in inner]]
        lines += [
            f"except (ValueError, TypeError, OverflowError): {self._leave_later()}",
            "finally: reset_quiet(_token)",
        ]
        if self.op.aux:
            lines.append(f"_d, {', '.join('_aux_' + name for name in self.op.aux)} = _d")
        return [*lines, "if _d.__class__ is not ndarray: _d = asarray(_d)"]

    def _argument(self, name: str) -> str:
        if name not in self.tensors:
            return name
        return f"None if {name} is None else {name}._array" if name in self.optional else f"{name}._array"

    def _result(self) -> list[str]:
        lines = ["_t = new(Tensor)", "_t._array = _d", "_t._meta = None"]
        if self.formula is None:
            lines.append("sig = sig_of(_d)")
        elif self.numbers:
            other = self.given[1]
            lines.append(f"if {other}.__class__ is Tensor and {other}._sig is not sig: sig = sig_of(_d)")
        none = " and ".join(f"_e{i} is None" for i in range(len(self.op.diff_names)))
        plain = none if self.formula is not None else f"({none}) or not sig.differentiable"
        lines += ["_t._sig = sig", f"if {plain}:", "    _t._fn = None"]
        return [*lines, f"    if _mode: {self._telling('None')}", "    return _t"]

    def _telling(self, node: str) -> str:
        return f"told(row, ({', '.join(self.op.params)},), {node}, _t)"

    def _node(self) -> list[str]:
        """The node, with what the rules of operands with an edge ask for."""
        made = "Node"
        if (self.op.kind == "elementwise" and self.formula is None) or self.op.ndim is not None:
            made = "Node if sig.floats is not None else ComplexNode"
        lines = [
            f"_t._fn = _n = new({made})",
            "_n._number = next_number()",
            "_n._sigs = sig.alone",
            "_n._extra = _n._pending = None",
            *[f"_n.edge_{i} = _e{i}" for i in range(len(self.op.diff_names))],
            *[f"_n.kept_{name} = {self._saved(i, name)}" for i, name in enumerate(self.op.saved_names)],
        ]
        lines += ["_n.output_storages = None"] if self.op.saves_result else []
        return [*lines, f"if _mode: {self._telling('_n')}", "return _t"]

    def _saved(self, i: int, name: str) -> str:
        op = self.op
        if op.joint is not None or len(op.diff_names) == 1:
            return self._value(name)
        askers = [k for k, diff in enumerate(op.diff_names) if i in op.rule_args[diff]]
        return f"{self._value(name)} if {' or '.join(f'_e{k} is not None' for k in askers)} else None"

    def _value(self, name: str) -> str:
        if name == "result":
            return "_d"
        if name in self.op.aux:
            return "_aux_" + name
        if name in self.op.params:
            return name
        operand = name.removesuffix("_sizes").removesuffix("_options")
        found = f"{operand}._sig.shape" if name.endswith("_sizes") else f"{operand}._sig"
        return f"(() if {operand} is None else {found})" if operand in self.optional else found
