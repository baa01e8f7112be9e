"""Statistics of one graph: its slowest nodes, its largest saved tensors, the gradients of its parameters.

They are computed from the columns and measures of a ``Graph``; the level of recording decides which measures exist.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..graphs.columns import Plain, nonfinite_word
from ..graphs.graph import Graph
from ..graphs.passes import Times
from ..program.places import SourceLine
from ..verbs import Tables
from .memory_line import MemoryLine, memory_line
from .saved_tensors import SavedTensor

SCHEMA = 1
"""Schema number of statistics written as JSON."""
ROWS = 10
"""Default number of rows of one table."""
GRADIENT_MEASURES = ("grad_norm", "grad_min", "grad_max", "grad_mean", "zero_share", "nan_count", "inf_count")
"""Measures that describe the gradient that reached a node."""


@dataclass(frozen=True, slots=True)
class NodeFigure:
    """One node and the value by which it was selected: microseconds or bytes."""

    node: str
    op: str
    name: str | None
    scope: str
    source: SourceLine | None
    value: float
    share: float
    """Its share of the sum over all nodes, 0 to 1."""
    spread: tuple[float, float] | None = None
    """First and third quartile, if ``value`` is the median over several passes."""
    call: str = ""
    """What the program called, where known: ``Linear``, ``conv2d``."""


@dataclass(frozen=True, slots=True)
class ParameterGradient:
    """Statistics of the gradient of one parameter or other leaf; None for what was not recorded."""

    node: str
    name: str | None
    shape: tuple[int, ...] | None
    dtype: str | None
    grad_norm: float | None
    grad_min: float | None
    grad_max: float | None
    grad_mean: float | None
    zero_share: float | None
    nan_count: float | None
    inf_count: float | None


@dataclass(frozen=True, slots=True)
class Statistics(Tables):
    """The statistics of one graph, as ``Graph.stats()`` and ``Recording.stats()`` return them; ``print`` shows them."""

    label: str
    engine: str
    nodes: int
    edges: int
    operators: dict[str, int]
    """Operator -> number of nodes, most frequent first."""
    time_us: float | None
    """Microseconds, summed over all nodes."""
    saved_bytes: int | None
    """Bytes of all saved tensors."""
    slowest: list[NodeFigure]
    largest: list[NodeFigure]
    gradients: list[ParameterGradient]
    """Leaves by gradient norm: non-finite ones first, then the largest; those without a known norm last."""
    leaves: int
    """How many leaves there are; ``gradients`` may hold fewer."""
    passes: int = 1
    """Number of backward passes whose median the times are."""
    launched: bool = False
    """Whether times are those of launching kernels on a device, which run later."""
    missing: list[str] = field(default_factory=list)
    """Sentences about what the recording does not hold and how to get it."""
    memory: MemoryLine | None = None
    """Bytes of saved tensors over time, where known."""
    saved: tuple[SavedTensor, ...] | None = None
    """Tensors that nodes keep, the largest first; None unless they were asked for."""
    parameters: str = ""
    """How many parameters get a gradient, in words."""
    unreached: tuple[str, ...] = ()
    """Parameters that are in no graph of the recording."""

    def to_plain(self) -> dict[str, Plain]:
        """Return the statistics as JSON values; NaN and infinities become null and are named under ``nonfinite``."""
        plain = asdict(self)
        for table in ("slowest", "largest", "gradients", "saved"):
            plain[table] = plain[table] and [_flagged(row) for row in plain[table]]
        if self.memory is not None:
            plain["memory"] = _plain_memory(self.memory)
        return _flagged(plain)


def _plain_memory(line: MemoryLine) -> dict[str, Plain]:
    """Return a memory line as JSON values; its points are node and bytes held after it."""
    points = [[f"n{node}", held] for node, held in zip(line.nodes, line.held, strict=True)]
    holders = {name: [one._asdict() for one in getattr(line, name)] for name in ("modules", "lines")}
    peak = {"node": points[line.peak][0], "bytes": line.most, **holders}
    return {
        "forward": points[: line.forward],
        "backward": points[line.forward :],
        "peak": peak,
        "unknown": line.unknown,
    }


def statistics(
    snapshot: Graph, rows: int | None = ROWS, *, retained: bool = False, over: Times | None = None
) -> Statistics:
    """Return the statistics of one graph, with at most ``rows`` rows in each table (None: all).

    ``retained`` says that its backward pass was called with ``retain_graph``; ``over`` are the times of its nodes over
    several passes.
    """
    limit = len(snapshot) if rows is None else rows
    times = over.median if over else snapshot.measures.get("time_us")
    slowest = _largest(snapshot, times or [], limit)
    if over is not None:
        slowest = [replace(one, spread=_spread(over, int(one.node[1:]))) for one in slowest]
    # The measure counts a storage that several nodes share only once.
    saved = snapshot.measures.get("saved_bytes", snapshot.saved_bytes)
    leaves = [node for node, kind in enumerate(snapshot.kind) if kind == "leaf"]
    norms = snapshot.measures.get("grad_norm")
    chosen = heapq.nsmallest(limit, leaves, key=lambda node: _by_norm(norms[node] if norms else None))
    return Statistics(
        label=snapshot.label,
        engine=snapshot.engine,
        nodes=len(snapshot),
        edges=snapshot.edge_count,
        operators=dict(Counter(snapshot.op).most_common()),
        time_us=_total(times),
        saved_bytes=int(_total(saved) or 0) if _known(saved) else None,
        slowest=slowest,
        passes=1 if over is None else over.passes,
        largest=_largest(snapshot, saved, limit),
        gradients=[_gradient(snapshot, node) for node in chosen],
        leaves=len(leaves),
        memory=memory_line(snapshot, retained=retained),
        missing=_missing(snapshot),
    )


def _spread(over: Times, node: int) -> tuple[float, float] | None:
    """Return the quartiles of one node's times."""
    low, high = over.low[node], over.high[node]
    return None if low is None or high is None else (low, high)


def _missing(snapshot: Graph) -> list[str]:
    """Return sentences about what the recording does not hold and how to record it."""
    wanted = {"time_us": "times of nodes", "grad_norm": "gradients"}
    absent = [words for name, words in wanted.items() if not _known(snapshot.measures.get(name, []))]
    sentences = []
    if absent:
        what = " and ".join(absent).capitalize()
        sentences.append(f"{what} were not recorded: record the run with `retrograd trace --level backward`.")
    norms, means = (snapshot.measures.get(name, []) for name in ("grad_norm", "grad_mean"))
    if means and _known(norms) and not _known(means):
        sentences.append(
            "Minimum, maximum, mean and zeros of gradients were not recorded in this pass, as in most passes of a "
            "long program: record it with `retrograd trace --level backward --all-figures`."
        )
    if not _known(snapshot.saved_bytes):
        sentences.append("No saved tensors were recorded.")
    return sentences


def _known(column: Sequence[float | None]) -> bool:
    """Whether a column has any known entry."""
    return any(value is not None for value in column)


def _total(column: Sequence[float | None] | None) -> float | None:
    """Return the sum of the finite entries, or None when nothing is known."""
    if column is None or not _known(column):
        return None
    return math.fsum(value for value in column if value is not None and math.isfinite(value))


def _largest(snapshot: Graph, column: Sequence[float | None], limit: int) -> list[NodeFigure]:
    """Return the nodes with the largest positive finite entries of a column, largest first."""
    total = _total(column) or 0.0
    known = [(value, -node) for node, value in enumerate(column) if value is not None and 0 < value < math.inf]
    return [_figure(snapshot, -node, value, total) for value, node in heapq.nlargest(limit, known)]


def _figure(snapshot: Graph, node: int, value: float, total: float) -> NodeFigure:
    """Return one row."""
    return NodeFigure(
        node=f"n{node}",
        op=snapshot.op[node],
        name=snapshot.name[node],
        scope=snapshot.scope[node],
        source=snapshot.source[node],
        value=value,
        share=value / total if total else 0.0,
    )


def _gradient(snapshot: Graph, node: int) -> ParameterGradient:
    """Return the statistics of the gradient of one leaf."""
    measured = {name: snapshot.measures.get(name) for name in GRADIENT_MEASURES}
    return ParameterGradient(
        node=f"n{node}",
        name=snapshot.name[node],
        shape=snapshot.shape[node],
        dtype=snapshot.dtype[node],
        **{name: column[node] if column else None for name, column in measured.items()},
    )


def _by_norm(norm: float | None) -> tuple[int, float]:
    """Return the sort key of a leaf: non-finite norms first, then large ones, then unknown ones."""
    if norm is None:
        return 2, 0.0
    return (1, -norm) if math.isfinite(norm) else (0, 0.0)


def _flagged(row: dict[str, Any]) -> dict[str, Plain]:
    """Return a row whose non-finite numbers are null and named under ``nonfinite``."""
    odd = {key: value for key, value in row.items() if isinstance(value, float) and not math.isfinite(value)}
    if not odd:
        return row
    words: dict[str, str] = {key: nonfinite_word(value) for key, value in odd.items()}
    return {**row, **dict.fromkeys(odd), "nonfinite": words}
