"""Layers whose weights and inputs are all zero: neither gives the other a gradient, whatever a bias gets."""

from __future__ import annotations

from collections.abc import Iterator

from ....graphs.graph import Graph
from ....operators import Trait
from ...base import Case
from ...facts.flow import Flow
from ...facts.runs import Run
from ...text.words import at, listed
from ...thresholds import NOTHING
from .constant_results import both_zero, is_zero, lost_in


def zero_layers(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield the case of the layer nearest to the loss, with all leaves that never get a gradient for it."""
    lost = [leaf for leaf in lost_in(flow, run) if all(map(is_zero, flow.norms_of[leaf]))]
    places, norms = run.places(snapshot), snapshot.measures["grad_norm"]
    for row in sorted(flow.reached_by(run).calls, reverse=True) if lost else ():
        arrived = [norms[places[node]] or 0.0 for node in flow.nodes(row) if node in places]
        taken = max(arrived, default=0.0) > NOTHING and flow.does(row, Trait.CONTRACTION)
        if not taken or both_zero(flow, row, "") is None:
            continue
        behind = flow.leaves_behind(flow.behind(flow.inputs(row), row)).intersection(lost)
        explained = both_zero(flow, row, f"{listed(map(flow.name, sorted(behind)))} get") if behind else None
        if explained is not None:
            event = flow.events[row]
            yield Case(
                kind=explained[0],
                message=explained[1],
                remedy="leave the initial weights as the layers draw them; one of two factors may be zero, not both",
                source=event.source,
                op=event.op,
                subjects=frozenset(behind),
                marks=flow.marks(run, [row], f"both factors are zero{at(event.source)}"),
            )
            return
