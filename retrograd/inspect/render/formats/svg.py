"""SVG: a stand-alone drawing with real text, tooltips, and colours for light and dark readers."""

from __future__ import annotations

from ...garbage import collector_paused
from ...graphs.passes import with_usual_times
from ...layout.text_size import shortened, text_width, wrapped
from ...recording.aside import Asides
from ...recording.events import Recording
from ...recording.unseen import launched_on
from .. import labels, theme
from ..base import RenderOptions, chosen_steps
from ..drawing import check_layout, draw, number, text
from ..legend import legend
from ..marks import Note, unplaced
from ..reached import reached, unreached_words
from ..scale import measure_name
from ..scene import Scene, scene

_FLOWS = {"backward": "gradients", "forward": "values", "both": "values"}
_SIDE = 24.0
_LINE = 16.0
_NOTE_ROOM, _HEAD_ROOM = 700.0, 1200.0
_MOST_NOTES = 3
"""Findings on no node that are listed above a drawing."""
_NOTE_LINES = 3
"""Lines of each."""


class SvgRenderer:
    """Draws the chosen graphs below each other."""

    name = "svg"
    suffixes = (".svg",)
    binary = False

    def demand(self, options: RenderOptions, level: str) -> None:
        """Raise ``LayoutError`` if the layout that is asked for cannot be had."""
        check_layout(options)

    @collector_paused()
    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return an SVG document."""
        numbers = chosen_steps(recording, options)
        known = reached(recording)
        timed = [with_usual_times(recording.graphs, number) for number in numbers]
        asides = None if options.direction == "backward" else Asides(recording)
        scenes = [
            scene(one, options, at, reached=known[at], asides=asides)
            for (one, _), at in zip(timed, numbers, strict=True)
        ]
        if options.color_by is not None and measure_name(options.color_by) == "time_us":
            for shown, (_, of_times) in zip(scenes, timed, strict=True):
                shown.rest += of_times
                shown.launched = bool(launched_on(recording))
        drawn = {number: shown.nodes_drawn for number, shown in zip(numbers, scenes, strict=True)}
        y = width = 0.0
        parts = []
        for step, shown in enumerate(scenes):
            prefix = f"s{step}-" if len(scenes) > 1 else ""
            notes = unplaced(options.findings, drawn) if step == 0 else []
            if shown.reached and shown.reached.without:
                words = unreached_words(shown.reached.without, asked=bool(options.findings))
                notes = [Note("warning", words), *notes]
            markup, wide, high = _block(shown, options, recording, prefix, notes)
            parts.append(f'<g class="step" transform="translate(0 {number(y)})">\n{markup}\n</g>')
            y, width = y + high, max(width, wide)
        title = text(options.title or recording.script or "backward graph")
        flow = _FLOWS[options.direction]
        described = f"Backward graph, {flow} flow downward. " + "; ".join(text(shown.headline()) for shown in scenes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(y)}" '
            f'viewBox="0 0 {number(width)} {number(y)}" role="img" class="graph">\n'
            f"<title>{title}</title>\n<desc>{described}</desc>\n"
            f"<style>{theme.style(options.theme)}</style>\n"
            f'<rect class="paper" width="{number(width)}" height="{number(y)}"/>\n' + "\n".join(parts) + "\n</svg>\n"
        )


def _block(
    shown: Scene, options: RenderOptions, recording: Recording, prefix: str, notes: list[Note]
) -> tuple[str, float, float]:
    """Return one graph with caption, notes on the whole and legend, and the room it takes."""
    drawing = draw(shown, options, prefix)
    room = max(drawing.width, _HEAD_ROOM)
    title = shortened(labels.clean(options.title or recording.script or "backward graph"), 16, room, bold=True)
    line = shortened(shown.headline() + drawing.note, 11, room)
    key, key_width, key_height = legend(drawing.marks, drawing.scale, drawing.direction, drawing.width)
    wide = max(drawing.width, text_width(title, 16, bold=True) + 2 * _SIDE, text_width(line, 11) + 2 * _SIDE)
    longest = max((text_width(f"{note.sign} {labels.clean(note.text)}", 11) for note in notes), default=0.0)
    wide = max(wide, key_width + 2 * _SIDE, min(longest, _NOTE_ROOM) + 2 * _SIDE)
    said, said_lines = _notes(notes, wide - 2 * _SIDE)
    top = 62 + _LINE * said_lines
    markup = (
        f'<text class="h" x="{number(_SIDE)}" y="34">{text(title)}</text>\n'
        f'<text class="m" x="{number(_SIDE)}" y="54">{text(line)}</text>\n'
        f"{said}"
        f'<g transform="translate({number((wide - drawing.width) / 2)} {number(top)})">\n{drawing.markup}\n</g>\n'
        f'<g transform="translate({number(_SIDE)} {number(drawing.height + top + 10)})">{key}</g>'
    )
    return markup, wide, drawing.height + top + 24 + key_height


def _notes(notes: list[Note], room: float) -> tuple[str, int]:
    """Return the first notes, each whole where a pointer rests on it, and how many lines they take."""
    parts, row = [], 0
    for note in notes[:_MOST_NOTES]:
        words = f"{note.sign} {labels.clean(note.text)}"
        lines = []
        for line in wrapped(words, 11, room, _NOTE_LINES):
            lines.append(f'<text class="w" x="{number(_SIDE)}" y="{number(72 + _LINE * row)}">{text(line)}</text>')
            row += 1
        parts.append(f'<g class="finding {note.severity}"><title>{text(words)}</title>{"".join(lines)}</g>\n')
    if len(notes) > _MOST_NOTES:
        words = f"… {len(notes) - _MOST_NOTES:,} more findings: retrograd diagnose"
        parts.append(f'<text class="m" x="{number(_SIDE)}" y="{number(72 + _LINE * row)}">{words}</text>\n')
        row += 1
    return "".join(parts), row


RENDERER = SvgRenderer()
