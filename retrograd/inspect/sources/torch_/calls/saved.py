"""What PyTorch's nodes save for backward, inferred from class and call, without unpacking."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from ....bounded import BoundedDict
from ....program.signals import reraise_from_handler
from .calls import Call
from .saved_sizes import SavedSizes
from .tensors import shape_of

_PREFIX = "_raw_saved_"
_MAX_NODES = 40
"""Nodes of one call that are examined."""
MAX_OWN = 1_000
"""Memories of its own that one call is known to keep."""

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
"""Node -> saved tensor -> the only edge for which it is saved."""
_ADDING = ("Add", "Baddbmm")
"""Nodes of products whose first input is added to the product."""
_VIEWS = ("T", "View", "Reshape", "UnsafeView", "Transpose", "Permute", "Expand", "Unsqueeze", "Squeeze", "Alias")

Edges = Sequence[tuple[Any, int]]
_saved_names: dict[type, tuple[str, ...]] = {}


class Kept(NamedTuple):
    """What the nodes of one call save for backward."""

    places: tuple[int, ...]
    """Positions among inputs and then outputs, each once."""
    tensors: tuple[tuple[int, int], ...]
    """Node, relative to the first of the call, and the position of a tensor that it saves."""
    results: tuple[tuple[int, int, int], ...]
    """Likewise for tensors made inside the call: node, which of these memories, and its bytes."""


_NOTHING = Kept((), (), ())


def kept_memories(node: Any) -> dict[Hashable, int]:
    """Return the memories that a node saves, with their bytes; unpacks nothing."""
    return {memory_of(one): _size(one) for one in _kept_by(node)}


def _kept_by(node: Any) -> Iterator[Any]:
    """Yield the tensors that a node saves."""
    for name in _names_of(node):
        try:
            value = getattr(node, _PREFIX + name)
            for one in value if isinstance(value, (tuple, list)) else (value,):
                if (held := getattr(one, "data", None)) is not None:
                    yield held
        except Exception as failure:  # what was freed cannot be read
            reraise_from_handler(failure)


def saves_of(call: Call, first: Any, sizes: SavedSizes, known: BoundedDict[Any, Kept], *, same: bool) -> Kept:
    """Return what the nodes of a call save, by its ``first`` result.

    ``known`` caches results of other calls from the same site; if there are several nodes, only for calls with the
    ``same`` arguments besides tensors.
    """
    made = call.after - call.before
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
    """Read what the nodes of a call save, starting from that of the result."""
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
    """Return a key for the memory of a tensor, a unique one for a tensor without memory."""
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
    """Return the names of the tensors that nodes of a class save."""
    kind = type(node)
    names = _saved_names.get(kind)
    if names is None:
        names = tuple(name[len(_PREFIX) :] for name in dir(kind) if name.startswith(_PREFIX))
        if not hasattr(kind, "_forward_cls"):  # which belongs to a Function of the program's, and lives as long
            _saved_names[kind] = names
    return names


def _kept_names(node: Any, edges: Edges) -> Sequence[str]:
    """Return the names of the tensors that a node saves, given which of its inputs need a gradient."""
    names = _names_of(node)
    needs = _NEEDED_BY.get(type(node).__name__)
    if needs is None:
        return names
    return [
        name for name in names if name not in needs or (needs[name] < len(edges) and edges[needs[name]][0] is not None)
    ]


def _place_of(name: str, node: Any, call: Call, edges: Edges, last: bool) -> int | None:
    """Return which tensor of a call a saved one is, inputs first, then outputs; None if made inside the call.

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
    """Return the position at which PyTorch's functions take a tensor with this name, None if that varies."""
    return 0 if name in _FIRST else 1 if name in _SECOND else 2 if name in _THIRD else None
