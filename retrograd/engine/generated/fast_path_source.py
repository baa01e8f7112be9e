"""Writes the source of a row's fast path (``fast_path`` says what that is, docs/generated_code.md shows one).

What each idea saves, in ns for an operation on small arrays: one test of ``MODE`` instead of asking for each switch
150; ``__class__ is Tensor`` instead of ``isinstance`` 20; storing to slots instead of ``__init__`` 250; inlining the
look-up of a leaf's accumulator 120, of a view's node 100; a context in which NumPy does not warn instead of
``np.errstate`` 1100; interned arrays for Python numbers 290; separate statements for a number as second operand 150.
"""

from __future__ import annotations

from typing import Any

from ..calls.result_layout import BARE_LAYOUTS
from ..nodes.saved_display import KINDS, parts
from .formula import Formula, formula_of
from .row_node_source import keep_numbers, ufuncs

WHOLE = ("dim", "dim0", "dim1", "index", "p")
"""Parameters that are whole numbers in every row; what else is given for them, the general way looks at."""


class CallSource:
    """Writes the source of a row's fast path; the objects that it refers to are put into ``namespace``."""

    def __init__(self, op: Any, namespace: dict[str, Any], form: str) -> None:
        self.op, self.namespace, self.form = op, namespace, form
        required = list(op.params[: op.required])
        self.given = list(op.params) if form == "row" else required
        self.tensors = [name for name in op.tensor_names if name in self.given]
        self.optional = [name for name in self.tensors if name not in required]
        self.formula = self._formula()
        self.pair = self.formula is not None and len(self.tensors) == 2
        """Whether the second operand may be a number."""
        self.number = False
        """Whether what is being written is for a number as second operand."""
        self.recording = True
        """Whether what is being written is for calls that may be recorded, not for those in ``no_grad``."""
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
        return [*self._computed(), *self._call()]

    def unrecorded_lines(self) -> list[str]:
        """The function that takes over where nothing is on but this thread's ``no_grad``: the same without a record."""
        self.recording = False
        return self._call()

    def _call(self) -> list[str]:
        body = [*self._tests()]
        if self.pair:
            self.number = True
            numbers = [*self._find_number(), *self._way()] if self.op.numbers else [self.leave]
            self.number = False
            other = f"_kind = {self.given[1]}.__class__"
            body += [other, "if _kind is not Tensor and _kind is not Parameter:", *indented(numbers)]
        head = f"def {'call' if self.recording else 'unrecorded'}({self._head()}):"
        return [head, *indented([*body, *self._same_dtype(), *self._way()])]

    def _head(self) -> str:
        if self.form == "function":
            return ", ".join(f"{name}=MISSING" for name in self.given) + ", /, *_rest, **_named"
        defaulted = self.op.params[self.op.required :]
        return ", ".join(f"{name}=default_{name}" if name in defaulted else name for name in self.given)

    def _tests(self) -> list[str]:
        """Leave for the general path unless the call is a common one."""
        tests = ["_rest", "_named"] if self.form == "function" else []
        tests.append("(_mode and _mode != observe.COUNT)" if self.recording else "state.MODE != 1")
        for name in self.tensors[:1] if self.pair else self.tensors:
            test = _other(name)
            tests.append(f"({name} is not None and {test})" if name in self.optional else f"({test})")
        if self.form == "function":
            tests += [
                f"{name}.__class__ is not int" for name in self.given if name in WHOLE and name not in self.tensors
            ]
        mode = ["_mode = state.MODE", "_began = _mode and now()"] if self.recording else []
        return [
            *mode,
            f"if {' or '.join(tests)}:",
            *(self._elsewhere() if self.recording else []),
            f"    {self.leave}",
            f"sig = {self.tensors[0]}._sig",
        ]

    def _elsewhere(self) -> list[str]:
        """Calls that are neither recorded here nor the general path's."""
        without = self.leave.replace("return general(", "return unrecorded(", 1)
        return [*self._bare_arrays(), f"    if _mode == 1 and not STATE.grad_enabled: {without}"]

    def _bare_arrays(self) -> list[str]:
        """Rules on bare arrays call rows as well: then only the forward runs."""
        if self.form != "row" or self.op.aux:
            return []
        first, *others = self.tensors
        test = " and ".join([f"{first}.__class__ is ndarray", *[f"not isinstance({t}, TensorBase)" for t in others]])
        call = f"_forward({', '.join(self.op.params)})"
        if self.op.layout in BARE_LAYOUTS and self.formula is None:  # (in its formula NumPy keeps them)
            call += f" if {first}.flags.c_contiguous else all_arranged(row, {call}, ({', '.join(self.tensors)},))"
        return [f"    if {test}: return {call}"]

    def _find_number(self) -> list[str]:
        """The interned array of a Python number as second operand."""
        other = self.given[1]
        return [
            "if _kind is float: _known = sig.floats",
            "elif _kind is int: _known = sig.ints",
            f"else: {self.leave}",
            f"try: _number = _known[{other}]",
            f"except (KeyError, TypeError): _number = number_operand(sig, {other})",
            f"if _number is None: {self.leave}",
        ]

    def _same_dtype(self) -> list[str]:
        """Leave where operands must be promoted."""
        usual = self.formula is not None or self.op.kinds or self.op.real_only
        other = "sig.floats is None" if usual else "not sig.quick"
        if not self.op.promote:
            asked = ["if dtype is not None and is_narrow(dtype): " + self.leave] if self._asks_for_dtype() else []
            if self.op.kinds or self.op.real_only:
                return [f"if {other}: {self.leave}", *asked]
            return [f"if {self._any_narrow()}: {self.leave}", *asked]
        differ = [other]
        for name in self.tensors[1:]:
            test = f"{name}._sig.numpy is not sig.numpy"
            differ.append(f"({name} is not None and {test})" if name in self.optional else test)
        return [f"if {' or '.join(differ)}: {self.leave}"]

    def _asks_for_dtype(self) -> bool:
        """Whether the call may ask for the result's dtype, which may be one that NumPy has not."""
        return "dtype" in self.given and "dtype" not in self.tensors

    def _any_narrow(self) -> str:
        """The test that an operand is of a dtype that NumPy has not."""
        narrow = ["sig.narrow"]
        for name in self.tensors[1:]:
            narrow.append(
                f"({name} is not None and {name}._sig.narrow)" if name in self.optional else f"{name}._sig.narrow"
            )
        return " or ".join(narrow)

    def _way(self) -> list[str]:
        """From the operands to the result."""
        if self.recording:
            return [*self._edges(), *self._computing(), *self._result(), *self._node()]
        return [*self._leaving(), *self._computing(), *self._unrecorded()]

    def _unrecorded(self) -> list[str]:
        """What follows the computation where nothing is recorded."""
        return [*self._tensor(), "_t._sig = sig", "_t._fn = None", "return _t"]

    def _leaving(self) -> list[str]:
        """Lines that leave for what ``_edges`` leaves for, where no edge is looked for."""
        return []

    def _operands(self) -> list[str]:
        """The operands that are tensors."""
        return self.tensors[:1] if self.number else self.tensors

    def _linked(self) -> list[int]:
        """Positions in ``diff_names`` of the operands that may have an edge."""
        return [i for i, name in enumerate(self.op.diff_names) if name in self._operands()]

    def _edges(self) -> list[str]:
        """Lines that find where each operand's gradient goes; operands made for inference leave the fast path."""
        lines = []
        for i in self._linked():
            name = self.op.diff_names[i]
            found = f"None if {name} is None else {name}._fn" if name in self.optional else f"{name}._fn"
            lines += [
                f"_e{i} = {found}",
                f"if _e{i} is LAZY:",
                f"    _m = {name}._meta",
                "    _v = _m.view",
                f"    if _v is not None: _e{i} = _v.fn if _v.version == _m.storage.version else None",
                f"    else: _e{i} = None if _m.accumulator is None else _m.accumulator()",
                f"    if _e{i} is None:",
                f"        _e{i} = accumulator({name}) if _v is None and _m.requires_grad else leaf_edge({name})",
                f"        if _e{i} is LAZY: {self.leave}",
            ]
        for name in self.op.saved_names:
            if name in self._operands() and self._saved(name) != "None":
                given = f"{name} is not None and " if name in self.optional else ""
                lines.append(f"if {given}{name}._meta is not None and {name}._meta.inference: {self.leave}")
        for name in sorted(self.op.array_lists.intersection(self.op.saved_names)):
            inference = "getattr(_p, '_meta', None) is not None and _p._meta.inference"
            lines += [f"for _p in {name}:", f"    if {inference}: {self.leave}"]
        return lines

    def _computing(self) -> list[str]:
        """The forward, without NumPy's warnings; errors are raised by the general path, which words them.

        It is called when the error has been left: otherwise tracebacks would show both.
        """
        if self.formula is not None:
            forward = f"run_quietly({self._kernel(self.formula)})"
        else:
            forward = f"run_quietly({self._forward()}, {', '.join(self._argument(name) for name in self.op.params)})"
        errors = "ValueError, TypeError, OverflowError, RuntimeError"  # the last one also where another thread computes
        return [
            f"try: {', '.join(['_d', *['_aux_' + name for name in self.op.aux]])} = {forward}",
            f"except ({errors}) as _error:",
            "    if is_from_elsewhere(_error): raise",  # what a signal's handler raised meanwhile is the program's
            "    _d = None",
            "if _d.__class__ is not ndarray:",
            f"    if _d is None: {self.leave}",
            "    _d = asarray(_d)",
            *self._arranging(),
        ]

    def _forward(self) -> str:
        """The forward; where halves are computed otherwise, the one of wider numbers without a look at the arrays."""
        return "(_of_wider if sig.floats is not None else _forward)" if "_of_wider" in self.namespace else "_forward"

    def _arranging(self) -> list[str]:
        """Lines that give the result the layout of PyTorch's, where the forward may have chosen another.

        NumPy's functions of one operand keep its layout, as PyTorch does; of two, their ``_sig`` tell: looking at
        arrays here would take an addition 10 % more time.
        """
        layout = self.op.layout
        if not layout or (self.formula is not None and layout in BARE_LAYOUTS):
            return []
        every = layout == "operands"
        needed = {*self._operands(), *self.op.array_names}.difference(() if every else self.optional)
        operands = [
            self._argument(name) if name in self.tensors else f"getattr({name}, '_array', {name})"
            for name in self.op.params
            if name in needed
        ]
        given = f"({', '.join(operands)},)"
        if every and self.optional:
            given = f"[_a for _a in {given} if _a is not None]"
        arranging = [f"_d = arranged({layout!r}, _d, {given})", "sig = sig_of(_d)"]
        if layout == "columns":
            return arranging
        several = {"rows": ["_d"], "operands": [operands[0], "_d"], "formats": operands[:2], "swapped": operands[:2]}
        looked_at = several.get(layout, operands[:1])
        return [f"if not ({' and '.join(f'{a}.flags.c_contiguous' for a in looked_at)}):", *indented(arranging)]

    def _is_one_ufunc(self, formula: Formula) -> bool:
        """Whether a formula is one function of NumPy, called with operands alone."""
        first, *others = formula.steps
        return not others and set(first.operands) <= {f"_{name}" for name in self.tensors}

    def _kernel(self, formula: Formula) -> str:
        """A formula as a function and its arguments: a function of NumPy alone, or ``computed``."""
        if self._is_one_ufunc(formula):
            step = formula.steps[0]
            return ", ".join([step.function, *[self._array(operand.removeprefix("_")) for operand in step.operands]])
        return ", ".join(["computed", "sig", *map(self._array, self.tensors)])

    def _array(self, name: str) -> str:
        """The array of an operand, which may be the second one and a number."""
        return f"{name if name in self._operands() else '_number'}._array"

    def _computed(self) -> list[str]:
        """The formula as a function, for ``_kernel``."""
        if self.formula is None or self._is_one_ufunc(self.formula):
            return []
        head = f"def computed(sig, {', '.join(f'_{name}' for name in self.tensors)}):"
        return [head, *indented([*self.formula.lines("_d"), "return _d"])]

    def _argument(self, name: str) -> str:
        if name not in self.tensors:
            return name
        return f"None if {name} is None else {name}._array" if name in self.optional else f"{name}._array"

    def _tensor(self) -> list[str]:
        """Lines that make the result a tensor, but for its edge and what it looks like, which is in ``sig``."""
        lines = ["_t = new(Tensor)", "_t._array = _d", "_t._meta = None"]
        if self.formula is None:
            lines += self._sig_of_result()
        elif self.pair and not self.number:
            first, second = self.given
            lines += [
                f"if (_s := {second}._sig) is not sig:",
                f"    sig = (_s.in_order and sig.by_shape.get(_d.shape)) or sig_of_mixed({first}, _d)",
                f"    if sig is None: {self.leave}",
            ]
        return lines

    def _sig_of_result(self) -> list[str]:
        """Lines that find what a result looks like that may have another shape and dtype than the operands."""
        if self.op.reorders:
            return ["sig = sig_of(_d)"]
        return [
            "_known = sig.by_shape.get(_d.shape) if _d.dtype is sig.numpy else None",
            "sig = sig_of(_d) if _known is None else _known",
        ]

    def _result(self) -> list[str]:
        lines = self._tensor()
        none = " and ".join(f"_e{i} is None" for i in self._linked())
        plain = none if self.formula is not None else f"({none}) or not sig.differentiable"
        if "dtype" in self.op.params and none:
            lines.append(f"if not ({none} or sig.differentiable): {self.leave}")
        lines += ["_t._sig = sig", f"if {plain}:", "    _t._fn = None"]
        return [*lines, f"    if _mode: {self._notifying('None')}", "    return _t"]

    def _notifying(self, node: str) -> str:
        operands = f"[{', '.join(self._operands())}]"
        if not set(self.optional).isdisjoint(self._operands()):
            operands = f"[_o for _o in {operands} if _o is not None]"
        return f"notify_call(row, ({', '.join(self.op.params)},), {operands}, {node}, {self._results()}, _began)"

    def _results(self) -> str:
        """The expression for the list of results."""
        return "[_t]"

    def _node(self) -> list[str]:
        """The node, with the saved values that the rules of operands with an edge name."""
        made = "Node()"
        by_rule = self.op.kind == "elementwise" and self.formula is None
        if by_rule or self.op.ndim is not None:
            made = "Node() if sig.floats is not None else ComplexNode()"
        slots = {f"edge_{i}": f"_e{i}" if i in self._linked() else "None" for i in range(len(self.op.diff_names))}
        slots |= {f"kept_{name}": self._saved(name) for name in self.op.saved_names}
        if self.op.saves_result:
            slots["output_storages"] = "None"
        empty = ["_extra", "_pending", *[slot for slot, value in slots.items() if value == "None"]]
        return [
            f"_t._fn = _n = {made}",
            "_n._number = next_number()",
            "_n._sigs = sig.alone",
            f"{' = '.join(f'_n.{slot}' for slot in empty)} = None",
            *[f"_n.{slot} = {value}" for slot, value in slots.items() if slot not in empty],
            f"if _mode: {self._notifying('_n')}",
            "return _t",
        ]

    def _saved(self, name: str) -> str:
        """The expression for a saved value: ``None`` unless an operand with an edge has a rule that names it."""
        op, linked = self.op, self._linked()
        if op.joint is not None or len(op.diff_names) == 1 or name in op.always_saved:
            return self._value(name)
        place = op.saved_names.index(name)
        askers = [k for k, diff in enumerate(op.diff_names) if place in op.rule_args[diff] and k in linked]
        if not askers:
            return "None"
        if len(linked) == 1:
            return self._value(name)
        return f"{self._value(name)} if {' or '.join(f'_e{k} is not None' for k in askers)} else None"

    def _value(self, name: str) -> str:
        if name == "result":
            return "_d"
        if name in self.op.aux:
            return "_aux_" + name
        if name in self.op.only_for_hooks:
            return "None"
        if self.number and name == self.given[1]:
            return "_number"
        if name in self.op.params:
            return name
        operand, kind = parts(name)
        found = KINDS[kind].format(operand)
        return f"(() if {operand} is None else {found})" if operand in self.optional else found


def _other(name: str) -> str:
    """The test that a value is not a plain tensor; the second half is for parameters alone (and numbers)."""
    return f"{name}.__class__ is not Tensor and {name}.__class__ is not Parameter"


def indented(lines: list[str]) -> list[str]:
    """Lines of a block."""
    return ["    " + line for line in lines]
