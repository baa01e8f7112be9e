"""Nodes that every gradient on its way to another node goes through: its dominators."""

from __future__ import annotations

from ...graphs.graph import Graph
from ..facts.nodes import ran


def passed_by_all(snapshot: Graph, node: int) -> list[int]:
    """Return the nodes that lie on every way from the roots of a graph to a node, nearest to the roots first."""
    order = ran(snapshot)
    place = {one: number for number, one in enumerate(order)}
    users: dict[int, list[int]] = {}
    for source, target, _, _ in snapshot.edges():
        if source in place:
            users.setdefault(target, []).append(source)
    nowhere = -1  # before the roots
    last = {nowhere: nowhere}  # node -> the nearest that every way to it leads through
    place[nowhere] = nowhere
    for one in order[: place[node] + 1]:
        first, *others = users.get(one) or [nowhere]
        for other in others:
            while first != other:  # whichever ran later is left for what is nearer to the roots
                if place[first] > place[other]:
                    first = last[first]
                else:
                    other = last[other]
        last[one] = first
    found = [node]
    while last[found[-1]] != nowhere:
        found.append(last[found[-1]])
    return found[:0:-1]
