"""``Renderer`` and ``RenderOptions``: what a renderer offers, its options, and which graphs of a recording it draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from ...errors import NoGraphError, NotInGraphError
from ..findings import Finding
from ..graphs.graph import Graph
from ..graphs.graph_diff import Differences
from ..graphs.subgraph import subgraph
from ..recording.events import Recording


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options of a drawing, as keywords of ``save``, ``show`` and ``text``; each format uses those that apply to it."""

    layout: str = "layered"
    """``"layered"`` (ours, needs no binary) or ``"dot"`` (Graphviz)."""
    step: str | int = "last"
    """Which snapshots: ``"last"``, ``"all"``, or an index (negative ones count from the end)."""
    view: str | None = None
    """``"backward"`` (the way gradients flow), ``"forward"`` (the way values do) or ``"both"`` on the same lines;
    ``None`` leaves it to the format: a page shows both, everything else ``"backward"``."""
    color_by: str | None = None
    """Numeric column that colours the nodes: ``"saved_bytes"`` or a name in ``Graph.measures``."""
    max_nodes: int | None = None
    """Draw at most this many nodes, nearest to the roots first; ``None`` leaves it to the format."""
    theme: str = "auto"
    """``"auto"`` (follows the reader's setting), ``"light"`` or ``"dark"``."""
    title: str = ""
    """Headline of the drawing; empty takes it from the recording."""
    width: int | None = None
    """Columns of a text rendering; ``None`` lets the renderer choose."""
    fold: tuple[str, ...] | None = None
    """Steps of folding (``retrograd.inspect.fold.STEPS``); ``None`` does all, ``()`` draws every node."""
    expand: tuple[str, ...] = ()
    """Paths of scopes to open beyond those that are open at first: ``"model/layers/3"``; ``"all"`` opens all."""
    max_boxes: int | None = None
    """Open outer scopes up to this many boxes; ``None`` takes 20, and shows small graphs whole."""
    differences: Differences | None = None
    """What a comparison says about a graph that holds both sides."""
    findings: tuple[Finding, ...] = ()
    """What a diagnosis found: drawn as marks on nodes, and as dashed edges where something was cut."""

    @property
    def direction(self) -> str:
        """The view of a drawing that has one only."""
        return self.view or VIEWS[0]


VIEWS = ("backward", "forward", "both")
"""What ``RenderOptions.view`` may be."""
MOST_CARDS = 20_000
"""Nodes that svg draws by default: about 12 MB, close to what browsers can open well."""


class Renderer(Protocol):
    """One output format: one file in ``formats`` whose ``RENDERER`` is an object of this shape."""

    @property
    def name(self) -> str:
        """Name of the format as in ``--format svg``."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """File suffixes with their dot (``(".svg",)``), the usual one first."""

    @property
    def binary(self) -> bool:
        """Whether ``render`` returns bytes."""

    def render(self, recording: Recording, options: RenderOptions) -> str | bytes:
        """Return the chosen snapshots of ``recording`` in this format."""


@runtime_checkable
class InPieces(Protocol):
    """A renderer whose text may be so long that it is better written while it is made."""

    def pieces(self, recording: Recording, options: RenderOptions) -> Iterator[str]:
        """Yield the text that ``render`` returns."""


@runtime_checkable
class Demanding(Protocol):
    """A renderer that cannot draw everywhere or everything, and says so before a program runs for nothing."""

    def demand(self, options: RenderOptions, level: str) -> None:
        """Raise what ``render`` would raise for every recording of this level."""


def chosen_snapshots(recording: Recording, options: RenderOptions) -> list[Graph]:
    """Return the snapshots that ``options.step`` selects, in order; never an empty list.

    In a comparison, the kind of a node that differs is its status.

    Raises ``NoGraphError`` for a recording without graphs and ``UsageError`` for a step it does not have.
    """
    found = [recording.graphs[step] for step in chosen_steps(recording, options)]
    if options.differences is None:
        return found
    statuses = options.differences.status
    return [replace(one, kind=[statuses.get(node, kind) for node, kind in enumerate(one.kind)]) for one in found]


def chosen_steps(recording: Recording, options: RenderOptions) -> list[int]:
    """Return the numbers of the snapshots that ``chosen_snapshots`` returns; raises what it raises."""
    count = len(recording.graphs)
    if not count:
        raise NoGraphError(
            "The recording holds no backward graph.",
            "Call backward() in the script, or draw one with retrograd.walk(loss).",
        )
    if options.step == "all":
        return list(range(count))
    if options.step == "last":
        return [count - 1]
    return [_step_index(recording, options.step, count) % count]


def _step_index(recording: Recording, step: str | int, count: int) -> int:
    """Turn a step as typed into an index, or say which steps there are."""
    try:
        index = int(step)
    except ValueError:
        index = count
    dropped = recording.summarized("runs") if index >= 0 else 0
    if dropped:
        return _kept_index(recording, index, count + dropped)
    if not -count <= index < count:
        raise NotInGraphError(
            f"There is no step {step!r} in a recording of {count} backward graph{'s' if count > 1 else ''}.",
            f"Ask for 'last', 'all' or a number from 0 to {count - 1}.",
            "step",
            step,
        )
    return index


def _kept_index(recording: Recording, number: int, runs: int) -> int:
    """Return the index of a backward pass's graph, in a recording that does not hold all."""
    labels = [snapshot.label for snapshot in recording.graphs]
    label = f"backward {number}"
    if label not in labels:
        raise NotInGraphError(
            f"The graph of backward pass {number} was not kept: there are {len(labels):,} of {runs:,}.",
            "Ask for 'last', 'all' or another number, or record with --keep all.",
            "step",
            number,
        )
    return labels.index(label)


def capped(snapshot: Graph, max_nodes: int | None) -> tuple[Graph, int]:
    """Return the first ``max_nodes`` nodes in walk order as a snapshot, and how many nodes that leaves out."""
    count = len(snapshot)
    if max_nodes is None or count <= max_nodes:
        return snapshot, 0
    keep = max(1, max_nodes)
    return subgraph(snapshot, range(keep)), count - keep
