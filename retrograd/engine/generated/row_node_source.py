"""Writes the source of a row's node class: its slots, and its sweep with the rules inlined."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.argument_checks import Number
from ..core.sig import intern_sig
from ..kernels.fused import KERNELS
from ..nodes.saved_display import parts
from .formula import Formula, formula_of


def ufuncs(formula: Formula) -> dict[str, Any]:
    """The functions of a formula by name: kernels and NumPy's."""
    return {name: KERNELS.get(name) or getattr(np, name) for name in formula.functions}


def keep_numbers(formula: Formula) -> None:
    """Make the cached arrays of a formula's numbers, in every dtype that formulas hold for."""
    for numpy in ("f4", "f8"):
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


_TAKING = ("g = _node._pending", "_node._pending = None")
_TAKING_IF_FAST = (
    "g = _node._pending",
    # a node that is older than the latest write looks at the versions of what it saved
    "if g is NOTHING or _node._number < storage.LAST_WRITE: return run_general(_node, heap, task)",
    "_node._pending = None",
)
"""Here, where all nodes are of one class, and not in the loop that runs them: Python reads a slot at a place that meets
several classes 0.02 µs slower."""
_ARRIVED = ("_p = _n._pending", "if _p is None:", "    _n._pending = gi")
_FIRST_IS_NEXT = (
    *_ARRIVED,
    "    if _next is None: _next = _n",
    "    elif _n.accumulates:",
    "        if _next.accumulates: _n, _next = _next, _n",  # leaves are filled in the order of operands
    "        task.leaves.append(_n)",
    "    else: heappush(heap, (-_n._number, _n))",
)
_LEAVES_WAIT = (
    *_ARRIVED,
    "    if _n.accumulates: task.leaves.append(_n)",
    "    elif _next is None: _next = _n",
    "    else: heappush(heap, (-_n._number, _n))",
)
"""The same for rows among whose operands there are weights: the node that runs next is found without the heap (5 µs
after a large product), but every node asks one question more (0.03 µs)."""
_IN_PLACE = ("elif getrefcount(_p) == 3 and _p.base is None:", "    _p += gi", "    _n._pending = _p")
_ADDING = (*_IN_PLACE, "else:", "    _n._pending = added(_p, gi)")
"""Add ``gi`` to what waits at the receiver; an array that nobody else holds is added to in place."""
_ADDING_OBSERVED = ("else:", "    _n._pending = _p + gi", "if gi is not NOTHING: _passed.append(gi)")
"""The same where observers have seen what waits: it stays as they saw it."""
_TELLING = (
    "if not STATE.in_handler:",
    "    for _hear in observe.SWEPT: _hear(_node, _arrived, _passed, _began, now())",
)
"""``observe.notify`` of a node that has run."""
_FITTING_TENSOR = (
    "if _e{i} is not None and _g{i} is not None:",
    "    sig = _e{i}._sigs[0]",
    "    if sig is not None and (_g{i}._sig is not sig or (_e{i}.accumulates and _e{i}._sigs is not sig.alone)):",
    "        _g{i} = fit_tensor(_node, {i}, _g{i}, _e{i})",
)
_PASSING_TENSOR_ON = (
    "if _e{i} is None: pass",
    "elif _e{i}._pending is None:",
    "    _e{i}._pending = NOTHING if _g{i} is None else _g{i}",
    "    if _e{i}.accumulates: task.leaves.append(_e{i})",
    "    elif _next is None: _next = _e{i}",
    "    else: heappush(heap, (-_e{i}._number, _e{i}))",
    "elif _g{i} is not None: _e{i}._pending = _e{i}._pending + _g{i}",
)


class NodeClassSource:
    """Writes the source of a node class; what it refers to is put into ``namespace``."""

    def __init__(self, op: Any, namespace: dict[str, Any], result: tuple[str, ...], inlined: bool) -> None:
        self.op, self.namespace, self.result, self.inlined = op, namespace, result, inlined
        self.slots = [f"kept_{name}" for name in op.saved_names]
        self.freed = op.freed_slots
        self.edges = [f"edge_{i}" for i in range(len(op.diff_names))]
        self.arriving = _FIRST_IS_NEXT if len(self.edges) < 3 and op.ndim is None else _LEAVES_WAIT

    def lines(self) -> list[str]:
        """The lines of the class."""
        slots = [*(self.edges if self.inlined else ["_edges"]), *self.slots, *self.result]
        return [
            f"class {self.op.node_name}(OpNode):",
            f"    __slots__ = {tuple(slots)!r}",
            "    op = row",
            *(["    results_alike = True"] if self.op.alike else []),
            *(self._edge_property() if self.inlined else []),
            *self._saved_property(),
            *(self._sweep() if self.inlined else []),
        ]

    def _edge_property(self) -> list[str]:
        edges = "".join(f"self.{e}, " for e in self.edges)
        reading = f"lambda self: ({edges})"
        if len(self.edges) > 1:  # read in C: 0.3 µs less for each node that a walk over the graph comes by
            reading = f"attrgetter({', '.join(map(repr, self.edges))})"
        return [
            "    def _set_edges(self, edges):",
            f"        {edges} = edges",
            f"    _edges = property({reading}, _set_edges)",
        ]

    def _saved_property(self) -> list[str]:
        """Lines of the property ``saved``: what the node keeps, read from its slots and written into them."""
        operands = {f"kept_{name}" for name in self.op.tensor_names}  # these may be numbers
        number = "self.{0}.value if self.{0}.__class__ is Number else self.{0}, "
        saved = "".join((number if s in operands else "self.{0}, ").format(s) for s in self.slots)
        freed = [f"        if self.{self.freed[0]} is FREED: return None"] if self.freed else []
        keep = f"{''.join(f'self.{s}, ' for s in self.slots)} = slot_values(row, values)" if self.slots else "pass"
        return [
            "    @property",
            "    def saved(self):",
            *freed,
            f"        return ({saved})",
            "    @saved.setter",
            "    def saved(self, values):",
            f"        {keep}",
        ]

    def _sweep(self) -> list[str]:
        lines = [*_TAKING_IF_FAST, *self._checking(), "_next = None", *self._gathering()]
        for i, name in enumerate(self.op.diff_names):
            lines += self._operand(i, name, _ADDING)
        lines += [*self._freeing(), "return _next"]
        return ["    def _sweep(_node, heap, task):", *["        " + line for line in lines]]

    def observed_lines(self) -> list[str]:
        """The source of ``_sweep_observed``, a function."""
        arrived = "[g]" if self.op.outputs == 1 else "g if len(_node._sigs) > 1 else [g]"
        lines = ["_began = now()", "_next, _passed = None, []", f"_arrived = {arrived}", *self._gathering()]
        for i, name in enumerate(self.op.diff_names):
            lines += self._operand(i, name, _ADDING_OBSERVED)
        lines = [*_TAKING, *self._checking(), *lines, *self._freeing(), *_TELLING, "return _next"]
        return ["def _sweep_observed(_node, heap, task):", *["    " + line for line in lines]]

    def tensor_lines(self) -> list[str]:
        """The source of ``_sweep_tensors``, a function: the rules are called with tensors.

        All their results are made to fit before the first is added to another, as the order of new nodes shows.
        """
        places = range(len(self.edges))
        lines = [*self._tensor_loads(), *[f"_e{i} = _node.{edge}" for i, edge in enumerate(self.edges)]]
        if self.op.joint is not None:
            needs = "".join(f"_e{i} is not None, " for i in places)
            results = "".join(f"_g{i}, " for i in places)
            lines.append(f"{results} = joint(g, ({needs}), {self._asked('*')})")
        for i, name in enumerate(self.op.diff_names if self.op.joint is None else ()):
            self.namespace[f"rule_{i}"] = self.op.rules[name]
            lines.append(f"_g{i} = None if _e{i} is None else rule_{i}(g, {self._asked(name)})")
        for i in places:
            lines += [line.format(i=i) for line in _FITTING_TENSOR]
        lines += [*self._freeing(), "_next = None"]
        for i in places:
            lines += [line.format(i=i) for line in _PASSING_TENSOR_ON]
        lines = [*_TAKING, *self._checking(), *lines, "return _next"]
        return ["def _sweep_tensors(_node, heap, task):", *["    " + line for line in lines]]

    def _tensor_loads(self) -> list[str]:
        """What was saved as rules on tensors take it: the node's own output as a tensor that it made."""
        lines = []
        for k, name in enumerate(self.op.saved_names):
            lines.append(f"{name} = _node.kept_{name}")
            if name == "result":
                lines.append("result = _node._read_one_result(result, 0, True)")
            elif k in self.op.saved_places:
                lines.append(f"{name} = _node._read_tensor({name!r}, {name})")
            elif name in self.op.tensor_names:
                lines.append(f"if {name}.__class__ is Number: {name} = {name}.value")
        return lines

    def _asked(self, rule: str) -> str:
        """The values that a rule asks for, as arguments."""
        return ", ".join([self.op.saved_names[k] for k in self.op.rule_args[rule]])

    def _checking(self) -> list[str]:
        return [f"if _node.{self.freed[0]} is FREED: raise RuntimeError(SECOND_TIME)"] if self.freed else []

    def _gathering(self) -> list[str]:
        """The statements before the rules of the operands."""
        gathered = "g = _node.gathered(g if len(_node._sigs) > 1 else [g], False)"
        several = [] if self.op.outputs == 1 else [gathered]
        return several if self.op.joint is None else [*several, *self._joint()]

    def _operand(self, i: int, name: str, adding: tuple[str, ...]) -> list[str]:
        lines = ["    " + line for line in (*self._rule(i, name), *self.arriving, *adding)]
        return [f"_n = _node.{self.edges[i]}", "if _n is not None:", *lines]

    def _freeing(self) -> list[str]:
        if not self.freed:
            return []
        maybe_none = [s for s in self.freed[1:] if s in self.op.optional_slots]
        plain = " = ".join(f"_node.{s}" for s in self.freed if s not in maybe_none)
        optional = [f"    if _node.{s} is not None: _node.{s} = FREED" for s in maybe_none]
        return ["if task.frees:", f"    {plain} = FREED", *optional]

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
        """The statements of a rule's formula, and of fitting its value to the receiver."""
        self.namespace.update(ufuncs(formula))
        keep_numbers(formula)
        sig = ["sig = _node._sigs[0]"] if formula.numbers else []
        loads = [f"{a} = _node.kept_{a}" + ("" if a == "result" else "._array") for a in arrays]
        fit = [f"if _n._sigs is not _node._sigs or gi.__class__ is not ndarray: gi = fit_one(_node, {i}, gi, _n)"]
        return [*loads, *sig, *formula.lines("gi"), *(fit if self.op.ndim is None else self._fitting(i))]

    def _holds(self, assumed: dict[str, Any]) -> str:
        """The condition under which a formula holds."""
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
            if name in self.op.spare:
                lines.append(f"if _node.may_be_written_unseen(): {name} = None")
            if name in self.op.tensor_names:
                other = f"None if {name} is None else array_of({name})"
                plain = f"{name}.__class__ is Tensor or {name}.__class__ is Parameter"
                lines.append(f"{name} = {name}._array if {plain} else {other}")
        return lines

    def _fitting(self, i: int) -> list[str]:
        return [
            "sig = _n._sigs[0]",
            "if gi.__class__ is not ndarray or gi.dtype is not sig.numpy or gi.shape != sig.shape or (",
            "    _n._sigs is not sig.alone",  # a leaf with a ``grad_dtype``
            f"): gi = fit_one(_node, {i}, gi, _n)",
        ]
