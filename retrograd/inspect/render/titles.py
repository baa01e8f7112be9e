"""The title of a card: the function or layer that the program called, where the node is that call's result."""

from __future__ import annotations

from ..fold.plumbing import is_plumbing
from ..graphs.graph import IN_PLACE, Graph
from ..operators import canonical
from . import labels


def titles(snapshot: Graph) -> list[str]:
    """Return the title of every node, "" where it is the engine's name of it or that of a leaf.

    ``cross_entropy`` makes two nodes: the last one is called so, the other ``log_softmax``.  Of a call whose last node
    only gives another shape, the one before it has the name.
    """
    if not any(snapshot.call):
        return [""] * len(snapshot)
    rearranges = {op: is_plumbing(op) for op in set(snapshot.op)}
    found = [_own(snapshot, node) for node in range(len(snapshot))]
    numbered = sorted((number, node) for node, number in enumerate(snapshot.seq) if number is not None)
    place, name, known_for, above = None, "", "", -1
    for number, node in reversed(numbered):
        op, call, at = snapshot.op[node], snapshot.call[node], (snapshot.source[node], snapshot.scope[node])
        if number != above - 1 or at != place or call not in ("", name):
            place, name, known_for = at, call, ""
        above = number
        if not name or snapshot.kind[node] != "op":
            continue
        if canonical(op) == canonical(name.removesuffix(IN_PLACE)):
            found[node] = name
        elif not rearranges[op] and known_for in ("", op):
            found[node], known_for = name, op
    return found


def writes_in_place(snapshot: Graph, node: int) -> bool:
    """Whether a node's call writes into memory that others see: PyTorch's name of what does so ends in ``_``."""
    call = snapshot.call[node]
    return snapshot.kind[node] == "copy" or (call.endswith("_") and not call.endswith("__"))


def _own(snapshot: Graph, node: int) -> str:
    """Return the name of a node's operator."""
    if snapshot.kind[node] != "op":
        return ""  # leaves, custom Functions and what is beside the graph have names of their own
    name = canonical(snapshot.op[node]) or labels.short_op(snapshot.op[node])
    own = canonical(f"{name}0") if name.endswith("Backward") else ""  # made by a backward pass: ``tanh backward``
    return f"{own} backward" if own else name
