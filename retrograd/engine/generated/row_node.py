"""Generates the node class of a row: one slot per edge and saved value, and a ``_sweep`` with the rules inlined.

The result is ordinary Python that tracebacks and profilers show; docs/generated_code.md prints one.  What each idea
saves, in ns per operation of a chain of small ones: slots instead of tuples of edges and saved values 100; a rule's
formula instead of a call of the rule 150 to 400; adding gradients up at the receiver in place, by its number, 250; the
identity test of ``_sigs`` instead of comparing shape and dtype 120.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from heapq import heappush
from operator import attrgetter
from time import perf_counter_ns as now
from typing import Any

import numpy as np

from .. import late, observe
from ..aliasing import storage
from ..core.argument_checks import Number
from ..core.base import TensorBase
from ..execution.fit import fit_one, fit_tensor
from ..execution.general_sweep import run_general
from ..frames import ENGINE
from ..nodes.edges import getrefcount
from ..nodes.node import NOTHING
from ..nodes.opnode import FREED, OpNode
from ..nodes.saved import SECOND_TIME, SavedTensor
from ..switches.state import STATE
from .row_node_source import NodeClassSource


def shown(value: Any) -> Any:
    """A slot's value as rules take it: Python numbers unwrapped."""
    return value.value if value.__class__ is Number else value


def array_of(value: Any) -> Any:
    """A saved operand as rules on bare arrays take it: an array, a Python number, or ``None``."""
    return value._array if isinstance(value, TensorBase) else shown(value)


def added(waiting: Any, g: Any) -> Any:
    """The sum of what waits at a receiver and ``g``: in place in an array that nobody else holds.

    That is ``g`` beside a broadcast number, or all of an array under a view, such as a product that was transposed
    twice (256 x 256: 26 for 46 µs).
    """
    if g.__class__ is np.ndarray and g.base is None and getrefcount(g) == 3:  # here, in the caller, and the argument
        g += waiting
        return g
    base = getattr(waiting, "base", None)
    whole = base.__class__ is np.ndarray and base.size == waiting.size and base.flags.owndata
    # held by the receiver, the caller's variable and the one here; the base by its view; and getrefcount's own argument
    if whole and getrefcount(waiting) == 4 and getrefcount(base) == 3 and waiting.flags.writeable:
        waiting += g
        return waiting
    return waiting + g


def by_rule(node: Any, i: int, g: Any) -> Any:
    """The gradient of operand ``i`` by calling its rule, where the rule's formula does not hold."""
    op, saved = node.op, node.saved
    name = op.diff_names[i]
    return op.rules[name](g, *[array_of(saved[k]) for k in op.rule_args[name]])


def slot_values(op: Any, values: Any) -> Any:
    """Saved values as slots keep them: numbers among the operands as ``Number``."""
    found = []
    for name, value in zip(op.saved_names, values, strict=True):
        if value.__class__ is SavedTensor:
            storage.stamp_write()  # there may be handles, which only OpNode._run reads: it is asked from now on
        number = name in op.tensor_names and isinstance(value, (bool, int, float, complex))
        found.append(Number(value, value) if number else value)
    return found


def is_plain(op: Any) -> bool:
    """Whether the sweep of a row's nodes can be generated: no lists, no names that the generated code uses, one output
    (or several of which none is saved)."""
    names = {*op.params, *op.aux}
    return (op.outputs == 1 or not op.saves_result) and not op.lists and bool(op.diff_names) and not names & TAKEN


def make_node_class(op: Any) -> type[OpNode]:
    """The node class of a row."""
    namespace = dict(_NAMES, Tensor=late.tensor_class, Parameter=late.parameter_class, row=op, joint=op.joint)
    inlined = is_plain(op)
    text = NodeClassSource(op, namespace, result_slots(op), inlined)
    execute(_joined(text.lines()), f"<node of {op.name}>", namespace)
    made: type[OpNode] = namespace[op.node_name]
    made.__module__ = "builtins"  # as those of PyTorch, which are written in C
    if inlined:
        _generate_later(made, "_sweep_observed", text.observed_lines, text.namespace)
    if inlined and op.outputs == 1:
        _generate_later(made, "_sweep_tensors", text.tensor_lines, text.namespace)
    return made


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _generate_later(cls: type[OpNode], name: str, lines: Callable[[], list[str]], namespace: dict[str, Any]) -> None:
    """Give a class another sweep, which is generated when one of its nodes is first run by it."""

    def first(node: Any, heap: Any, task: Any) -> Any:
        execute(_joined(lines()), f"<node of {cls.op.name}: {name}>", namespace)
        setattr(cls, name, namespace[name])
        return namespace[name](node, heap, task)

    setattr(cls, name, first)


def result_slots(op: Any) -> tuple[str, ...]:
    """The slot of nodes that keep their own output."""
    return ("output_storages",) if op.saves_result else ()


def execute(text: str, where: str, namespace: dict[str, Any]) -> None:
    """Run generated source; tracebacks show it as a file of the engine."""
    where = ENGINE + where
    linecache.cache[where] = (len(text), None, text.splitlines(True), where)
    exec(compile(text, where, "exec"), namespace)


_NAMES: dict[str, Any] = {
    "OpNode": OpNode, "FREED": FREED, "SECOND_TIME": SECOND_TIME, "Number": Number,
    "slot_values": slot_values, "array_of": array_of, "by_rule": by_rule, "fit_one": fit_one,
    "fit_tensor": fit_tensor, "heappush": heappush, "run_general": run_general, "storage": storage,
    "getrefcount": getrefcount, "ndarray": np.ndarray, "asarray": np.asarray, "NOTHING": NOTHING,
    "added": added, "observe": observe, "STATE": STATE, "now": now, "attrgetter": attrgetter,
}  # fmt: skip
TAKEN = {*_NAMES, "Tensor", "Parameter", "row", "joint", "g", "gi", "heap", "task", "sig"}
"""Names that generated code uses itself; ``calls.fast_path`` adds its own."""
