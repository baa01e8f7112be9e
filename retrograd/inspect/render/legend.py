"""The legend of a drawing: the meaning of its kinds of cards and of its colours."""

from __future__ import annotations

from ..graphs.graph_diff import STATUS_WORDS
from ..layout.text_size import text_width
from .card_words import MARKS
from .drawing import Drawing, number, text

_KINDS = {
    "root": "root (backward starts here)",
    "op": "operator",
    "leaf": "parameter or other leaf",
    "function": "custom Function",
    "copy": "write into a view",
    "closed": "module, function or repeat that can be opened",
    "ghost": "cut off from the graph",
    **{status: f"{MARKS[status]} {words}" for status, words in STATUS_WORDS.items()},
}
_ARROWS = {
    "backward": "→ direction of gradients",
    "forward": "→ direction of values; gradients come back, except over dashed lines",
    "both": "→ values, ← gradients, which do not come back over dashed lines",
    "values": "→ direction of values",
}


def legend(drawing: Drawing) -> tuple[str, float]:
    """Return the legend of a drawing and its width."""
    kinds = _KINDS | {"root": "result"} if drawing.direction == "values" else _KINDS
    entries = [(kind, words) for kind, words in kinds.items() if kind in drawing.kinds]
    if drawing.scale.name:
        bounds = drawing.scale.bounds()
        entries = [
            (f"heat{step}", "≥ " * (len(bounds) > 1) + drawing.scale.text(low)) for step, low in enumerate(bounds)
        ]
        entries += [("odd", "NaN or infinite")] * drawing.scale.has_odd
    x = 0.0
    parts = []
    if drawing.scale.name:
        parts.append(f'<text class="m" x="0" y="10">{text(drawing.scale.title)}</text>')
        x = text_width(drawing.scale.title, 11) + 16
    for css, words in entries:
        parts.append(
            f'<g class="{css}" transform="translate({number(x)} 0)"><rect class="card" width="14" height="12" rx="3"/>'
            f'<rect class="strip" width="4" height="12" rx="2"/><text class="m" x="20" y="10">{text(words)}</text></g>'
        )
        x += 20 + text_width(words, 11) + 18
    words = _ARROWS[drawing.direction]
    parts.append(f'<text class="m" x="{number(x)}" y="10">{text(words)}</text>')
    return "".join(parts), x + text_width(words, 11)
