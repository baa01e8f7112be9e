"""What a card is called: by what the program called, where a node is the doing of that call and no step on its way."""

from __future__ import annotations

from ..operators import canonical
from ..snapshot import GraphSnapshot
from . import labels

_NAMED_BY_CLASS = ("leaf", "function", "copy", "ghost")
"""Kinds of nodes that are called by a name of their own."""


def titles(snapshot: GraphSnapshot) -> list[str]:
    """Return the title of every node, "" where it is the engine's name of it or that of a leaf.

    ``cross_entropy`` makes two nodes: its last one is called so, the other ``log_softmax``.
    """
    if not any(snapshot.call):
        return [""] * len(snapshot)
    found = [_own(snapshot, node) for node in range(len(snapshot))]
    numbered = sorted((number, node) for node, number in enumerate(snapshot.seq) if number is not None)
    latest, last, last_number = None, 0, 0
    for number, node in reversed(numbered):
        call = snapshot.call[node]
        origin = (snapshot.source[node], snapshot.scope[node], call)
        if origin != latest or number != last_number - 1:
            latest, last = origin, node
        last_number = number
        if call and (snapshot.op[node] == snapshot.op[last] or canonical(snapshot.op[node]) == canonical(call)):
            found[node] = call
    return found


def _own(snapshot: GraphSnapshot, node: int) -> str:
    """Return the name of a node's operator."""
    if snapshot.kind[node] in _NAMED_BY_CLASS:
        return ""
    return canonical(snapshot.op[node]) or labels.short_op(snapshot.op[node])
