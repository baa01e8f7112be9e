"""``OpNode``: the node of a table operator; it saves what the rules need and applies them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..aliasing import storage
from ..aliasing.owners import is_shared
from ..aliasing.storage import Storage
from ..core.base import TensorBase, wrap
from ..core.narrow import LOADED, widened
from ..overriding import overrides
from ..overriding.dispatch_classes import dispatches
from ..switches import watchers
from .node import GraphNode
from .saved import SECOND_TIME, SavedTensor, check_input, check_output, unpack_output

_AS_THEY_ARE = frozenset({int, float, bool, str, type(None)})
"""Types of parameters that rules get as they were given."""


class _Freed:
    """The content of slots of saved tensors after release."""

    def __repr__(self) -> str:
        return "FREED"


FREED = _Freed()


def _as_given(result: Any, grads: list[Any], wide: list[Any]) -> Any:
    """The result of a rule; if it is the incoming gradient, that in its original dtype."""
    for given, passed in zip(grads, wide, strict=True):
        if result is passed:
            return given
    return result


def _is_number(t: TensorBase) -> bool:
    """Whether a tensor represents a Python number that was requested as a tensor."""
    return t._meta is not None and t._meta.wrapped_number


class RunContext(Protocol):
    """What a node needs to know about the running task."""

    restricted: bool
    """Whether only some gradients are wanted, so that ``wants`` must be asked."""
    tensors: bool
    """Whether gradients are tensors (a graph is created or tangents flow) rather than bare arrays."""
    seen: Any
    """The tensors in which the program sees bare arrays (``execution.seen_tensors``), or ``None``."""

    def wants(self, edge: Any) -> bool:
        """Whether the gradient along this edge is needed."""
        ...

    def use_tensors(self) -> None:
        """Continue with tensors, because a gradient has a class that bare arrays cannot represent."""
        ...


_NONE: tuple[str, ...] = ()


class OpNode(GraphNode):
    """A node made by an operator row.

    ``saved`` runs parallel to ``op.saved_names``: an input as the tensor itself, the node's own output as bare
    array(s), a ``SavedTensor`` where hooks packed it, parameters as they are.  ``None`` once released.
    The classes of rows have a slot for each, ``kept_<name>``, and ``saved`` reads and sets all of them.
    """

    __slots__ = _NONE
    op: Any
    saved: tuple[Any, ...] | None
    output_storages: dict[int, Storage] | None = None
    """A slot where the row saves its result."""

    __init__ = object.__init__  # ``Node()`` is an empty node: 50 ns less than ``Node.__new__(Node)``

    @classmethod
    def made(cls, edges: tuple[Any, ...], sigs: tuple[Any, ...]) -> Any:
        """A node of this row; ``saved`` is still to be set."""
        node = cls()
        GraphNode.__init__(node, edges, sigs)
        if cls.op.saves_result:
            node.output_storages = None
        return node

    def _run(self, grads: list[Any], task: RunContext) -> tuple[Any, ...]:
        if overrides.INSTALLED and task.tensors:
            with overrides.beneath():
                return self._rules_applied(grads, task)
        return self._rules_applied(grads, task)

    def _rules_applied(self, grads: list[Any], task: RunContext) -> tuple[Any, ...]:
        """The gradient of each operand that wants one, by the rules of the row; None for the others."""
        if LOADED and not task.tensors and any(sig is not None and sig.narrow for sig in self._sigs):
            wide = [widened(g) for g in grads]
            results = self._results_of_rules(wide, task, widened)
            return tuple([_as_given(g, grads, wide) for g in results])
        return self._results_of_rules(grads, task)

    def _results_of_rules(self, grads: list[Any], task: RunContext, read: Any = None) -> tuple[Any, ...]:
        """The same with each value that the node keeps as ``read`` gives it."""
        op = self.op
        if op.outputs == 1:
            g = grads[0]
            if g is None:
                return (None,) * len(self._edges)
        else:
            g = self.gathered(grads, task.tensors)
            if g is None:
                return (None,) * len(self._edges)
        values = self._values(task.tensors)
        if read is not None:
            values = [read(value) for value in values]
        if task.restricted:
            needs = tuple([e is not None and task.wants(e) for e in self._edges])
        else:
            needs = tuple([e is not None for e in self._edges])
        if op.joint is not None:
            return tuple(op.joint(g, needs, *[values[i] for i in op.rule_args["*"]]))
        if not op.lists:
            return tuple(
                [
                    op.rules[name](g, *[values[i] for i in op.rule_args[name]]) if need else None
                    for name, need in zip(op.diff_names, needs, strict=True)
                ]
            )
        return self._run_with_list(g, values, needs)

    def input_count(self) -> int:
        """Like PyTorch, operators have no inputs for indices and the like that they return at the end."""
        count = len(self._sigs)
        while count > 1 and self._sigs[count - 1] is None:
            count -= 1
        return max(count, 1)

    def _run_with_list(self, g: Any, values: list[Any], needs: tuple[bool, ...]) -> tuple[Any, ...]:
        """Rules of a row with a list argument: its rule returns one gradient per element."""
        op = self.op
        count = len(self._edges) - len(op.diff_names) + 1
        results: list[Any] = []
        for name in op.diff_names:
            args = [values[i] for i in op.rule_args[name]]
            width = count if name in op.lists else 1
            if not any(needs[len(results) : len(results) + width]):
                results.extend([None] * width)
            elif name in op.lists:
                results.extend(op.rules[name](g, *args))
            else:
                results.append(op.rules[name](g, *args))
        return tuple(results)

    def gathered(self, grads: list[Any], tensors: bool) -> tuple[Any, ...] | None:
        """The gradients of several outputs, zeros for those that are missing; ``None`` when all are.

        Where the row says so, those that are missing are ``None``.
        """
        for g in grads:
            if g is None:
                break
        else:
            return tuple(grads)
        if self.op.undefined:
            return tuple(grads) if any(g is not None for g in grads) else None
        filled, found = [], False
        for g, sig in zip(grads, self._sigs, strict=True):
            if g is not None:
                found = True
            elif sig is not None:
                zeros = np.zeros(sig.shape, sig.numpy)
                g = wrap(zeros) if tensors else zeros
            filled.append(g)
        return tuple(filled) if found else None

    # -- saved values
    def _values(self, tensors: bool) -> list[Any]:
        saved = self.saved
        if saved is None:
            raise RuntimeError(SECOND_TIME)
        read = self._read_tensor if tensors else self._read_array
        return [
            v if v.__class__ in _AS_THEY_ARE else read(name, v)
            for name, v in zip(self.op.saved_names, saved, strict=True)
        ]

    def _read_array(self, name: str, value: Any) -> Any:
        """A kept value as an array, its version checked, hooks undone."""
        if isinstance(value, TensorBase):
            if storage.LAST_WRITE > self._number:
                check_input(value, self._number)
            return value._array
        if isinstance(value, SavedTensor):
            t = value.value(self)
            return None if t is None else t._array.item() if self._was_number(name, t) else t._array
        if name == "result" or name in self.op.results:
            return self._read_result(name, value, False)
        if isinstance(value, (list, tuple)) and name in self.op.tensor_saved:
            return type(value)([self._read_array("", v) for v in value])
        if name in self.op.spare and (storage.LAST_WRITE > self._number or self.may_be_written_unseen()):
            return None  # a write that raises no version, such as one through `.data`, may have changed the operand
        return value

    def _was_number(self, name: str, t: TensorBase) -> bool:
        """Whether a rule expects a number where hooks on saved tensors, or a reader, got a tensor."""
        return _is_number(t) or (
            name in self.op.aux and t._sig.kind == "f" and t._sig.shape == () and not dispatches(t)
        )

    def may_be_written_unseen(self) -> bool:
        """Whether an operand that was kept lies in memory that others than the engine may write."""
        return any(isinstance(v, TensorBase) and is_shared(v._array) for v in self.saved or ())

    def _read_tensor(self, name: str, value: Any) -> Any:
        """A kept value as a tensor, its version checked, hooks undone; arrays among the parameters as such."""
        if name in self.op.array_names:
            asked = self._asked(name, value) if watchers.DISPATCHING else None
            return self._read_array(name, value) if asked is None else asked
        if isinstance(value, TensorBase):
            if storage.LAST_WRITE > self._number:
                check_input(value, self._number)
            return value
        if isinstance(value, SavedTensor):
            t = value.value(self)
            return t._array.item() if name in self.op.aux and t is not None and self._was_number(name, t) else t
        if name == "result" or name in self.op.results:
            return self._read_result(name, value, True)
        if isinstance(value, (list, tuple)) and name in self.op.tensor_saved:
            return type(value)([self._read_tensor("", v) for v in value])
        if name in self.op.aux and isinstance(value, np.ndarray):
            return wrap(value)
        return value

    def _asked(self, name: str, value: Any) -> Any:
        """A condition or list of indices as tensors, if only their class knows the values; else None."""
        if name in self.op.array_lists and isinstance(value, tuple):
            parts = tuple([v.value(self) if isinstance(v, SavedTensor) else v for v in value])
            return parts if any(isinstance(v, TensorBase) and dispatches(v) for v in parts) else None
        held = value.value(self) if isinstance(value, SavedTensor) and self.op.kind == "elementwise" else None
        return held if held is not None and dispatches(held) else None

    def _read_result(self, name: str, value: Any, tensors: bool) -> Any:
        """The node's own output(s)."""
        if name != "result":
            return self._read_one_result(value, self.op.results.index(name), tensors)
        if isinstance(value, tuple):
            return tuple([self._read_one_result(v, i, tensors) for i, v in enumerate(value)])
        return self._read_one_result(value, 0, tensors)

    def _read_one_result(self, value: Any, nr: int, tensors: bool) -> Any:
        if isinstance(value, SavedTensor):
            t = value.value(self)
            return t if tensors or t is None else t._array
        if value is None:
            return value
        storages = self.output_storages
        if storages and storage.LAST_WRITE > self._number:
            check_output(storages.get(nr), self, nr)
        if not tensors:
            return value
        return wrap(value) if self._sigs[nr] is None else unpack_output(value, self, nr)

    def __call__(self, *grads: Any, **kwargs: Any) -> Any:
        """Run just this node: one gradient (or ``None``) per input; a tensor, or a tuple of several."""
        return self.caller(self, grads, kwargs)

    caller: Any
    """``node_call.call_node``, set by that module."""

    def _release(self) -> None:
        for place, slot in enumerate(self.op.freed_slots):
            value = getattr(self, slot)
            if value is None and place > 0:
                continue  # a tensor that was not given, which users may go on asking for
            for part in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(part, SavedTensor):
                    part.release()
            setattr(self, slot, FREED)
