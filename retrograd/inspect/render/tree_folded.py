"""The folded graph as indented text: modules as branches, operators in reading order, each shown once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ..graphs.graph import Graph
from . import labels
from .base import RenderOptions
from .card_words import box_words, frame_ending, full_title
from .marks import GHOST, Note
from .reached import Reached
from .scale import Scale, scale
from .scene import Scene, outline, scene

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

ROWS = 200
"""Default number of rows of one graph."""


def folded_tree(snapshot: Graph, options: RenderOptions, step: int = 0, known: Reached | None = None) -> Tree:
    """Return one graph, folded, as a ``rich.tree.Tree``, capped at ``options.max_nodes`` rows (default 200).

    A row leads to the row below it unless it says where to: ``→ n12``.
    """
    from rich.text import Text
    from rich.tree import Tree

    made = scene(snapshot, replace(options, max_nodes=None), step, most=None, reached=known)
    limit = options.max_nodes or ROWS
    keep = min(limit, len(made.seen))
    shown = _reading_order(made, keep)
    headline = Text(f"{labels.clean(options.title)} · " * bool(options.title) + made.headline(), style="bold")
    open_trees = [Tree(headline, guide_style="dim", highlight=False)]
    if known and known.sentence:
        open_trees[0].add(Text(known.sentence, style="bold red"))
    ways, colours = _ways(made, shown), scale(made.seen, options.color_by)
    for what, number in outline(made.view, shown):
        if what == "close":
            open_trees.pop()
        elif what == "open":
            open_trees.append(open_trees[-1].add(_frame_text(made, number)))
        else:
            row = open_trees[-1].add(_box_text(made, number, ways[number], colours))
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


def _ways(made: Scene, shown: list[int]) -> list[list[int]]:
    """Return per box the edges that leave it, unless there is one only and it leads to the row below."""
    ways: list[list[int]] = [[] for _ in made.view.boxes]
    for edge, source in enumerate(made.seen.edge_source):
        ways[source].append(edge)
    targets = made.seen.edge_target
    below = dict(pairwise(shown))
    return [
        [] if [targets[edge] for edge in edges] == [below.get(box)] and not made.is_cut(edges[0]) else edges
        for box, edges in enumerate(ways)
    ]


def _frame_text(made: Scene, number: int) -> Text:
    """Return the row of an open scope."""
    from rich.text import Text

    frame = made.view.frames[number]
    text = Text(labels.clean(made.view.folded.title(frame.scope)) or "…", style="bold blue")
    text.append(frame_ending(made, number).replace("  ", " "), style="bold magenta")
    return text


def _box_text(made: Scene, box: int, ways: list[int], colours: Scale) -> Text:
    """Return the row of a box; names stand in ``Text``, so that no markup in them is obeyed."""
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
        text.append("  → " + ", ".join(_way_text(made, edge) for edge in ways), style="dim")
    return text


def note_text(note: Note) -> Text:
    """Return the row of what a finding says, which may take several lines."""
    from rich.text import Text

    return Text(f"{note.sign} {labels.clean(note.text)}", style="bold red")


def _way_text(made: Scene, edge: int) -> str:
    """Return where an edge leads: the id of its target, with the output it enters if that is not the first."""
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
