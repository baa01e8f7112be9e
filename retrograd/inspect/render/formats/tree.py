"""The graph as indented text, for terminals (in colour) and plain text files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from ...graphs.graph import Graph
from ...recording.events import Recording
from ..base import RenderOptions, chosen_steps
from ..console_page import FILE_WIDTH, page_text, print_page
from ..labels import headline, node_id, node_text
from ..marks import GHOST, marked, unplaced
from ..reached import Reached, reached
from ..scale import Scale, scale
from ..tree_folded import ROWS, folded_tree, note_text
from ..tree_rows import Outline, Row

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree


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

    ``NO_COLOR`` and ``FORCE_COLOR`` are heeded; what the encoding of ``file`` cannot say is shown as escapes.
    Raises ``OutputError`` when ``file`` takes no more.
    """
    options = options or RenderOptions()
    print_page(_trees(recording, options), file, width=options.width)


def _trees(recording: Recording, options: RenderOptions) -> Iterator[Tree | Text]:
    """Yield the tree of each chosen graph; before them what findings say that belong to no node."""
    steps = chosen_steps(recording, options)
    drawn = {step: len(recording.graphs[step]) for step in steps}
    yield from map(note_text, unplaced(options.findings, drawn))
    known = reached(recording)
    for step in steps:
        snapshot = recording.graphs[step]
        draw = tree if options.fold == () and options.direction == "backward" else folded_tree
        yield draw(snapshot, options, step, known[step])


def tree(snapshot: Graph, options: RenderOptions | None = None, step: int = 0, known: Reached | None = None) -> Tree:
    """Return every node of a graph as a ``rich.tree.Tree``, capped at ``options.max_nodes`` rows (default 200).

    Below a node stands what findings say of it, the graph being the ``step``-th of its recording.
    """
    from rich.text import Text
    from rich.tree import Tree

    options = options or RenderOptions()
    graph, notes, _ = marked(replace(snapshot, call=[""] * len(snapshot)), options.findings, step)
    rows, colours = Outline(graph).rows(options.max_nodes or ROWS), scale(graph, options.color_by)
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
    """Return the words of one row; names stand in ``Text``, so that no markup in them is obeyed."""
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
