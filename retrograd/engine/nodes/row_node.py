"""The node class of a row, generated: one slot per edge and per saved value, and a ``_sweep`` with the rules inside.

What is generated is ordinary Python (tracebacks and profilers show it).  What its lines buy, in ns for each operation
of a chain of small ones: slots in place of tuples of edges and saved values 100; a rule's formula in place of a call
of the rule 150 to 400; passing gradients on in place, by number of the receiver, 250; the identity test of ``_sigs``
in place of comparing shape and dtype 120.
"""

from __future__ import annotations

import linecache
from heapq import heappush
from sys import getrefcount
from typing import Any

import numpy as np

from ..aliasing import storage
from ..calls.formula import Formula, formula_of
from ..execution.fit import fit_one
from ..frames import ENGINE
from ..tensors.base import TensorBase, tensor_class
from ..tensors.dtypes import intern_sig
from ..tensors.numbers_ import Number
from .derived import parts
from .node import NOTHING
from .opnode import OpNode
from .saved import SECOND_TIME, SavedTensor


class _Freed:
    """Stands in the slots of saved values that were released."""

    def __repr__(self) -> str:
        return "FREED"


FREED = _Freed()


def shown(value: Any) -> Any:
    """A slot's value as the row's rules know it."""
    return value.value if value.__class__ is Number else value


def array_of(value: Any) -> Any:
    """A saved operand as rules on bare arrays take it: an array, a Python number, or ``None``."""
    return value._array if isinstance(value, TensorBase) else shown(value)


def by_rule(node: Any, i: int, g: Any) -> Any:
    """The gradient for operand ``i`` by its rule, where the rule's formula does not hold."""
    op, saved = node.op, node.saved
    name = op.diff_names[i]
    return op.rules[name](g, *[array_of(saved[k]) for k in op.rule_args[name]])


def kept(op: Any, values: Any) -> Any:
    """Saved values as slots keep them; numbers among the operands come with what stands for their array."""
    if values is None:
        return [FREED] * len(op.saved_names)
    found = []
    for name, value in zip(op.saved_names, values, strict=True):
        if value.__class__ is SavedTensor:
            storage.stamp_write()  # there may be handles, which only OpNode._run reads: it is asked from now on
        number = name in op.tensor_names and isinstance(value, (bool, int, float, complex))
        found.append(Number(value, value) if number else value)
    return found


def is_plain(op: Any) -> bool:
    """Whether a row's nodes can be generated: no lists, no names that the generated code uses, one output (or several
    of which none is saved)."""
    names = {*op.params, *op.aux}
    return (op.outputs == 1 or not op.saves_result) and not op.lists and bool(op.diff_names) and not names & _TAKEN


_TAKEN = frozenset({
    "g", "gi", "sig", "heap", "task", "row", "joint", "state", "new", "now", "general", "Tensor", "TensorBase", "Node",
    "ComplexNode", "OpNode", "Number", "FREED", "NOTHING", "LAZY", "QUIET", "MISSING", "SECOND_TIME", "array_of",
    "asarray", "by_rule", "fit_one", "getrefcount", "heappush", "kept", "leaf_edge", "ndarray", "next_number",
    "number_operand", "observe", "reset_quiet", "set_quiet", "shown", "sig_of", "told", "HOLE", "make_view",
    "accumulator",
})  # fmt: skip
"""Names that generated code uses itself."""


def make_node_class(op: Any) -> type[OpNode]:
    """The node class of a row."""
    name = op.node_name
    if not is_plain(op) or not name.isidentifier():
        slots = ("_edges", "saved", *result_slots(op))
        return type(name, (OpNode,), {"__slots__": slots, "op": op, "__module__": __name__})
    namespace = dict(_NAMES, Tensor=tensor_class(), row=op, joint=op.joint)
    text = "\n".join(_ClassText(op, namespace).lines()) + "\n"
    execute(text, f"<node of {op.name}>", namespace)
    made: type[OpNode] = namespace[name]
    made.__module__ = __name__
    return made


def result_slots(op: Any) -> tuple[str, ...]:
    """The slot of nodes that keep their own output."""
    return ("output_storages",) if op.saves_result else ()


def execute(text: str, where: str, namespace: dict[str, Any]) -> None:
    """Run generated source; tracebacks show it as a file of the engine."""
    where = ENGINE + where
    linecache.cache[where] = (len(text), None, text.splitlines(True), where)
    exec(compile(text, where, "exec"), namespace)


_NAMES: dict[str, Any] = {
    "OpNode": OpNode, "FREED": FREED, "SECOND_TIME": SECOND_TIME, "Number": Number, "shown": shown, "kept": kept,
    "array_of": array_of, "by_rule": by_rule, "fit_one": fit_one, "heappush": heappush, "getrefcount": getrefcount,
    "ndarray": np.ndarray, "asarray": np.asarray, "NOTHING": NOTHING,
}  # fmt: skip


def ufuncs(formula: Formula) -> dict[str, Any]:
    """The NumPy functions of a formula by name."""
    return {name: getattr(np, name) for name in formula.functions}


def keep_numbers(formula: Formula) -> None:
    """Make the arrays of a formula's numbers, which stay: in every real dtype."""
    for numpy in ("f2", "f4", "f8"):
        sig = intern_sig((), np.dtype(numpy))
        for number in formula.numbers:
            known = sig.floats if number.__class__ is float else sig.ints
            assert known is not None
            with np.errstate(all="ignore"):
                known[number] = Number(number, np.array(number, numpy))


def rule_formula(op: Any, name: str, by_columns: bool = False) -> tuple[Formula | None, dict[str, Any]]:
    """The rule of an operand as formula, and the values that it takes some things to have: parameters their defaults,
    and whether the operand is laid out ``by_columns``."""
    asked = [op.saved_names[i] for i in op.rule_args[name]]
    arrays = {a: a == "result" or len(op.tensor_positions) == 1 for a in asked if a in (*op.tensor_names, "result")}
    rest = asked[len(arrays) :]
    defaults = dict(zip(op.params[op.required :], op.defaults, strict=True))
    readable = op.ndim is not None or (op.kind == "elementwise" and op.promote)
    for r in rest:
        if _is_layout(r):
            defaults[r] = by_columns
    known = readable and all(r in defaults for r in rest)
    if not known or list(arrays) != asked[: len(arrays)]:
        return None, {}
    if op.ndim is not None:
        arrays = dict.fromkeys(arrays, False)  # their shapes differ
    formula = formula_of(op.rules[name], {"g": True, **arrays}, tuple([defaults[r] for r in rest]), op.ndim)
    return formula, {r: defaults[r] for r in rest}


def _is_layout(name: str) -> bool:
    return parts(name)[1] == "_by_columns"


_PASSING_ON = (
    "_p = _n._pending",
    "if _p is None:",
    "    _n._pending = gi",
    "    if _next is None: _next = _n",
    "    elif _n.accumulates: task.leaves.append(_n)",
    "    else: heappush(heap, (-_n._number, _n))",
    "elif getrefcount(_p) == 3 and _p.base is None:",
    "    _p += gi",
    "    _n._pending = _p",
    "else:",
    "    _n._pending = _p + gi",
)
"""Add ``gi`` to what waits at the receiver; an array that nobody else holds is added to in place."""


class _ClassText:
    """Writes the source of a node class; what it refers to is put into ``namespace``."""

    def __init__(self, op: Any, namespace: dict[str, Any]) -> None:
        self.op, self.namespace = op, namespace
        self.slots = [f"kept_{name}" for name in op.saved_names]
        self.edges = [f"edge_{i}" for i in range(len(op.diff_names))]

    def lines(self) -> list[str]:
        slots = [*self.edges, *self.slots, *result_slots(self.op)]
        return [
            f"class {self.op.node_name}(OpNode):",
            f"    __slots__ = {tuple(slots)!r}",
            "    op = row",
            *self._properties(),
            *self._sweep(),
        ]

    def _properties(self) -> list[str]:
        edges = "".join(f"self.{e}, " for e in self.edges)
        operands = {f"kept_{name}" for name in self.op.tensor_names}  # what a number may stand for
        number = "self.{0}.value if self.{0}.__class__ is Number else self.{0}, "
        saved = "".join((number if s in operands else "self.{0}, ").format(s) for s in self.slots)
        freed = [f"        if self.{self.slots[0]} is FREED: return None"] if self.slots else []
        keep = f"{''.join(f'self.{s}, ' for s in self.slots)} = kept(row, values)" if self.slots else "pass"
        return [
            "    @property",
            "    def _edges(self):",
            f"        return ({edges})",
            "    @_edges.setter",
            "    def _edges(self, edges):",
            f"        {edges} = edges",
            "    @property",
            "    def saved(self):",
            *freed,
            f"        return ({saved})",
            "    @saved.setter",
            "    def saved(self, values):",
            f"        {keep}",
        ]

    def _sweep(self) -> list[str]:
        lines = ["    def _sweep(_node, g, heap, task):"]
        if self.slots and self.op.tensor_saved:
            lines.append(f"        if _node.{self.slots[0]} is FREED: raise RuntimeError(SECOND_TIME)")
        lines.append("        _next = None")
        if self.op.outputs != 1:
            lines.append("        g = _node.gathered(g if len(_node._sigs) > 1 else [g], False)")
        if self.op.joint is not None:
            lines += ["        " + line for line in self._joint()]
        for i, name in enumerate(self.op.diff_names):
            lines += [f"        _n = _node.{self.edges[i]}", "        if _n is not None:"]
            lines += ["            " + line for line in (*self._rule(i, name), *_PASSING_ON)]
        if self.slots and self.op.tensor_saved:
            lines.append(f"        if task.frees: {' = '.join(f'_node.{s}' for s in self.slots)} = FREED")
        lines.append("        return _next")
        return lines

    def _joint(self) -> list[str]:
        needs = "".join(f"_node.{e} is not None, " for e in self.edges)
        values = [self.op.saved_names[i] for i in self.op.rule_args["*"]]
        lines = [*self._loads(values), f"_results = joint(g, ({needs}), {', '.join(values)})"]
        if self.op.outputs == 1:
            return lines
        nothing = f"_results = (None,) * {len(self.edges)}"
        return [f"if g is None: {nothing}", "else:", *["    " + line for line in lines]]

    def _rule(self, i: int, name: str) -> list[str]:
        """Statements that leave the gradient for operand ``i`` in ``gi``, made to fit its receiver."""
        if self.op.joint is not None:
            return [f"gi = _results[{i}]", *self._fitting(i)]
        asked = [self.op.saved_names[k] for k in self.op.rule_args[name]]
        formula, assumed = rule_formula(self.op, name)
        if formula is None:
            self.namespace[f"rule_{i}"] = self.op.rules[name]
            call = f"rule_{i}({', '.join(['g', *asked])})"
            value = call if self.op.outputs == 1 else f"None if g is None else {call}"
            return [*self._loads(asked), f"gi = {value}", *self._fitting(i)]
        if not assumed:
            return self._short(i, formula, asked)
        lines: list[str] = []
        for columns in (False, True) if True in map(_is_layout, assumed) else (False,):
            formula, assumed = rule_formula(self.op, name, columns)
            if formula is not None:
                short = self._short(i, formula, [a for a in asked if a not in assumed])
                lines += [f"{'el' * bool(lines)}if {self._holds(assumed)}:", *["    " + s for s in short]]
        other = [f"gi = by_rule(_node, {i}, g)", *self._fitting(i)]
        return [*lines, "else:", *["    " + s for s in other]]

    def _short(self, i: int, formula: Formula, arrays: list[str]) -> list[str]:
        """The statements of a rule's formula, and what makes its value fit."""
        self.namespace.update(ufuncs(formula))
        keep_numbers(formula)
        sig = ["sig = _node._sigs[0]"] if formula.numbers else []
        loads = [f"{a} = _node.kept_{a}" + ("" if a == "result" else "._array") for a in arrays]
        fit = [f"if _n._sigs is not _node._sigs or gi.__class__ is not ndarray: gi = fit_one(_node, {i}, gi, _n)"]
        return [*loads, *sig, *formula.lines("gi"), *(fit if self.op.ndim is None else self._fitting(i))]

    def _holds(self, assumed: dict[str, Any]) -> str:
        """The test of what a formula assumes."""
        tests = []
        for name, value in assumed.items():
            self.namespace[f"default_{name}"] = value
            layout = f"{'' if value else 'not '}_node.kept_{name}"
            tests.append(layout if _is_layout(name) else f"_node.kept_{name} is default_{name}")
        return " and ".join(tests)

    def _loads(self, names: list[str]) -> list[str]:
        lines = []
        for name in names:
            lines.append(f"{name} = _node.kept_{name}")
            if name in self.op.tensor_names:
                other = f"None if {name} is None else array_of({name})"
                lines.append(f"{name} = {name}._array if {name}.__class__ is Tensor else {other}")
        return lines

    def _fitting(self, i: int) -> list[str]:
        return [
            "sig = _n._sigs[0]",
            "if gi.__class__ is not ndarray or gi.dtype is not sig.numpy or gi.shape != sig.shape or (",
            "    _n._sigs is not sig.alone",  # a leaf with a ``grad_dtype``
            f"): gi = fit_one(_node, {i}, gi, _n)",
        ]
