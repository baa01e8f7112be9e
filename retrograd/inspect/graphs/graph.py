"""``Graph``: a copy of one backward graph, held in columns and independent of any engine.

``walk`` makes it once; statistics, folding, layout, renderers and checks then read it, and never the live graph. Node
``i`` is entry ``i`` of every node column and is called ``n{i}`` in every output. Nodes are numbered breadth first from
the roots, so that two runs give the same file.

Edges point in the direction in which gradients flow, from a node to its ``next_functions``: edge ``j`` leaves node
``edge_source[j]`` at position ``edge_input_nr[j]`` of its ``next_functions`` (the forward operand) and enters node
``edge_target[j]`` at its input ``edge_output_nr[j]`` (the forward output). Parallel edges are real (``x * x``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..program.places import SourceLine
from ..verbs import Verbs

if TYPE_CHECKING:
    import networkx as nx

NODE_COLUMNS = ("op", "kind", "name", "scope", "shape", "dtype", "source", "call", "saved_bytes", "seq")
"""Names of the columns that have one entry per node, and of a node's attributes in networkx."""
FORWARD_ONLY = "forward only, nothing was differentiated"
"""Label of a graph built from forward calls."""
IN_PLACE = " (in place)"
"""Suffix of a ``call`` that wrote into its operand although its name does not show it: ``ReLU (in place)``."""
ASIDE, INPUT, IDLE = "aside", "input", "idle"
"""Kinds of nodes that are drawn beside a graph: calls, inputs and parameters that get no gradient."""
EDGE_COLUMNS = ("edge_source", "edge_target", "edge_input_nr", "edge_output_nr")
"""Names of the columns that have one entry per edge."""
SAMPLED = frozenset({"grad_min", "grad_max", "grad_mean", "zero_share", "out_zero_share"})
"""Measures that are not recorded in every pass: None does not mean that the node did not run."""


class Cut(NamedTuple):
    """Where values continue and gradients do not: a call whose result left the graph, and the node that used it."""

    node: int
    """The node whose call used the values."""
    word: str
    """What cut the gradient: ``detach``, ``no_grad``, ``item``, ``argmax``."""
    source: SourceLine | None
    """The user's line of the cut."""
    origin: int
    """The node of this graph whose result was cut, -1 if it is not in the graph."""

    def plain(self) -> list[Any]:
        """Return the cut as JSON values."""
        return [self.node, self.word, None if self.source is None else self.source.plain(), self.origin]


@dataclass(slots=True, weakref_slot=True, repr=False)
class Graph(Verbs):
    """One backward graph: columns with an entry for each node, and columns with an entry for each edge.

    ``rg.walk`` and ``Recording.graphs`` give them. Lists indexed by node number hold operator, name, shape, source line
    and saved bytes; ``edges()`` yields the edges, ``to_networkx()`` gives a ``MultiDiGraph``, and ``findings``,
    ``stats()``, ``save(path)`` and ``show()`` report on the graph::

        graph = rg.walk(loss, model)
        for number, name in enumerate(graph.name):
            if name is not None:
                print(f"n{number}", name, graph.shape[number])
    """

    engine: str = "retrograd"
    """``"retrograd"`` or ``"torch"``."""
    label: str = ""
    """Title of the graph in output: ``"backward 3"``, ``"walk"``."""
    # -- node columns
    op: list[str] = field(default_factory=list)
    """Node name as the engine spells it: ``MulBackward0``, ``AccumulateGrad``."""
    kind: list[str] = field(default_factory=list)
    """``"op"``, ``"leaf"`` (AccumulateGrad), ``"function"`` (a user's custom Function), ``"copy"`` (CopySlices)."""
    name: list[str | None] = field(default_factory=list)
    """Parameter name of a leaf, or variable name of an intermediate, when known."""
    scope: list[str] = field(default_factory=list)
    """Module path or scope in which the node was made, separated by ``/``; ``""`` if unknown."""
    shape: list[tuple[int, ...] | None] = field(default_factory=list)
    """Shape of the node's first forward output (= its incoming gradient); of the tensor for a leaf."""
    dtype: list[str | None] = field(default_factory=list)
    """Its dtype without prefix: ``"float32"``."""
    source: list[SourceLine | None] = field(default_factory=list)
    """The user's line that made the node, when recorded."""
    call: list[str] = field(default_factory=list)
    """The function or layer that the program called: ``linear``, ``relu_``, ``Linear``; "" if unknown."""
    saved_bytes: list[int | None] = field(default_factory=list)
    """Bytes of the saved tensors, when known without unpacking them."""
    seq: list[int | None] = field(default_factory=list)
    """Sequence number; ``None`` for leaves."""
    # -- edge columns
    edge_source: list[int] = field(default_factory=list)
    edge_target: list[int] = field(default_factory=list)
    edge_input_nr: list[int] = field(default_factory=list)
    edge_output_nr: list[int] = field(default_factory=list)
    # -- the rest
    roots: list[int] = field(default_factory=list)
    """Nodes where backward starts."""
    root_names: list[str | None] = field(default_factory=list)
    """Variable name of each root (``"loss"``), when known."""
    classes: dict[str, str] = field(default_factory=dict)
    """Path of a module (a ``scope``) -> its class."""
    cuts: list[Cut] = field(default_factory=list)
    """Where values continue and gradients do not, in node order."""
    first_seq: int = 0
    """Subtracted from every ``seq``, so that equal steps have equal columns; events use ``first_seq + seq``."""
    measures: dict[str, list[float | None]] = field(default_factory=dict)
    """Optional numeric node columns such as ``time_us`` or ``grad_norm``."""
    _measured: Callable[[], dict[str, list[float | None]]] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    """Computes ``measures`` when they are read."""
    _lasting: bool = field(default=False, init=False, repr=False, compare=False)
    _networkx: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.call) != len(self.op):
            self.call = [""] * len(self.op)

    def __repr__(self) -> str:
        label = f" {self.label!r}" if self.label else ""
        return f"<Graph{label} of {self.engine}: {len(self):,} nodes, {self.edge_count:,} edges>"

    def __len__(self) -> int:
        return len(self.op)

    def measure_later(self, make: Callable[[], dict[str, list[float | None]]], *, lasting: bool) -> None:
        """Let ``make`` compute the measures when they are read; the result is kept if ``lasting``."""
        self._measured, self._lasting = make, lasting
        self.measures = {}
        del self.measures

    def __getattr__(self, name: str) -> Any:  # asked only for what is not there
        if name != "measures" or self._measured is None:
            return object.__getattribute__(self, name)
        made = self._measured()
        if self._lasting:
            self.measures, self._measured = made, None
        return made

    @property
    def is_measured(self) -> bool:
        """Whether there are measures; computes none."""
        return self._measured is not None or bool(self.measures)

    def is_like(self, other: Graph) -> bool:
        """Whether two graphs differ only in measures and labels, like the steps of a training loop."""
        columns = (*NODE_COLUMNS, *EDGE_COLUMNS, "roots", "root_names", "engine", "classes", "cuts")
        return all(getattr(self, column) == getattr(other, column) for column in columns)

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return len(self.edge_source)

    def to_networkx(self) -> nx.MultiDiGraph[str]:
        """Return the graph as a frozen ``networkx.MultiDiGraph``, built on the first call and kept.

        Nodes are ``"n0"``, ``"n1"``, … in walk order, with ``NODE_COLUMNS`` and the measures as attributes. Edges carry
        ``input_nr`` and ``output_nr``; their key is the input number, or the next free key where folding puts several
        edges with one input number between two nodes. Change a ``.copy()`` of it, not the graph itself.
        """
        if self._networkx is None:
            self._networkx = self._build_networkx()
        graph: nx.MultiDiGraph[str] = self._networkx
        return graph

    def _build_networkx(self) -> nx.MultiDiGraph[str]:
        """Build what ``to_networkx`` returns."""
        import networkx as nx

        ids = [f"n{node}" for node in range(len(self))]
        roots = [ids[root] for root in self.roots]
        graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(
            engine=self.engine, label=self.label, roots=roots, root_names=list(self.root_names)
        )
        graph.add_nodes_from(zip(ids, self._node_attributes(), strict=True))
        for source, target, input_nr, output_nr in self.edges():
            start, end, key = ids[source], ids[target], input_nr
            if graph.has_edge(start, end, key):
                key = graph.new_edge_key(start, end)
            graph.add_edge(start, end, key, input_nr=input_nr, output_nr=output_nr)
        return nx.freeze(graph)

    def _node_attributes(self) -> Iterator[dict[str, Any]]:
        """Yield each node's attributes: its entries in the columns and measures."""
        names = (*self.measures, *NODE_COLUMNS)  # a measure never hides a column of the same name
        columns = (*self.measures.values(), *(getattr(self, column) for column in NODE_COLUMNS))
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))

    def edges(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield each edge as (source node, target node, input number, output number)."""
        return zip(self.edge_source, self.edge_target, self.edge_input_nr, self.edge_output_nr, strict=True)
