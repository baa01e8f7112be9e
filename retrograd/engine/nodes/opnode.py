"""``OpNode``: the node of a table operator; it keeps what the rules ask for and applies them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..aliasing import storage
from ..aliasing.storage import Storage
from ..overriding import overrides
from ..tensors.base import TensorBase, wrap
from .derived import parts
from .node import GraphNode
from .saved import SECOND_TIME, SavedTensor, check_input, check_output, unpack_output
from .saved_display import shown_parameter
from .shown_names import SHOWN

_AS_THEY_ARE = frozenset({int, float, bool, str, type(None)})
"""Types of parameters that rules get as they were given."""
_SHOWN = ("", "_sizes")
"""Kinds of saved values that PyTorch shows, too."""


class RunContext(Protocol):
    """What a node needs to know of the task it runs in."""

    restricted: bool
    """Whether only some gradients are wanted, so that ``wants`` must be asked."""
    tensors: bool
    """Whether gradients are tensors (a graph is created or tangents flow) rather than bare arrays."""

    def wants(self, edge: Any) -> bool:
        """Whether the gradient along this edge is needed."""
        ...


_NONE: tuple[str, ...] = ()


class OpNode(GraphNode):
    """A node made by an operator row.

    ``saved`` runs parallel to ``op.saved_names``: an input as the tensor itself, the node's own output as bare
    array(s), a ``SavedTensor`` where hooks packed it, parameters as they are.  ``None`` once released.
    The classes of rows have the slots.
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
        """The gradients of several outputs, zeros for those that are missing; ``None`` when all are."""
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
        if isinstance(value, TensorBase):
            if storage.LAST_WRITE > self._number:
                check_input(value, self._number)
            return value._array
        if isinstance(value, SavedTensor):
            t = value.value(self)
            return None if t is None else t._array
        if name == "result" or name in self.op.results:
            return self._read_result(name, value, False)
        if name in self.op.lists and isinstance(value, list):
            return [self._read_array("", v) for v in value]
        return value

    def _read_tensor(self, name: str, value: Any) -> Any:
        if isinstance(value, TensorBase):
            if storage.LAST_WRITE > self._number:
                check_input(value, self._number)
            return value
        if isinstance(value, SavedTensor):
            return value.value(self)
        if name == "result" or name in self.op.results:
            return self._read_result(name, value, True)
        if name in self.op.lists and isinstance(value, list):
            return [self._read_tensor("", v) for v in value]
        if name in self.op.aux and isinstance(value, np.ndarray):
            return wrap(value)
        return value

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
        if self._sigs[nr] is None:
            return wrap(value)
        return unpack_output(value, self, nr, self._need_storages())

    def _need_storages(self) -> dict[int, Storage]:
        """The version counters of outputs that are saved, by output number."""
        if self.output_storages is None:
            self.output_storages = {}
        return self.output_storages

    def __call__(self, *grads: Any, **kwargs: Any) -> Any:
        """Run just this node: one gradient (or ``None``) per input; a tensor, or a tuple of several."""
        return self.caller(self, grads, kwargs)

    caller: Any
    """``execute.call_node``, put here by the engine."""

    def _release(self) -> None:
        saved = self.saved
        if saved is None or not self.op.tensor_saved:
            return
        for value in saved:
            if isinstance(value, SavedTensor):
                value.release()
        self.saved = None

    # -- what PyTorch shows of saved values
    def _shown_value(self, name: str) -> Any:
        i = self.op.saved_names.index(name)
        if self.saved is None:
            raise RuntimeError(SECOND_TIME)
        value = self._read_tensor(name, self.saved[i])
        if isinstance(value, (bool, int, float, complex)):
            if name in self.op.tensor_names:
                return wrapped_number(value)
            if name in self.op.aux and self._sigs[0] is not None:
                return wrap(np.asarray(value, self._sigs[0].numpy))
        return value if name in self.op.tensor_saved else shown_parameter(type(self).__name__, name, value)

    def _shown_handle(self, name: str) -> Any:
        i = self.op.saved_names.index(name)
        if self.saved is None:
            handle = SavedTensor(None)
            handle.release()
            return handle
        value = self.saved[i]
        if isinstance(value, (SavedTensor, tuple, list)):
            return value
        handle = self._as_handle(name, value)
        self.saved = (*self.saved[:i], handle, *self.saved[i + 1 :])
        return handle

    def _as_handle(self, name: str, value: Any) -> SavedTensor:
        """Turn a plainly kept value into a handle whose hooks can be set after the fact."""
        if isinstance(value, TensorBase):
            check_input(value, self._number)
            edge = value._fn if isinstance(value._fn, GraphNode) or hasattr(value._fn, "nr") else None
            return SavedTensor(value, edge=edge)
        if (name == "result" or name in self.op.results) and value is not None:
            nr = 0 if name == "result" else self.op.results.index(name)
            return SavedTensor(unpack_output(value, self, nr, self._need_storages()), is_output=True, nr=nr)
        return SavedTensor(None if value is None else wrapped_number(value))


def show_saved_values(cls: type[OpNode]) -> None:
    """Give a row's node class ``_saved_<name>`` and, for tensors, ``_raw_saved_<name>``.

    They are properties and not a ``__getattr__``: with one, CPython cannot specialize any attribute of a node, and
    a backward of small operations takes twice as long.
    """
    hidden, instead = SHOWN.get(cls.op.node_name, ("", {}))
    for name in cls.op.saved_names:
        if parts(name)[1] not in _SHOWN or name in hidden.split():
            continue
        setattr(cls, "_saved_" + name.replace("_sizes", "_sym_sizes"), _shown(OpNode._shown_value, name))
        if name in cls.op.tensor_saved:
            setattr(cls, "_raw_saved_" + name, _shown(OpNode._shown_handle, name))
    for name, read in instead.items():
        asked = read.__code__.co_varnames[: read.__code__.co_argcount]
        if set(asked) <= set(cls.op.saved_names):  # (rows of other overloads may show the same node)
            setattr(cls, "_saved_" + name, _shown_instead(read, asked))


def _shown(show: Callable[[OpNode, str], Any], name: str) -> property:
    return property(lambda node: show(node, name))


def _shown_instead(read: Callable[..., Any], asked: tuple[str, ...]) -> property:
    return property(lambda node: read(*[node._shown_value(name) for name in asked]))


def wrapped_number(value: Any) -> Any:
    """A Python number as a 0-d tensor that counts as a number in promotions."""
    t = wrap(np.asarray(value))
    t.need_meta().wrapped_number = True
    return t
