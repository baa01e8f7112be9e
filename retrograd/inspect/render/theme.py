"""Colours of the drawings, light and dark, as style rules that simple SVG readers understand.

No CSS variables and no web fonts: converters and old viewers support neither. Text has a contrast of at least 4.5 : 1,
and kinds differ in lightness as well as in hue.
"""

from __future__ import annotations

from ..graphs.graph import ASIDE, IDLE, INPUT
from ..graphs.graph_diff import STATUSES

FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', 'DejaVu Sans', sans-serif"

KINDS = ("leaf", "function", "copy", "root", "closed", "ghost", ASIDE, INPUT, *STATUSES)
"""Kinds of cards with colours of their own: of nodes, and of differences between two graphs."""

HEATS = 6
"""Steps of the scale for ``color_by``."""

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b2330",
    "muted": "#5a6675",
    "line": "#8d99a9",
    "card": "#f8f9fb",
    "rim": "#ccd4de",
    "op": "#7086a8",
    "leaf": "#2f8f63",
    "leaf-card": "#eef7f1",
    "leaf-rim": "#b4d8c3",
    "function": "#7d56bd",
    "function-card": "#f5f0fb",
    "function-rim": "#d3c2ec",
    "copy": "#b5741a",
    "copy-card": "#fcf5e8",
    "copy-rim": "#e8d0a4",
    "root": "#2a62bd",
    "root-card": "#ecf2fc",
    "root-rim": "#a9c3ec",
    "added": "#0072b2",
    "added-card": "#dcedf8",
    "added-rim": "#0072b2",
    "removed": "#d55e00",
    "removed-card": "#fde8d7",
    "removed-rim": "#d55e00",
    "operator": "#a8347d",
    "operator-card": "#fae6f2",
    "operator-rim": "#a8347d",
    "shape": "#7a6a00",
    "shape-card": "#fbf6cf",
    "shape-rim": "#b8a300",
    "figures": "#007a5a",
    "figures-card": "#f4faf7",
    "figures-rim": "#8cc7b4",
    "closed": "#3f7f93",
    "closed-card": "#eaf4f6",
    "closed-rim": "#a9cdd6",
    "ghost": "#98a2b0",
    "ghost-card": "#ffffff",
    "ghost-rim": "#98a2b0",
    "aside": "#b4bcc7",
    "aside-card": "#f3f4f6",
    "aside-rim": "#d5dae1",
    "input": "#5a6675",
    "input-card": "#ffffff",
    "input-rim": "#98a2b0",
    "idle": "#98a2b0",
    "frame": "#4a6285",
    "frame-rim": "#c3ccd7",
    "error": "#c22f2f",
    "warning": "#a86500",
    "note": "#2a62bd",
    "heat": "#fbf6ec #fae6bd #f8cf8d #f4b06a #ea8d58 #dc6d55",
    "odd": "#c2187a",
}
DARK = {
    "paper": "#14181e",
    "ink": "#e6eaf0",
    "muted": "#9aa7b7",
    "line": "#66748a",
    "card": "#1d232c",
    "rim": "#3a4553",
    "op": "#7f97bd",
    "leaf": "#4cb583",
    "leaf-card": "#17271f",
    "leaf-rim": "#2f5a44",
    "function": "#a684e0",
    "function-card": "#241d33",
    "function-rim": "#4d3d6d",
    "copy": "#d99a41",
    "copy-card": "#2b2316",
    "copy-rim": "#5f4a24",
    "root": "#6ba1f2",
    "root-card": "#172438",
    "root-rim": "#345587",
    "added": "#56b4e9",
    "added-card": "#0f2c40",
    "added-rim": "#56b4e9",
    "removed": "#f08a3c",
    "removed-card": "#43220b",
    "removed-rim": "#f08a3c",
    "operator": "#f07fc4",
    "operator-card": "#3d1730",
    "operator-rim": "#f07fc4",
    "shape": "#d9c83a",
    "shape-card": "#36310c",
    "shape-rim": "#b5a52a",
    "figures": "#35b58e",
    "figures-card": "#17231f",
    "figures-rim": "#2c6652",
    "closed": "#62b3c9",
    "closed-card": "#16262c",
    "closed-rim": "#2f5764",
    "ghost": "#7c899b",
    "ghost-card": "#14181e",
    "ghost-rim": "#7c899b",
    "aside": "#56616f",
    "aside-card": "#191d23",
    "aside-rim": "#343d49",
    "input": "#9aa7b7",
    "input-card": "#14181e",
    "input-rim": "#66748a",
    "idle": "#7c899b",
    "frame": "#a9bedb",
    "frame-rim": "#3a4553",
    "error": "#ff7b72",
    "warning": "#e0a33e",
    "note": "#6ba1f2",
    "heat": "#24221d #3f3520 #594323 #744d27 #8c502d #a05138",
    "odd": "#ff6fc0",
}


def rules(palette: dict[str, str], prefix: str = "") -> str:
    """Return the colour rules of one palette; ``prefix`` is a selector that limits them."""
    dot = f"{prefix} ." if prefix else "."
    # Of rules equally specific the last one counts: a kind before a heat, and what is said of a node after both.
    return "".join(
        [
            _usual_rules(palette, dot),
            *(_kind_rules(palette, dot, kind) for kind in KINDS),
            *(_heat_rules(palette, dot, step, heat) for step, heat in enumerate(palette["heat"].split())),
            *(_severity_rules(palette, dot, severity) for severity in ("note", "warning", "error")),
            *(_difference_rules(palette, dot, status) for status in ("added", "removed")),
            f"{dot}odd .card{{stroke:{palette['odd']};stroke-width:2.5}}",
        ]
    )


def _usual_rules(palette: dict[str, str], dot: str) -> str:
    """Return the rules of what every drawing has."""
    return (
        f"{dot}paper{{fill:{palette['paper']}}}"
        f"{dot}graph text{{fill:{palette['ink']}}}"
        f"{dot}graph .m{{fill:{palette['muted']}}}"
        f"{dot}card{{fill:{palette['card']};stroke:{palette['rim']}}}"
        f"{dot}strip{{fill:{palette['op']}}}"
        f"{dot}edge path{{stroke:{palette['line']}}}"
        f"{dot}tip{{fill:{palette['line']}}}{dot}tip.back{{fill:{palette['root']}}}{dot}tip.stop{{fill:{palette['error']}}}"
        f"{dot}graph .edge text{{fill:{palette['muted']};stroke:{palette['paper']}}}"
        f"{dot}frame{{fill:{palette['frame']};fill-opacity:.055;stroke:{palette['frame-rim']}}}"
        f"{dot}lighter{{fill:{palette['paper']};fill-opacity:.6}}"
        f"{dot}dot{{fill:{palette['leaf']}}}{dot}graph a text{{text-decoration:underline dotted}}"
        f"{dot}holds-root .strip{{fill:{palette['root']}}}"
        f"{dot}cut path{{stroke:{palette['error']}}}"
        f"{dot}beside path{{stroke:{palette['line']}}}{dot}dot.{IDLE}{{fill:{palette[IDLE]}}}"
    )


def _kind_rules(palette: dict[str, str], dot: str, kind: str) -> str:
    """Return the rules for cards of one kind."""
    return (
        f"{dot}{kind} .card{{fill:{palette[f'{kind}-card']};stroke:{palette[f'{kind}-rim']}}}"
        f"{dot}{kind} .strip{{fill:{palette[kind]}}}"
    )


def _heat_rules(palette: dict[str, str], dot: str, step: int, heat: str) -> str:
    """Return the rules for one step of the scale."""
    return f"{dot}heat{step} .card{{fill:{heat}}}{dot}graph .heat{step} .m{{fill:{palette['ink']}}}"


def _severity_rules(palette: dict[str, str], dot: str, severity: str) -> str:
    """Return the rules for cards that a finding of this severity points at."""
    return (
        f"{dot}{severity}>.card{{stroke:{palette[severity]};stroke-width:2.5}}"
        f"{dot}graph .{severity} .w{{fill:{palette[severity]}}}"
    )


def _difference_rules(palette: dict[str, str], dot: str, status: str) -> str:
    """Return the rules for edges that only one of two graphs has."""
    return f"{dot}edge.{status} path{{stroke:{palette[status]}}}{dot}tip.{status}{{fill:{palette[status]}}}"


def shapes() -> str:
    """Return the rules that do not depend on colours."""
    return (
        f".graph{{font-family:{FONT};font-size:11px}}"
        ".graph .b{font-size:13px;font-weight:600}.graph .h{font-size:16px;font-weight:600}"
        ".graph .m{font-weight:400}.graph .b .m,.graph .f .m{font-size:11px}"
        ".graph .f{font-size:12px;font-weight:600}.frame{stroke-width:1.2}"
        ".cut path{stroke-dasharray:5 4}.beside path{stroke-dasharray:1.5 3}"
        ".ghost .card{stroke-dasharray:5 4}.ghost .strip{display:none}"
        ".card{stroke-width:1}.edge path{fill:none;stroke-width:1.3}"
        ".edge.added path{stroke-width:2.2}.edge.removed path{stroke-width:2.2;stroke-dasharray:7 4}"
        ".graph .c{font-style:italic}"
        ".graph .edge text{font-size:9.5px;text-anchor:middle;"
        "stroke-width:4px;paint-order:stroke;stroke-linejoin:round}"
    )


def style(theme: str) -> str:
    """Return the style sheet of a stand-alone drawing: ``auto`` follows the reader's setting."""
    if theme == "dark":
        return shapes() + rules(DARK)
    if theme == "light":
        return shapes() + rules(LIGHT)
    return f"{shapes()}{rules(LIGHT)}@media (prefers-color-scheme:dark){{{rules(DARK)}}}"
