"""SVG: a stand-alone drawing with real text, tooltips, and colours for light and dark readers."""

from __future__ import annotations

from retrograd.inspect.events import Recording
from retrograd.inspect.garbage import collector_paused
from retrograd.inspect.layout.text_size import text_width

from . import labels, theme
from .base import RenderOptions, chosen_steps
from .drawing import draw, number, text
from .legend import legend
from .scene import Scene, scene

_SIDE = 24.0


class SvgRenderer:
    """Draws the chosen graphs below each other."""

    name = "svg"
    suffixes = (".svg",)
    binary = False

    @collector_paused()
    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return an SVG document."""
        scenes = [scene(recording.snapshots[step], options, step) for step in chosen_steps(recording, options)]
        y = width = 0.0
        parts = []
        for step, shown in enumerate(scenes):
            prefix = f"s{step}-" if len(scenes) > 1 else ""
            markup, wide, high = _block(shown, options, recording, prefix)
            parts.append(f'<g class="step" transform="translate(0 {number(y)})">\n{markup}\n</g>')
            y, width = y + high, max(width, wide)
        title = text(options.title or recording.script or "backward graph")
        described = "; ".join(text(shown.headline()) for shown in scenes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(y)}" '
            f'viewBox="0 0 {number(width)} {number(y)}" role="img" class="graph">\n'
            f"<title>{title}</title>\n<desc>Backward graph, gradients flow downward. {described}</desc>\n"
            f"<style>{theme.style(options.theme)}</style>\n"
            f'<rect class="paper" width="{number(width)}" height="{number(y)}"/>\n' + "\n".join(parts) + "\n</svg>\n"
        )


def _block(shown: Scene, options: RenderOptions, recording: Recording, prefix: str) -> tuple[str, float, float]:
    """Return one graph with caption and legend, and the room it takes."""
    drawing = draw(shown, options, prefix)
    title = labels.clean(options.title or recording.script or "backward graph")
    line = shown.headline() + drawing.note
    key, key_width = legend(drawing)
    wide = max(drawing.width, text_width(title, 16, bold=True) + 2 * _SIDE, text_width(line, 11) + 2 * _SIDE)
    wide = max(wide, key_width + 2 * _SIDE)
    markup = (
        f'<text class="h" x="{number(_SIDE)}" y="34">{text(title)}</text>\n'
        f'<text class="m" x="{number(_SIDE)}" y="54">{text(line)}</text>\n'
        f'<g transform="translate({number((wide - drawing.width) / 2)} 62)">\n{drawing.markup}\n</g>\n'
        f'<g transform="translate({number(_SIDE)} {number(drawing.height + 72)})">{key}</g>'
    )
    return markup, wide, drawing.height + 104


RENDERER = SvgRenderer()
