"""The graph as indented text, for terminals (in colour) and plain text files.

Folded: modules as branches, operators in reading order, each shown once. Unfolded: every node once, later arrivals as
references, in bounded time: below a node are its leaves and short branches, one level deeper; its longest branch goes
on at the node's own level. So a chain of any length stays on one level, and a network of residual blocks on two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import IO, TYPE_CHECKING, NamedTuple

from ...graphs.graph import Graph
from ...layout.ranks import Adjacency, longest_path_ranks
from ...recording.aside import Asides
from ...recording.events import Recording
from ...recording.unseen import launched_on
from .. import labels
from ..base import RenderOptions, chosen_steps
from ..card_words import box_words, frame_ending, full_title
from ..console_page import FILE_WIDTH, page_text, print_page
from ..labels import headline, node_id, node_text
from ..marks import GHOST, Note, marked, unplaced
from ..reached import Reached, reached
from ..scale import Scale, scale
from ..scene import Scene, outline, scene

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree


class Row(NamedTuple):
    """One row of the outline."""

    node: int
    depth: int
    """Level of indentation, 0 for a root."""
    continues: bool
    """Whether the row above it at the same level flows into this one."""
    reference: bool
    """Whether the node has a row of its own elsewhere."""
    output_nr: int
    """Forward output of the node that the row above or around it uses."""


class _Step(NamedTuple):
    """Work to do: give ``row``, and first lay out the branch that begins there if ``begins``."""

    row: Row
    begins: bool


class Outline:
    """The rows of one snapshot, made as they are asked for."""

    def __init__(self, snapshot: Graph) -> None:
        self._count = len(snapshot)
        self._roots = snapshot.roots
        edges = range(snapshot.edge_count)
        self._edges = Adjacency(self._count, snapshot.edge_source, edges)
        self._targets, self._outputs = snapshot.edge_target, snapshot.edge_output_nr
        # How far below a node the graph continues: its rank in the graph with all edges turned round.
        self._heights = longest_path_ranks(self._count, snapshot.edge_target, snapshot.edge_source)
        self._placed = bytearray(self._count)

    def rows(self, limit: int) -> list[Row]:
        """Return the first ``limit`` rows."""
        rows: list[Row] = []
        for root in [*self._roots, *range(self._count)]:
            if len(rows) >= limit:
                break
            if not self._placed[root]:
                self._add_branch(root, rows, limit)
        return rows

    def _add_branch(self, root: int, rows: list[Row], limit: int) -> None:
        """Add the rows of all that hangs below ``root``."""
        stack = [_Step(Row(root, 0, False, False, 0), True)]
        while stack and len(rows) < limit:
            row, begins = stack.pop()
            if begins and self._placed[row.node]:
                rows.append(row._replace(reference=True))
            elif begins:
                stack.extend(reversed(list(self._branch(row, limit - len(rows)))))
            else:
                rows.append(row)

    def _branch(self, start: Row, limit: int) -> Iterator[_Step]:
        """Yield the rows of the longest path from ``start`` on, each followed by the branches that leave it."""
        path = self._longest_path(start.node, limit)
        node, row = start.node, start
        for edge in [*path, None]:
            yield _Step(row, False)
            for side in self._edges.of(node):
                if side != edge:
                    yield _Step(Row(self._targets[side], row.depth + 1, False, False, self._outputs[side]), True)
            if edge is not None:
                node = self._targets[edge]
                row = Row(node, row.depth, True, False, self._outputs[edge])

    def _longest_path(self, node: int, limit: int) -> list[int]:
        """Return the edges of a longest path down from ``node``, at most ``limit``, and place its nodes."""
        path: list[int] = []
        self._placed[node] = 1
        while len(path) < limit:
            edges = self._edges.of(node)
            free = [edge for edge in edges if not self._placed[self._targets[edge]]]
            if not free:
                break
            best = max(free, key=lambda edge: self._heights[self._targets[edge]])
            if len(edges) > 1 and not self._heights[self._targets[best]]:
                break  # only leaves are left: they are all below their node
            path.append(best)
            node = self._targets[best]
            self._placed[node] = 1
        return path


ROWS = 200
"""Default number of rows of one graph."""


def folded_tree(
    snapshot: Graph,
    options: RenderOptions,
    step: int = 0,
    known: Reached | None = None,
    *,
    launched: bool = False,
    asides: Asides | None = None,
) -> Tree:
    """Return one graph, folded, as a ``rich.tree.Tree``, capped at ``options.max_nodes`` rows (default 200).

    A row leads to the row below it unless it says where to: ``→ n12``.
    """
    from rich.text import Text
    from rich.tree import Tree

    made = scene(snapshot, replace(options, max_nodes=None), step, most=None, reached=known, asides=asides)
    limit = options.max_nodes or ROWS
    keep = min(limit, len(made.seen))
    shown = _reading_order(made, keep)
    headline = Text(f"{labels.clean(options.title)} · " * bool(options.title) + made.headline(), style="bold")
    open_trees = [Tree(headline, guide_style="dim", highlight=False)]
    if known and known.sentence:
        open_trees[0].add(Text(known.sentence, style="bold red"))
    outgoing, colours = _outgoing_edges(made, shown), scale(made.seen, options.color_by, launched=launched)
    for what, number in outline(made.view, shown):
        if what == "close":
            open_trees.pop()
        elif what == "open":
            open_trees.append(open_trees[-1].add(_frame_text(made, number)))
        else:
            row = open_trees[-1].add(_box_text(made, number, outgoing[number], colours))
            for note in made.notes.get(number, []):
                row.add(note_text(note))
    hidden = len(snapshot) - made.nodes_within(keep)
    if hidden:
        open_trees[0].add(Text(f"… {hidden:,} more node{'s' * (hidden != 1)} not shown", style="italic"))
    return open_trees[0]


def _reading_order(made: Scene, count: int) -> list[int]:
    """Return the boxes nearest to the loss as a drawing is read, which is how uses of shared leaves are numbered."""
    folded = made.view.folded
    place = dict(zip(folded.reading_order(), range(len(folded)), strict=True))
    first = range(count) if not made.is_forward else range(len(made.view.boxes) - count, len(made.view.boxes))
    return sorted(first, key=lambda box: place[made.view.boxes[box].begin], reverse=made.is_forward)


def _outgoing_edges(made: Scene, shown: list[int]) -> list[list[int]]:
    """Return the outgoing edges of each box, unless there is only one and it leads to the row below."""
    outgoing: list[list[int]] = [[] for _ in made.view.boxes]
    for edge, source in enumerate(made.seen.edge_source):
        outgoing[source].append(edge)
    targets = made.seen.edge_target
    below = dict(pairwise(shown))
    return [
        [] if [targets[edge] for edge in edges] == [below.get(box)] and not made.is_cut(edges[0]) else edges
        for box, edges in enumerate(outgoing)
    ]


def _frame_text(made: Scene, number: int) -> Text:
    """Return the row of an open scope."""
    from rich.text import Text

    frame = made.view.frames[number]
    text = Text(labels.clean(made.view.folded.title(frame.scope)) or "…", style="bold blue")
    text.append(frame_ending(made, number).replace("  ", " "), style="bold magenta")
    return text


def _box_text(made: Scene, box: int, ways: list[int], colours: Scale) -> Text:
    """Return the row of a box; names are in ``Text``, so that markup in them is not interpreted."""
    from rich.text import Text

    _, ending, lines = box_words(made, box, made.root_names.get(box, ""))
    closed, kind = made.view.boxes[box].scope >= 0, made.seen.kind[box]
    text = Text(full_title(made, box), style="bold cyan" if closed else "bold green" if kind == "leaf" else "bold")
    text.append(f"{'  ' if ending else ''}{ending.strip()}", style="bold magenta" if closed else "dim")
    text.append(f" {made.ids[box]}", style="dim")
    for line in lines:
        if line.text:
            text.append("  ● " if line.leaf >= 0 else "  ")
            text.append(line.text, style="green" if line.leaf >= 0 else "dim" if line.css else "cyan")
    value = colours.text(colours.values[box]) if colours.values else ""
    text.append(f"  {colours.title} {value}" if value else "", style="yellow")
    if ways:
        text.append("  → " + ", ".join(_target_text(made, edge) for edge in ways), style="dim")
    return text


def note_text(note: Note) -> Text:
    """Return the row of a finding's note, which may take several lines."""
    from rich.text import Text

    return Text(f"{note.sign} {labels.clean(note.text)}", style="bold red")


def _target_text(made: Scene, edge: int) -> str:
    """Return the target of an edge: its id, with the output it enters if that is not the first."""
    seen = made.seen
    target, number = seen.edge_target[edge], seen.edge_output_nr[edge]
    if made.is_cut(edge) and made.is_forward:
        return f"{made.ids[target]} without a gradient"
    if made.is_cut(edge):
        words = labels.node_text(seen, target) if seen.kind[target] == GHOST else None
        return "cut: " + (
            f"{words.title} {words.source}".strip() if words else f"{made.edge_labels[edge]} from {made.ids[target]}"
        )
    return made.ids[target] + (f" output {number}" if number else "")


class TreeRenderer:
    """Writes the chosen graphs as plain text."""

    name = "tree"
    suffixes = (".txt",)
    binary = False

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return the chosen snapshots as text without colour; lines end where their words end."""
        return page_text(_trees(recording, options), width=options.width or FILE_WIDTH)


RENDERER = TreeRenderer()


def print_tree(recording: Recording, options: RenderOptions | None = None, file: IO[str] | None = None) -> None:
    """Print the chosen graphs to ``file`` (standard output): in colour and fitted to its width on a terminal.

    ``NO_COLOR`` and ``FORCE_COLOR`` are respected; characters that the encoding of ``file`` lacks become escapes.
    Raises ``OutputError`` if writing to ``file`` fails.
    """
    options = options or RenderOptions()
    print_page(_trees(recording, options), file, width=options.width)


def _trees(recording: Recording, options: RenderOptions) -> Iterator[Tree | Text]:
    """Yield the tree of each selected graph; before them the notes of findings without a node."""
    steps = chosen_steps(recording, options)
    drawn = {step: len(recording.graphs[step]) for step in steps}
    yield from map(note_text, unplaced(options.findings, drawn))
    known, launched = reached(recording), bool(launched_on(recording))
    asides = None if options.direction == "backward" else Asides(recording)
    for step in steps:
        snapshot = recording.graphs[step]
        if options.fold == () and asides is None:
            yield tree(snapshot, options, step, known[step], launched=launched)
        else:
            yield folded_tree(snapshot, options, step, known[step], launched=launched, asides=asides)


def tree(
    snapshot: Graph,
    options: RenderOptions | None = None,
    step: int = 0,
    known: Reached | None = None,
    *,
    launched: bool = False,
) -> Tree:
    """Return every node of a graph as a ``rich.tree.Tree``, capped at ``options.max_nodes`` rows (default 200).

    Below a node are the notes of findings on it; the graph is the ``step``-th of its recording.
    """
    from rich.text import Text
    from rich.tree import Tree

    options = options or RenderOptions()
    graph, notes, _ = marked(replace(snapshot, call=[""] * len(snapshot)), options.findings, step)
    rows, colours = Outline(graph).rows(options.max_nodes or ROWS), scale(graph, options.color_by, launched=launched)
    words = f"{known.headline} · " if known else ""
    top = Tree(Text(words + headline(snapshot, options.title), style="bold"), guide_style="dim", highlight=False)
    if known and known.sentence:
        top.add(Text(known.sentence, style="bold red"))
    open_trees = [top]
    for row in rows:
        del open_trees[row.depth + 1 :]
        open_trees.append(open_trees[-1].add(_row_text(graph, row, colours)))
        for note in [note for node, note in notes if node == row.node and not row.reference]:
            open_trees[-1].add(note_text(note))
    hidden = len(snapshot) - sum(not row.reference and row.node < len(snapshot) for row in rows)
    if hidden:
        top.add(Text(f"… {hidden:,} more node{'s' * (hidden != 1)} not shown", style="italic"))
    return top


def _row_text(snapshot: Graph, row: Row, colours: Scale) -> Text:
    """Return the text of one row; names are in ``Text``, so that markup in them is not interpreted."""
    from rich.text import Text

    here = node_text(snapshot, row.node)
    if snapshot.kind[row.node] == GHOST:
        return Text(f"cut: {here.title} {here.source}".strip(), style="dim")
    text = Text("↓ " if row.continues else "", style="dim")
    if row.reference:
        text = Text("→ ", style="dim")
    named_leaf = snapshot.kind[row.node] == "leaf" and here.name
    text.append(here.name if named_leaf else here.op, style="bold green" if named_leaf else "bold")
    text.append(f" {node_id(row.node)}", style="dim")
    if row.output_nr:
        text.append(f" output {row.output_nr}", style="magenta")
    if row.reference:
        return text.append(" (has its own row)", style="dim")
    for words, style in _details(snapshot, row.node, colours):
        if words:
            text.append(f"  {words}", style=style)
    return text


def _details(snapshot: Graph, node: int, colours: Scale) -> list[tuple[str, str]]:
    """Return what a row says after the operator, each with its style."""
    here = node_text(snapshot, node)
    name = "" if snapshot.kind[node] == "leaf" else here.name
    measure = colours.text(colours.values[node]) if colours.values else ""
    return [
        (name, "green"),
        (here.tensor, "cyan"),
        (f"{colours.title} {measure}" if measure else "", "yellow"),
        (here.scope, "dim"),
        (here.source, "dim"),
    ]
