"""HTML: one offline page with the drawing to pan, zoom, search and click, and the details of a node beside it."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

from retrograd.inspect.events import Recording
from retrograd.inspect.snapshot import GraphSnapshot

from . import labels, theme
from .base import RenderOptions, chosen_snapshots, drawable
from .drawing import Drawing, draw, number, text
from .legend import legend

_SLOT = re.compile(r"\{\{(\w+)\}\}")
# Between script tags only these can end or confuse the script; JSON may spell any character as \uXXXX.
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


class HtmlRenderer:
    """Draws the chosen graphs into one page; several get a step selector."""

    name = "html"
    suffixes = (".html", ".htm")
    binary = False

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return a whole page that needs no network and no other file."""
        snapshots = chosen_snapshots(recording, options)
        title = labels.clean(options.title or recording.script or "backward graph")
        drawings = []
        steps: list[dict[str, Any]] = []
        for step, snapshot in enumerate(snapshots):
            shown, rest = drawable(snapshot, options)
            drawing = draw(shown, options, prefix=f"s{step}-")
            drawings.append(_svg(step, drawing))
            steps.append(_step_data(shown, labels.headline(snapshot) + rest, drawing))
        data = {"title": title, "steps": steps, "sources": _sources(recording, snapshots)}
        return _filled(
            _asset("page.html"),
            {
                "title": text(title),
                "theme": options.theme if options.theme in ("light", "dark") else "auto",
                "graph_css": _graph_css(),
                "page_css": _asset("page.css"),
                "drawings": "\n".join(drawings),
                "data": script_json(data),
                "script": _asset("page.js"),
            },
        )


def script_json(data: Any) -> str:
    """Return JSON that is safe between script tags, whatever the strings in it hold."""
    # NaN and infinity are no JSON; measures may hold them, so they travel as text.
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def _asset(name: str) -> str:
    """Return the text of a file in ``assets``."""
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _filled(page: str, parts: dict[str, str]) -> str:
    """Fill the slots of the page in one pass, so that no part can smuggle a slot into another."""
    return _SLOT.sub(lambda found: parts[found[1]], page)


def _graph_css() -> str:
    """Return the drawing's rules: the reader's setting decides until the page's switch does."""
    dark = theme.rules(theme.DARK, ':root[data-theme="dark"]')
    system = theme.rules(theme.DARK, ':root[data-theme="auto"]')
    return f"{theme.shapes()}{theme.rules(theme.LIGHT)}{dark}@media (prefers-color-scheme:dark){{{system}}}"


def _svg(step: int, drawing: Drawing) -> str:
    """Return one drawing; all but the first are hidden until they are chosen."""
    hidden = " hidden" if step else ""
    size = f'data-width="{number(drawing.width)}" data-height="{number(drawing.height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph step" data-step="{step}" {size}{hidden}>\n'
        f'<g class="world">\n{drawing.markup}\n</g></svg>'
    )


def _step_data(snapshot: GraphSnapshot, headline: str, drawing: Drawing) -> dict[str, Any]:
    """Return what the page knows of one graph, in columns."""
    nodes = range(len(snapshot))
    key, key_width = legend(drawing)
    return {
        "headline": headline,
        "label": labels.clean(snapshot.label),
        "op": [_safe(op) for op in snapshot.op],
        "kind": [_safe(kind) for kind in snapshot.kind],
        "name": [_safe(name or "") for name in snapshot.name],
        "scope": [_safe(scope) for scope in snapshot.scope],
        "shape": [labels.shape_text(shape) for shape in snapshot.shape],
        "dtype": [_safe(dtype or "") for dtype in snapshot.dtype],
        "source": [[_safe(at.file), at.line, _safe(at.function)] if at else None for at in snapshot.source],
        "saved": [labels.bytes_text(count) for count in snapshot.saved_bytes],
        "seq": snapshot.seq,
        "roots": [[node, _safe(name or "")] for node, name in zip(snapshot.roots, snapshot.root_names, strict=False)],
        "measures": {
            _safe(key): [_figure(values[node]) for node in nodes] for key, values in snapshot.measures.items()
        },
        "edges": [snapshot.edge_source, snapshot.edge_target, snapshot.edge_input_nr, snapshot.edge_output_nr],
        "legend": f'<svg class="graph" width="{number(key_width)}" height="14">{key}</svg>',
    }


def _safe(value: str) -> str:
    """Return a string that UTF-8 can carry: lone surrogates (file names of unknown encoding) replaced."""
    return value.encode("utf-8", "replace").decode("utf-8")


def _figure(value: float | None) -> str:
    """Return a measure as text (also NaN and infinity)."""
    return "" if value is None else f"{value:.4g}"


def _sources(recording: Recording, snapshots: list[GraphSnapshot]) -> dict[str, dict[str, str]]:
    """Return the source lines that the drawn graphs mention, with the lines around them that are known."""
    wanted: dict[str, set[int]] = {}
    for snapshot in snapshots:
        for at in snapshot.source:
            if at is not None:
                wanted.setdefault(at.file, set()).update(range(at.line - 2, at.line + 3))
    return {
        _safe(file): {str(line): _safe(known[line]) for line in sorted(lines) if line in known}
        for file, lines in wanted.items()
        if (known := recording.sources.get(file))
    }


RENDERER = HtmlRenderer()
