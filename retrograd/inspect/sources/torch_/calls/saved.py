"""What PyTorch's nodes save for backward, inferred from class and call, without unpacking."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ....bounded import BoundedDict
from ....graphs.graph import Graph
from ....program.signals import reraise_from_handler
from ..backward.release import raise_stack_limit
from .calls import Call
from .tensors import shape_of

_PREFIX = "_raw_saved_"
_MAX_NODES = 40
"""Nodes of one call that are looked at."""
_SAFE_TOUCHES = 15_000
_SAFE_TOUCHES_THREAD = 800
_FEW = 10_000
_MAX_SIZES = 500_000

_RESULTS = frozenset({"result", "result0", "output", "out"})
_FIRST = frozenset({"self", "input", "mat1", "batch1", "tensor1", "query", "condition"})
_SECOND = frozenset(
    {"other", "mat2", "weight", "batch2", "tensor2", "exponent", "target", "vec", "key", "mask", "index"}
)
_THIRD = frozenset({"value", "end"})
_NEEDED_BY = {
    "MulBackward0": {"self": 1, "other": 0},
    "MmBackward0": {"self": 1, "mat2": 0},
    "BmmBackward0": {"self": 1, "mat2": 0},
    "MvBackward0": {"self": 1, "vec": 0},
    "DotBackward0": {"self": 1, "tensor": 0},
    "DivBackward0": {"self": 1},
    "AddmmBackward0": {"mat1": 2, "mat2": 1},
    "AddbmmBackward0": {"batch1": 2, "batch2": 1},
    "BaddbmmBackward0": {"batch1": 2, "batch2": 1},
    "AddcmulBackward0": {"tensor1": 2, "tensor2": 1},
    "ConvolutionBackward0": {"input": 1, "weight": 0},
    "PowBackward1": {"result": 1},
}
"""Node -> saved value -> the edge for whose sake alone it is kept."""
_ADDING = ("Add", "Baddbmm")
"""Nodes of products whose first input is what the product is added to."""
_VIEWS = ("T", "View", "Reshape", "UnsafeView", "Transpose", "Permute", "Expand", "Unsqueeze", "Squeeze", "Alias")

Edges = Sequence[tuple[Any, int]]
_saved_names: dict[type, tuple[str, ...]] = {}


class Kept(NamedTuple):
    """What the nodes of one call keep for backward."""

    places: tuple[int, ...]
    """Among inputs and then outputs, each once."""
    tensors: tuple[tuple[int, int], ...]
    """Node, counted from the first of the call, and the place of a tensor that it keeps."""
    results: tuple[tuple[int, int, int], ...]
    """The same of what the call made for itself: node, which of these memories, and its bytes."""


_NOTHING = Kept((), (), ())


class _Touched(threading.local):
    """How many nodes of the graph at hand were looked at on one thread, and how many may be."""

    def __init__(self) -> None:
        self.count, self.most = 0, _SAFE_TOUCHES_THREAD

    def may_be_more(self) -> bool:
        """Let there be more if they can still be freed: the main thread's stack is large, and can be larger."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if self.count <= _SAFE_TOUCHES:
            self.most = _SAFE_TOUCHES
        elif raise_stack_limit(2 * self.count):
            self.most = 2 * self.count
        return self.count <= self.most


class SavedSizes:
    """Which memory the nodes of a recording keep: sequence number from the beginning -> storages and bytes by turns."""

    def __init__(self) -> None:
        self.of_node: dict[int, tuple[Any, ...]] = {}
        self._touched = _Touched()

    def add(self, number: int, storage: Hashable, size: int) -> None:
        """Note what one node keeps."""
        if storage is None:
            return
        if len(self.of_node) >= _MAX_SIZES:
            self.of_node.clear()
        known = self.of_node.get(number)
        self.of_node[number] = (storage, size) if known is None else (*known, storage, size)

    def fill(self, snapshot: Graph) -> None:
        """Fill in what the nodes of a graph keep, as their calls noted it."""
        self.begin_anew()
        of_node, first = self.of_node, snapshot.first_seq

        def noted(place: int) -> dict[Hashable, int] | None:
            number = snapshot.seq[place]
            entry = None if number is None else of_node.get(first + number)
            return None if entry is None else dict(zip(entry[::2], entry[1::2], strict=True))

        _fill(snapshot, noted)
        self._forget(_FEW + 4 * len(snapshot))

    def _forget(self, most: int) -> None:
        """Forget the oldest nodes, once there are more than so many: a long program has other graphs by now."""
        if len(self.of_node) > 2 * most:
            for number in list(islice(self.of_node, len(self.of_node) - most)):
                del self.of_node[number]

    def may_touch(self, nodes: int) -> bool:
        """Whether that many more nodes may be looked at: deep graphs that were cannot be freed on a small stack."""
        touched = self._touched
        touched.count += nodes
        return touched.count <= touched.most or touched.may_be_more()

    def begin_anew(self) -> None:
        """The graph at hand is taken care of by a walk."""
        self._touched.count = 0


def fill_from_nodes(snapshot: Graph, order: Sequence[Any]) -> None:
    """Fill in what the nodes of a graph keep by asking each, where nobody saw the calls; nothing is unpacked."""

    def asked(place: int) -> dict[Hashable, int] | None:
        if snapshot.seq[place] is None:
            return None
        return kept_memories(order[place])

    _fill(snapshot, asked)


def _fill(snapshot: Graph, kept_at: Callable[[int], dict[Hashable, int] | None]) -> None:
    """Fill in bytes by node, and as a measure each memory once, for the node made first.

    ``kept_at`` gives the memories that the node at a place keeps, with their bytes; None where nobody knows.
    """
    counted: set[Hashable] = set()
    once: list[float | None] = [None] * len(snapshot)
    sizes = snapshot.saved_bytes = list(snapshot.saved_bytes)  # which an earlier snapshot may have, too
    for place in sorted(range(len(snapshot)), key=lambda place: snapshot.seq[place] or 0):  # as they were made
        kept = kept_at(place)
        if kept is not None:
            sizes[place] = sum(kept.values())
            once[place] = float(sum(size for memory, size in kept.items() if memory not in counted))
            counted.update(kept)
    if counted:
        snapshot.measures["saved_bytes"] = once


def kept_memories(node: Any) -> dict[Hashable, int]:
    """Return the memories that a node keeps, with their bytes; nothing is unpacked."""
    return {memory_of(one): _size(one) for one in _kept_by(node)}


def _kept_by(node: Any) -> Iterator[Any]:
    """Yield the tensors that a node keeps."""
    for name in _names_of(node):
        try:
            value = getattr(node, _PREFIX + name)
            for one in value if isinstance(value, (tuple, list)) else (value,):
                if (held := getattr(one, "data", None)) is not None:
                    yield held
        except Exception as failure:  # what was freed cannot be looked at
            reraise_from_handler(failure)


def saves_of(call: Call, outputs: list[Any], sizes: SavedSizes, known: BoundedDict[Any, Kept], *, same: bool) -> Kept:
    """Return what the nodes of a call keep.

    ``known`` is what was found of other calls from the same place; of those that make several nodes it holds for calls
    with the ``same`` arguments beside the tensors.
    """
    made, first = call.after - call.before, outputs[0]
    if made > _MAX_NODES or not sizes.may_touch(1):
        return _NOTHING
    root = None if not first.requires_grad or _is_stale_view(first) else first.grad_fn
    place = -1 if root is None else root._sequence_nr() - call.before
    if not 0 <= place < made:
        return _NOTHING
    if made > 1 and not same:
        return _look_at(call, root) if sizes.may_touch(made) else _NOTHING
    shapes = map(shape_of, call.inputs) if made > 1 else ()
    key = (made, type(root), place, *call.required, *shapes)
    kept = known.get(key)
    if kept is None:
        if not sizes.may_touch(made):
            return _NOTHING
        kept = known[key] = _look_at(call, root)
    return kept


def _look_at(call: Call, root: Any) -> Kept:
    """Ask the nodes of a call what they keep, from that of the result on."""
    made, tensors, results = call.after - call.before, list[tuple[int, int]](), list[tuple[int, int, int]]()
    memories = {memory_of(one): place for place, one in enumerate([*call.inputs, call.result])}
    own: dict[object, int] = {}
    for node in _nodes_of(root, call):
        edges = node.next_functions if made > 1 or _names_of(node) else ()
        number = node._sequence_nr() - call.before
        for name in _kept_names(node, edges):
            place, held = _place_of(name, node, call, edges, node is root), None
            if place is None:  # a mask, say, that the call made and nobody has a name for
                held = getattr(getattr(node, _PREFIX + name, None), "data", None)
                place = memories.get(memory_of(held)) if held is not None else None
            if place is not None:
                tensors.append((number, place))
            elif held is not None or name in _RESULTS:
                memory = own.setdefault(memory_of(held) if held is not None else number, len(own))
                results.append((number, memory, _output_size(node) if held is None else _size(held)))
    return Kept(tuple(sorted({place for _, place in tensors})), tuple(tensors), tuple(results))


def memory_of(tensor: Any) -> Hashable:
    """Return a key for the memory of a tensor, another one for tensors without memory."""
    try:
        return tensor.untyped_storage().data_ptr() or id(tensor)
    except Exception as failure:
        reraise_from_handler(failure)
        return id(tensor)


def _size(tensor: Any) -> int:
    """Return the bytes of a tensor, 0 if unknown."""
    try:
        return int(tensor.nbytes)
    except Exception as failure:
        reraise_from_handler(failure)
        return 0


def _nodes_of(root: Any, call: Call) -> list[Any]:
    """Return the nodes that a call made, from that of its result on."""
    found = [root]
    if call.after - call.before == 1:
        return found
    seen = {root}
    for node in found:  # grows while it is read
        for following, _ in node.next_functions:
            if following is not None and following not in seen and _is_inside(following, call):
                seen.add(following)
                found.append(following)
    return found


def _is_inside(node: Any, call: Call) -> bool:
    return bool(call.before <= node._sequence_nr() < call.after)


def _output_size(node: Any) -> int:
    """Return the bytes of a node's first output, 0 if unknown."""
    try:
        first = node._input_metadata[0]
        return math.prod(int(size) for size in first.shape) * int(first.dtype.itemsize)
    except Exception as failure:
        reraise_from_handler(failure)
        return 0


def _is_stale_view(tensor: Any) -> bool:
    """Whether asking for a tensor's node would make the engine build one."""
    return bool(tensor._version and tensor._is_view())


def _names_of(node: Any) -> tuple[str, ...]:
    """Return the names of the tensors that nodes of a class keep."""
    kind = type(node)
    names = _saved_names.get(kind)
    if names is None:
        names = tuple(name[len(_PREFIX) :] for name in dir(kind) if name.startswith(_PREFIX))
        if not hasattr(kind, "_forward_cls"):  # which belongs to a Function of the program's, and lives as long
            _saved_names[kind] = names
    return names


def _kept_names(node: Any, edges: Edges) -> Sequence[str]:
    """Return the names of the tensors that a node keeps, given which of its inputs need a gradient."""
    names = _names_of(node)
    needs = _NEEDED_BY.get(type(node).__name__)
    if needs is None:
        return names
    return [
        name for name in names if name not in needs or (needs[name] < len(edges) and edges[needs[name]][0] is not None)
    ]


def _place_of(name: str, node: Any, call: Call, edges: Edges, last: bool) -> int | None:
    """Return which tensor of a call a saved value is, inputs first, then outputs; None for what the call made itself.

    ``last`` says that the node is the one of the call's result.
    """
    if name in _RESULTS:
        return len(call.inputs) if last else None
    position = _position_of(name)
    if position is None:
        return None
    adding = 1 if type(node).__name__.startswith(_ADDING) else 0
    if position + adding < len(edges):
        made = edges[position + adding][0]
        if made is not None and _is_inside(made, call) and not type(made).__name__.startswith(_VIEWS):
            return None
    if call.rule.op == "einsum":  # its first argument is the equation
        return position if position < len(call.inputs) else None
    position += adding if call.rule.op.startswith("add") or call.rule.op == "baddbmm" else 0
    for place, (where, within) in enumerate(call.places):
        if within == -1 and position == (_position_of(where) if isinstance(where, str) else where):
            return place
    return None


def _position_of(name: str) -> int | None:
    """Return at which position PyTorch takes a tensor that nodes and callers call so, None if that differs."""
    return 0 if name in _FIRST else 1 if name in _SECOND else 2 if name in _THIRD else None
