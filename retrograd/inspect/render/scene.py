"""The content of one graph's drawing: folded as requested, with the places that findings point at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np

from ..findings import SEVERITIES
from ..fold import Opening, View, everything, expand, first_opening, fold, open_at, view
from ..fold.seen import seen_snapshot
from ..graphs.graph import ASIDE, IDLE, INPUT, Graph
from ..graphs.graph_diff import Differences
from ..program.places import full_place, inside_words
from ..recording.aside import Asides
from . import labels
from .base import MOST_CARDS, RenderOptions, capped
from .marks import GHOST, Note, marked
from .reached import Reached
from .titles import titles

BESIDE = (ASIDE, INPUT, IDLE)
"""Kinds of nodes that are drawn beside a graph."""
MOST_ROWS = 6
"""Parameters of one card that are listed; of more, the first ones and a count."""
_MOST_MERGED = 8
"""Nodes merged into one edge that are named."""


@dataclass
class Scene:
    """One graph as it is drawn: ``seen`` has a row per box, in the order of ``view.boxes``."""

    view: View
    seen: Graph
    whole: Graph
    """The graph, of which ``seen`` may show a part."""
    notes: dict[int, list[Note]] = field(default_factory=dict)
    """Boxes that findings point at."""
    rest: str = ""
    """Text that the headline adds about what is left out."""
    differences: Differences | None = None
    """What a comparison says about the graph, if it holds both sides of one."""
    cuts: dict[int, str] = field(default_factory=dict)
    """Edges of the graph that no gradient takes, with what ended it."""
    reached: Reached | None = None
    """Which parameters get a gradient."""
    direction: str = "backward"
    """As ``RenderOptions.direction``."""
    launched: bool = False
    """Whether times are those of launching kernels on a device."""
    plain: bool = False
    """Whether no step of folding was wanted, so that cards spell operators as the engine does."""

    @cached_property
    def ids(self) -> list[str]:
        """Return every box's name in the output: ``n12`` after its (first) node, ``n12-2`` for its second place."""
        return [self._place_name(head, self._places.get((box, -1), (1, 1))[0]) for box, head in enumerate(self.heads)]

    def row_links(self, box: int) -> list[tuple[str, str]]:
        """Return per leaf listed on a card its name in the output, and that of its next place or "" if it has one."""
        found = []
        for row, leaf in enumerate(self.leaves(box)[:MOST_ROWS]):
            number, total = self._places.get((box, row), (1, 1))
            found.append((self._place_name(leaf, number), self._place_name(leaf, number % total + 1) * (total > 1)))
        return found

    @staticmethod
    def _place_name(node: int, number: int) -> str:
        return f"n{node}" if number == 1 else f"n{node}-{number}"

    @cached_property
    def _places(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Per place of a shared leaf that is drawn (box and row, -1 for the box itself) its number among how many."""
        box_of = {box.begin: number for number, box in enumerate(self.view.boxes) if box.scope < 0}
        found = {}
        for uses in self.view.folded.places().values():
            drawn = [(box_of[atom], row) for atom, row in uses if atom in box_of and row < MOST_ROWS]
            found.update({place: (number, len(drawn)) for number, place in enumerate(drawn, 1)})
        return found

    @property
    def has_places(self) -> bool:
        """Whether some leaf is drawn in several places."""
        return any(total > 1 for _, total in self._places.values())

    @cached_property
    def edge_labels(self) -> list[str]:
        """Return every edge's label: the shape of the gradient that flows there, its output number, how many."""
        folded, original = self.view.folded, self.view.folded.original
        found = []
        for edge, count in zip(self.view.edges, self.view.counts, strict=True):
            last, cut = folded.last_edges[edge], self.cuts.get(folded.first_edges[edge])
            found.append(labels.edge_text(original, last, count, together=True) if cut is None else cut)
        return found

    @cached_property
    def root_names(self) -> dict[int, str]:
        """Return the boxes where backward starts, with the names of their variables or "" where unknown."""
        pairs = zip(self.seen.roots, self.seen.root_names, strict=False)
        return {box: labels.clean(name or "") for box, name in pairs}

    @cached_property
    def heads(self) -> list[int]:
        """Return per box the node of the graph that it shows, or shows first."""
        return [self.view.folded.heads[box.begin] for box in self.view.boxes]

    def edge_status(self, edge: int) -> str:
        """Return ``added`` or ``removed`` for an edge that only one side of a comparison has, else ""."""
        if self.differences is None:
            return ""
        original = self.view.folded.original
        number = self.view.folded.first_edges[self.view.edges[edge]]
        columns = (original.edge_source, original.edge_target, original.edge_input_nr, original.edge_output_nr)
        source, target, input_nr, output_nr = (column[number] for column in columns)
        return self.differences.edges.get((source, target, input_nr, output_nr), "")

    def output_words(self) -> list[str]:
        """Return per edge which of several outputs of a card it enters; where values flow down its label says so there.

        An edge that represents several names none.
        """
        folded, counts = self.view.folded, self.view.counts
        original, last = folded.original, folded.last_edges
        if self.is_forward or not any(original.edge_output_nr):  # of several outputs one beside the first is used
            return [""] * len(counts)
        pairs = zip(self.view.edges, counts, strict=True)
        return ["" if count > 1 else labels.output_text(original, last[edge]) for edge, count in pairs]

    def is_cut(self, edge: int) -> bool:
        """Whether an edge carries values but no gradient."""
        if not self.has_cuts:
            return False
        first = self.view.folded.first_edges[self.view.edges[edge]]
        ends = (self.seen.edge_source[edge], self.seen.edge_target[edge])
        return first in self.cuts or any(self.seen.kind[box] == GHOST for box in ends)

    def is_aside(self, edge: int) -> bool:
        """Whether an edge carries values of something that no gradient was asked for."""
        folded = self.view.folded
        giver = folded.original.edge_target[folded.last_edges[self.view.edges[edge]]]
        return folded.original.kind[giver] in BESIDE and not self.is_cut(edge)

    def is_beside(self, box: int) -> bool:
        """Whether nothing in a box gets a gradient."""
        folded, found = self.view.folded, self.view.boxes[box]
        return all(folded.original.kind[head] in BESIDE for head in folded.heads[found.begin : found.end])

    @cached_property
    def has_cuts(self) -> bool:
        """Whether some edge may be cut."""
        return bool(self.cuts) or GHOST in self.seen.kind

    @property
    def is_forward(self) -> bool:
        """Whether edges point in the direction of values."""
        return self.direction != "backward"

    def status_of(self, node: int) -> str:
        """Return the status of a node in a comparison, or ""."""
        return "" if self.differences is None else self.differences.status.get(node, "")

    def status(self, box: int) -> str:
        """Return the status of a box in a comparison, the most significant of its nodes', or ""."""
        if self.differences is None:
            return ""
        found = self.view.boxes[box]
        if found.scope < 0:
            return self.status_of(self.heads[box])
        return self.differences.worst(self.view.folded.heads[atom] for atom in range(found.begin, found.end))

    def changes(self, box: int) -> tuple[str, ...]:
        """Return the changes of a box's node in a comparison."""
        if self.differences is None or self.view.boxes[box].scope >= 0:
            return ()
        return self.differences.words.get(self.heads[box], ())

    def via_text(self, edge: int) -> str:
        """Return what was merged into an edge, in words."""
        folded, number = self.view.folded, self.view.edges[edge]
        if folded.first_edges[number] == folded.last_edges[number]:
            return ""
        merged = islice(folded.via(number), _MOST_MERGED)
        words = ", ".join(folded.original.op[node] for node in merged)
        return f" via {words}" if words else ""

    def nodes_within(self, count: int) -> int:
        """Return how many nodes of the graph are seen in the first ``count`` boxes."""
        folded = self.view.folded
        boxes = (
            self.view.box_of[np.asarray(folded.atom_of[: self.nodes_drawn], dtype=np.int64)]
            if len(folded)
            else np.zeros(0)
        )
        return int(np.count_nonzero(boxes < count))

    @property
    def nodes_drawn(self) -> int:
        """How many nodes of the graph the drawing is of: the first ones, nearest to the roots."""
        return min(len(self.view.folded.original), len(self.whole))  # ghosts come after all nodes

    def headline(self) -> str:
        """Return the caption of the drawing: ``loss · backward 3 · 41 nodes · 47 edges · torch``."""
        count = len(self.view.boxes)
        folded = f" · {count} box{'es' * (count != 1)}" if self.folds else ""
        parameters = f"{self.reached.headline} · " if self.reached else ""
        return parameters + labels.headline(self.whole) + folded + self.rest

    def tooltip(self, box: int) -> list[str]:
        """Return what a pointer resting on a box shows: all of it unshortened, the whole path, the saved bytes."""
        seen, found = self.seen, self.view.boxes[box]
        card, source = labels.node_text(seen, box), seen.source[box]
        saved = labels.bytes_text(seen.saved_bytes[box])
        where = f"{full_place(source.file, source.line)} in {source.function}" if source else ""
        where += inside_words(source.inside) if source else ""
        lines = [card.op, card.name, card.tensor, card.scope, where, f"{saved} saved for backward" if saved else ""]
        if found.copies > 1:
            lines.append(f"stands for {found.copies} of the same structure")
        return lines + [f"{note.severity}: {note.text}" for note in self.notes.get(box, [])]

    def leaves(self, box: int) -> tuple[int, ...]:
        """Return the leaves on the card of a box that is an atom."""
        found = self.view.boxes[box]
        return self.view.folded.rows.get(found.begin, ()) if found.scope < 0 else ()

    @property
    def folds(self) -> bool:
        """Whether anything is folded, so that boxes are not just the nodes."""
        return len(self.view.boxes) != len(self.view.folded.original)


def outline(view: View, boxes: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Yield boxes, those of a frame together, as ("box", number), between ("open", frame) and ("close", frame)."""
    inside: list[int] = []
    for number in boxes:
        box = view.boxes[number]
        around: list[int] = []
        frame = box.frame
        while frame > 0:
            around.append(frame)
            frame = view.frames[frame].parent
        while inside and inside[-1] not in around:
            yield "close", inside.pop()
        for frame in reversed(around[: len(around) - len(inside)]):
            inside.append(frame)
            yield "open", frame
        yield "box", number
    while inside:
        yield "close", inside.pop()


def scene(
    snapshot: Graph,
    options: RenderOptions,
    step: int = 0,
    most: int | None = MOST_CARDS,
    reached: Reached | None = None,
    asides: Asides | None = None,
) -> Scene:
    """Return what is drawn of a graph, the ``step``-th of its recording: no more than ``most`` boxes unless asked for.

    ``asides`` adds what ran beside the graph.

    Raises ``UsageError`` for a step of folding or a scope to expand that there is not.
    """
    shown, left_out = capped(snapshot, options.max_nodes)
    made = _folded(shown, options, step, None if left_out else asides)
    if most is not None and options.max_nodes is None and len(made.view.boxes) > most:
        shown, left_out = capped(snapshot, most)
        made = _folded(shown, options, step)
    made.whole, made.differences, made.reached = snapshot, options.differences, reached
    if left_out:
        more = "" if options.max_nodes else " (--max-nodes draws more)"
        made.rest = f" · only the first {len(shown):,} nodes are drawn{more}"
    return made


def _folded(snapshot: Graph, options: RenderOptions, step: int, asides: Asides | None = None) -> Scene:
    """Fold a graph as asked for, open what is to be open, and put notes on the boxes that findings point at."""
    plain = options.fold == ()
    graph = replace(snapshot, call=[""] * len(snapshot) if plain else titles(snapshot))
    graph, notes, cuts = marked(graph if asides is None else asides.beside(step, graph), options.findings, step)
    folded = fold(graph) if options.fold is None else fold(graph, options.fold)
    chosen = Opening(everything(folded).opened) if plain else first_opening(folded, options.max_boxes)
    expand(folded, chosen, options.expand)
    if options.differences:
        open_at(folded, chosen, options.differences.telling())
    seen = view(folded, chosen.opened, chosen.unrolled, cuts)
    seen = seen if options.direction == "backward" else seen.turned()
    made = Scene(seen, seen_snapshot(seen), snapshot, cuts=cuts, plain=plain, direction=options.direction)
    for node, note in notes:
        made.notes.setdefault(seen.box_of_node(node), []).append(note)
    for found in made.notes.values():
        found.sort(key=lambda note: SEVERITIES.index(note.severity))
    return made
