"""Values that left the graph as plain numbers or arrays and came back as new tensors, which no call connects."""

from __future__ import annotations

from .flow import Flow
from .runs import Run

_LEAVING = ("item", "tolist", "numpy", "copy")
_ENTERING = frozenset(
    {"tensor", "as_tensor", "asarray", "from_numpy", "Tensor", "FloatTensor", "scalar_tensor", "full", "new_tensor"}
)


def value_cut(flow: Flow, leaf: int, runs: list[Run]) -> int | None:
    """Return the first call by which values of a leaf left the graph, if a loss is made of values that came back."""
    for run in runs:
        entered = _last_entry(flow, run)
        if entered is None:
            continue
        since = max((other.end for other in flow.runs if other.end < run.begin), default=-1)
        for row in flow.rows.get("cut", ()):
            data = flow.events[row].data
            leaving = since < row < entered and data.get("reason") in _LEAVING
            if leaving and leaf in flow.behind(data.get("inputs", ()), row).tensors:
                return row
    return None


def _last_entry(flow: Flow, run: Run) -> int | None:
    """Return the last call behind a run's root that made a tensor of plain values."""
    behind = flow.behind(run.roots, run.begin, gradients=False)
    rows = {row for row in behind.calls if flow.events[row].op in _ENTERING and not flow.inputs(row)}
    for root in run.roots:
        rows.update(row for row in flow.made_in.get(root, ()) if row < run.begin and not flow.inputs(row))
    return max(rows, default=None)
