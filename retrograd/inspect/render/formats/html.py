"""HTML: one offline page to read a graph in: outline, drawing, details, search, filters, steps, keyboard."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...garbage import collector_paused
from ...graphs.graph import FORWARD_ONLY, Graph
from ...graphs.passes import with_usual_times
from ...recording.aside import Asides
from ...recording.events import Recording
from ...recording.memory_line import retained_runs
from ...recording.unseen import launched_on
from .. import labels, legend, theme
from ..base import RenderOptions, capped, chosen_steps
from ..drawing import check_layout, draw, number, text
from ..filling import filled
from ..marks import Marked, marked, unplaced
from ..page.account import (
    CardNotes,
    card_notes,
    cells_data,
    findings_data,
    hooks_data,
    measure_data,
    memory_data,
    note_room,
    saved_data,
    sources_data,
)
from ..page.packing import Packed, Packing, Plain
from ..page.structure import safe, structure_data
from ..reached import reached
from ..scale import measure_name
from ..scene import scene
from ..titles import titles

_MOST_NODES = 1_000_000
"""Nodes of one graph that a page holds by default."""
_PLAIN_NODES = 500
"""Nodes up to which a page's data are readable JSON."""
_TOGETHER = 5_000
"""Nodes of all graphs of a page that was asked for the last one only."""
_STILL_NODES = 20_000
"""Nodes of the folded drawing for readers without scripts,"""
_STILL_BOXES = 100
"""and the boxes that it may have; of a graph with more, the nodes nearest to the roots."""


class HtmlRenderer:
    """Writes the chosen graphs into one page; several get a slider."""

    name = "html"
    suffixes = (".html", ".htm")
    binary = False

    def demand(self, options: RenderOptions, level: str) -> None:
        """Raise ``LayoutError`` if the layout that is asked for cannot be had."""
        check_layout(options)

    @collector_paused()
    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return a whole page that needs no network and no other file."""
        numbers = _steps(recording, options)
        title = labels.clean(options.title or recording.script or "backward graph")
        parts = {
            "title": text(title),
            "theme": options.theme if options.theme in ("light", "dark") else "auto",
            "still": _still(recording.graphs[numbers[-1]], options, numbers[-1]),
            "data": _data(recording, numbers, title, options),
        }
        return filled("page.html", parts)


def _steps(recording: Recording, options: RenderOptions) -> list[int]:
    """Return the numbers of the graphs in the page: before the last one those that make it no heavy file."""
    numbers = chosen_steps(recording, options)
    room = _TOGETHER - len(recording.graphs[numbers[-1]])
    while options.step == "last" and numbers[0] > 0 and room >= len(recording.graphs[numbers[0] - 1]):
        numbers = [numbers[0] - 1, *numbers]
        room -= len(recording.graphs[numbers[0]])
    return numbers


def _data(recording: Recording, numbers: list[int], title: str, options: RenderOptions) -> str:
    """Return the data block."""
    timed = [with_usual_times(recording.graphs, number) for number in numbers]
    shown = [capped(whole, options.max_nodes or _MOST_NODES)[0] for whole, _ in timed]
    large = sum(len(snapshot) for snapshot in shown) > _PLAIN_NODES
    packing: Packing = Packed() if large else Plain()
    asides = Asides(recording)
    graphs = [
        _named(part, options, number, asides if len(part) == len(whole) else None)
        for number, part, (whole, _) in zip(numbers, shown, timed, strict=True)
    ]
    notes = [card_notes(options.findings, number, len(part)) for number, part in zip(numbers, shown, strict=True)]
    structures, structure_of = _structures(graphs, notes, options, packing)
    known, retained = reached(recording), retained_runs(recording)
    steps = [
        {
            "structure": structure,
            "label": labels.clean(whole.label),
            "headline": " · ".join([*(one.headline for one in [known[number]] if one), labels.headline(whole)])
            + _rest(part, whole)
            + of_times,
            "unreached": [safe(words) for one in [known[number]] if one for words in one.without],
            "measures": measure_data(graph.graph, options.color_by, packing),
            "hooks": hooks_data(recording, part),
            "notes": list(said.items()),
            "memory": memory_data(whole, retained=number in retained),
            "saved": saved_data(recording, number),
        }
        for structure, graph, said, part, (whole, of_times), number in zip(
            structure_of, graphs, notes, shown, timed, numbers, strict=True
        )
    ]
    return packing.text(
        {
            "title": title,
            "start": len(steps) - 1 if options.step == "last" else 0,
            "view": options.view or "both",
            "calls": asides.known or bool(recording.graphs and recording.graphs[-1].label == FORWARD_ONLY),
            "launched": bool(launched_on(recording)),
            "colorBy": measure_name(options.color_by or ""),
            "legend": {"words": legend.WORDS, "tips": legend.TIPS, "result": legend.RESULT},
            "palettes": {"light": theme.LIGHT, "dark": theme.DARK},
            "structures": structures,
            "steps": steps,
            "findings": findings_data(recording, options.findings, numbers),
            "sources": sources_data(recording, options.findings, shown),
            "cells": cells_data(recording, options.findings, shown),
        }
    )


def _named(snapshot: Graph, options: RenderOptions, number: int, asides: Asides | None) -> Marked:
    """Return a graph, its nodes called as its cards are, with what was cut off from it and what ran beside it."""
    named = replace(snapshot, call=titles(snapshot))
    return marked(named if asides is None else asides.beside(number, named), options.findings, number)


def _structures(
    graphs: list[Marked], notes: list[CardNotes], options: RenderOptions, packing: Packing
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the structures that the steps have, and which one each has; steps of one structure share it."""
    firsts: list[int] = []
    structure_of = []
    for at, (graph, _, _) in enumerate(graphs):
        if at == 0 or not graph.is_like(graphs[at - 1].graph):
            firsts.append(at)
        structure_of.append(len(firsts) - 1)
    structures = []
    for first, end in zip(firsts, [*firsts[1:], len(graphs)], strict=True):
        graph, _, cuts = graphs[first]
        structures.append(structure_data(graph, options, packing, cuts, note_room(notes[first:end])))
    return structures, structure_of


def _rest(shown: Graph, whole: Graph) -> str:
    """Return what the headline adds when not all nodes are in the page."""
    return "" if len(shown) == len(whole) else f" · only the first {len(shown):,} nodes are in this page"


def _still(snapshot: Graph, options: RenderOptions, step: int) -> str:
    """Return the drawing for readers without scripts: folded, of the nodes nearest to the roots."""
    shown, left_out = capped(snapshot, _STILL_NODES)
    drawn = scene(shown, replace(options, max_nodes=None), step)
    if len(drawn.view.boxes) > _STILL_BOXES:
        shown, left_out = capped(snapshot, _STILL_BOXES)
        drawn = scene(shown, replace(options, max_nodes=None), step)
    drawing = draw(drawn, options, prefix="still-")
    wide, high = number(drawing.width), number(drawing.height)
    more = f"<p>{left_out:,} more nodes need JavaScript to be seen.</p>" if left_out else ""
    notes = unplaced(options.findings, {step: drawn.nodes_drawn})
    listed = "".join(f"<li>{note.sign} {text(labels.clean(note.text))}</li>" for note in notes)
    return (
        f"<style>{theme.style(options.theme)}</style>{more}{f'<ul>{listed}</ul>' if listed else ''}"
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}"><title>{text(labels.headline(snapshot))}</title>\n{drawing.markup}\n</svg>'
    )


RENDERER = HtmlRenderer()
