"""Leaves of which nothing is left of the gradient in a run: in ``.grad``, or in what ``autograd.grad`` returned."""

from __future__ import annotations

from ....snapshot import GraphSnapshot
from ...recorded.flow import Flow
from ...recorded.runs import Run

NOTHING = 1e-12
"""Norm of a gradient, and share of one that a node passes on, below which nothing is left."""


def lost_in(flow: Flow, run: Run) -> list[int]:
    """Return the leaves that a run gave a gradient without an entry worth the name."""
    lost = [leaf for leaf, norms in flow.norms_in(run).items() if is_zero(norms)]
    snapshot = None if run.snapshot is None else flow.graph_of(run)
    if snapshot is not None and {"grad_norm", "out_norm"} <= set(snapshot.measures):
        lost += [leaf for leaf in run.inputs if _gave_nothing(flow, run, snapshot, leaf)]
    return lost


class Losses:
    """Where the gradients of a run were lost: below which node nothing arrives any more, down to which leaves."""

    def __init__(self, flow: Flow, run: Run, snapshot: GraphSnapshot) -> None:
        self._flow = flow
        self._norms = snapshot.measures["grad_norm"]
        self._places = run.places(snapshot)
        self._calls = flow.reached_by(run).calls
        self._after: dict[int, list[int]] = {}
        for source, target, _, _ in snapshot.edges():
            self._after.setdefault(source, []).append(target)

    def at(self, node: int, leaves: list[int]) -> list[int]:
        """Return those of some leaves whose gradient was lost at a node, and not further on."""
        starved, todo = {node}, [node]
        while todo:
            for following in self._after.get(todo.pop(), ()):
                norm = self._norms[following]
                if following not in starved and not (norm and norm > NOTHING):
                    starved.add(following)
                    todo.append(following)
        return [leaf for leaf in leaves if not starved.isdisjoint(self._takers(leaf))]

    def _takers(self, leaf: int) -> list[int]:
        """Return the nodes of the calls that take a leaf."""
        rows = self._calls.intersection(self._flow.used_in.get(leaf, ()))
        return [self._places[node] for row in rows for node in self._flow.nodes(row) if node in self._places]


def is_zero(norms: list[float | None], given: float = 0.0) -> bool:
    """Whether the gradient that a leaf got in a run has no entry worth the name.

    ``given``: the largest norm that passes for rounding errors.
    """
    return all(norm is not None and norm < max(NOTHING, given) for norm in norms)


def _gave_nothing(flow: Flow, run: Run, snapshot: GraphSnapshot, leaf: int) -> bool:
    """Whether ``autograd.grad`` got nothing but zeros for a leaf that the program itself updates afterwards."""
    if not flow.written_after(leaf, run.end) or not flow.trainable([leaf]):
        return False
    places, calls = run.places(snapshot), flow.reached_by(run).calls.intersection(flow.used_in.get(leaf, ()))
    nodes = [places[node] for row in calls for node in flow.nodes(row) if node in places]
    return bool(nodes) and all(_gave_zero(snapshot, node) for node in nodes)


def _gave_zero(snapshot: GraphSnapshot, node: int) -> bool:
    """Whether a node passed nothing on, or had nothing to pass on: what ``autograd.grad`` takes out is not measured."""
    norms = (snapshot.measures[key][node] for key in ("grad_norm", "out_norm"))
    return any(norm is not None and norm < NOTHING for norm in norms)
