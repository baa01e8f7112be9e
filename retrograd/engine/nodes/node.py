"""The backward graph: nodes, the ports of nodes with several inputs, and leaves' accumulators.

A node has one input per output of the forward operation (gradients arrive there) and one outgoing edge per
differentiable operand.  An edge is the target node itself when that node has a single input, a ``Port``
when it has several, and ``None`` where no gradient flows.  Nothing here refers back from a node to the
tensors that hold it, so that a graph dies with its last reference, without the garbage collector.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from heapq import heappop
from typing import TYPE_CHECKING, Any

from ...interpreter import getframe
from .. import observe
from ..core.base import Hook, TensorBase
from ..core.devices import CPU
from ..core.dtypes import float32
from ..core.sig import Sig
from ..frames import outside, program_stack
from ..switches import state, watchers
from .hooks import RemovableHandle, register

if TYPE_CHECKING:
    from ..core.devices import device
    from ..core.dtypes import dtype

LEAF_NUMBER = 2**64 - 1
"""Sequence number of every AccumulateGrad: they run as soon as they are ready."""


class Extra:
    """Rarely needed parts of a node: hooks, metadata, an overridden priority."""

    __slots__ = ("metadata", "post_hooks", "pre_hooks", "priority", "retained", "tensor_hooks")

    def __init__(self) -> None:
        self.pre_hooks: OrderedDict[int, Hook] | None = None
        self.post_hooks: OrderedDict[int, Hook] | None = None
        self.tensor_hooks: dict[int, list[OrderedDict[int, Hook]]] | None = None
        """Input number -> hook dictionaries of the tensors there, in order of their first hook."""
        self.retained: dict[int, weakref.ref[TensorBase]] | None = None
        """Input number -> tensor that asked for ``retain_grad``."""
        self.metadata: dict[str, Any] | None = None
        self.priority: int | None = None
        watchers.appear()

    def __del__(self) -> None:
        watchers.vanish()


class InputMetadata:
    """Shape and dtype of the forward output that an input of a node belongs to."""

    __slots__ = ("sig",)
    is_nested_tensor = False
    is_cpp_nested_tensor = False

    def __init__(self, sig: Sig | None) -> None:
        self.sig = sig

    @property
    def shape(self) -> list[int]:
        """Shape of the forward output."""
        return [] if self.sig is None else list(self.sig.shape)

    @property
    def dtype(self) -> dtype:
        """Its data type."""
        return float32 if self.sig is None else self.sig.dtype

    @property
    def device(self) -> device:
        """Always the CPU."""
        return CPU

    def __repr__(self) -> str:
        return f"<InputMetadata {list(self.shape)} {self.dtype} {self.device}>"


_SLOTS = ("__weakref__", "_extra", "_number", "_pending", "_sigs")


class GraphNode:
    """Base class of all nodes of the backward graph.

    ``_number`` orders nodes by creation, ``_edges`` are the outgoing edges, ``_sigs`` holds shape and dtype per
    input (``None`` for an output that takes no gradient).  Where ``_edges`` are kept is up to the class: in a
    slot of that name, or in one for each edge.  Only what every node needs has a slot here, since Python's garbage
    collector looks into each slot of each live node several times (6 ns each time).
    """

    __slots__ = _SLOTS

    qualified_name: str | None = None
    """Name reported by ``name()`` where it differs from the class name."""
    accumulates = False
    """Whether this is a leaf's accumulator, with a ``variable``."""
    results_alike = False
    """Whether all gradients it passes on have one shape and dtype (``RowFacts.alike``)."""
    takes_attributes = False
    """Whether users may set attributes on it (custom Functions)."""

    _edges: tuple[Any, ...]
    _extra: Extra | None
    _number: int
    _pending: Any
    """Gradients that wait here during a sweep."""
    _sigs: tuple[Sig | None, ...]

    def __init__(self, edges: tuple[Any, ...], sigs: tuple[Sig | None, ...]) -> None:
        self._number = state.next_number()
        self._edges = edges
        self._sigs = sigs
        self._extra = None
        self._pending = None
        if state.ANOMALY:
            self._remember_origin()

    def _remember_origin(self) -> None:
        """Under anomaly mode: where this node was made, and during which node's backward."""
        frame = outside(getframe(1))  # the user wants to see the line that called the operation
        self.metadata["traceback_"] = program_stack(frame)
        if state.STATE.nodes:
            self.metadata["parent_"] = state.STATE.nodes[-1]

    # -- what PyTorch shows of a node
    def name(self) -> str:
        """The node's name, such as ``MulBackward0``."""
        return self.qualified_name or type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """One ``(node, input number)`` pair per operand; ``(None, 0)`` where no gradient flows."""
        return tuple([(e.node, e.nr) if e.__class__ is Port else (e, 0) for e in self._edges])

    @property
    def requires_grad(self) -> bool:
        """Always true: a node exists because something requires grad."""
        return True

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for notes about this node; anomaly mode keeps its tracebacks here."""
        extra = self.need_extra()
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        sigs = self._sigs
        if len(sigs) == 1:
            return (InputMetadata(sigs[0]),)
        return tuple([InputMetadata(s) for s in sigs[: self.input_count()]])

    def _sequence_nr(self) -> int:
        extra = self._extra
        return self._number if extra is None or extra.priority is None else extra.priority

    def _set_sequence_nr(self, number: int) -> None:
        self.need_extra().priority = number

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node ran; it may return new grad_inputs."""
        extra = self.need_extra()
        if extra.post_hooks is None:
            extra.post_hooks = OrderedDict()
        if observe.observers:
            observe.notify("hooking", "node", self, hook)
        return register(extra.post_hooks, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node runs; it may return new grad_outputs."""
        extra = self.need_extra()
        if extra.pre_hooks is None:
            extra.pre_hooks = OrderedDict()
        if observe.observers:
            observe.notify("hooking", "node-pre", self, hook)
        return register(extra.pre_hooks, hook)

    def _register_hook_dict(self, tensor: Any) -> None:
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"_register_hook_dict(): expected a variable, got {type(tensor).__name__}")
        if tensor._meta is not None and tensor._meta.hooks is not None:
            self.add_tensor_hooks(tensor._fn.nr if tensor._fn.__class__ is Port else 0, tensor._meta.hooks)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object: save tensors, not the graph that made them")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    # -- what the engine needs
    def need_extra(self) -> Extra:
        """The extra record, made on first use."""
        if self._extra is None:
            self._extra = Extra()
        return self._extra

    def input_count(self) -> int:
        """Number of gradients that hooks and callers see."""
        return max(len(self._sigs), 1)

    def add_tensor_hooks(self, nr: int, hooks: OrderedDict[int, Hook]) -> None:
        """Attach a tensor's hook dictionary to input ``nr``; later changes of the dictionary count."""
        extra = self.need_extra()
        if extra.tensor_hooks is None:
            extra.tensor_hooks = {}
        known = extra.tensor_hooks.setdefault(nr, [])
        if not any(d is hooks for d in known):
            known.append(hooks)

    def _run(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        """One gradient per outgoing edge; arrays, or tensors when ``task.create_graph``."""
        raise NotImplementedError

    _sweep: Any
    """``run_general``, put here by the sweep; classes made from rows have their own, for what ``run_general`` need not
    look at."""
    _sweep_observed: Any
    """The same in a run that observers hear of."""
    _sweep_tensors: Any
    """The same where gradients are tensors, since a graph is created."""

    def _release(self) -> None:
        """Free what was saved for backward."""


class _Nothing:
    """The gradient of a rule that returns none, in a sweep: the receiver still runs, and adding it changes nothing."""

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **named: Any) -> Any:
        """What ``array + NOTHING`` and ``array += NOTHING`` ask."""
        return operands[0] if operands[1] is self else operands[1]

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__


NOTHING = _Nothing()


class Port:
    """Input ``nr`` of a node that has several; in a sweep it takes gradients as a node does and runs just before it."""

    __slots__ = ("_number", "_pending", "_sigs", "node", "nr")
    accumulates = False

    def __init__(self, node: GraphNode, nr: int) -> None:
        self.node = node
        self.nr = nr
        self._number = node._number + 0.5 / (nr + 1)  # ports of one node differ, see ``__lt__``
        self._pending: Any = None
        sig = node._sigs[nr]
        self._sigs = (None,) if sig is None else sig.alone

    def __lt__(self, other: Any) -> bool:
        return False  # for a heap that holds ports of one node of which ``0.5 / (nr + 1)`` rounds to the same number

    def _sweep(self, heap: Any, task: Any) -> Any:
        g, self._pending = self._pending, None
        node = self.node
        waiting = node._pending
        first = waiting is None
        if first:
            waiting = node._pending = [None] * len(node._sigs)
        port = self
        while True:
            if g is not NOTHING:
                have = waiting[port.nr]
                waiting[port.nr] = g if have is None else have + g
            # the node's other ports, if reached, are the newest on the heap: taken here, each is 40 bytecodes less
            if not heap or (port := heap[0][1]).__class__ is not Port or port.node is not node:
                return node if first else None
            g, port._pending = port._pending, None
            heappop(heap)

    _sweep_observed = _sweep_tensors = _sweep


_new_port = Port.__new__


def edge_parts(edge: Any) -> tuple[GraphNode, int]:
    """Node and input number of an edge that is not ``None``."""
    return (edge.node, edge.nr) if edge.__class__ is Port else (edge, 0)


def edge_to(node: GraphNode, nr: int) -> Any:
    """The edge into input ``nr`` of ``node``."""
    return node if len(node._sigs) <= 1 else Port(node, nr)


def port_of(node: GraphNode, nr: int, sig: Any) -> Port:
    """``Port(node, nr)`` by attribute stores, in half the time; ``sig`` is the type of its gradients."""
    port = _new_port(Port)
    port.node, port.nr, port._pending = node, nr, None
    port._number = node._number + 0.5 / (nr + 1)
    port._sigs = (None,) if sig is None else sig.alone
    return port


def edges_into(node: GraphNode) -> list[Any]:
    """The edges into all inputs of ``node``."""
    sigs = node._sigs
    return [node] if len(sigs) <= 1 else [port_of(node, nr, sig) for nr, sig in enumerate(sigs)]


def suffix_free(name: str) -> str:
    """A node name as messages about versions print it: ``MulBackward0`` -> ``Mul``, ``SumBackward1`` -> ``Sum1``."""
    head, sep, tail = name.rpartition("Backward")
    return head + tail.removeprefix("0") if sep and (not tail or tail.isdigit()) else name


NODE_CLASSES: dict[str, type[GraphNode]] = {}
"""Engine-defined node classes by class name."""
