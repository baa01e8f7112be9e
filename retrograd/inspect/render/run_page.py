"""The page of a watched run: curves of the steps, a heat map of layers by steps, events, in one offline file."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..histories.history import FIGURES_OF_STEPS, Array, Column, Curves, halved
from ..histories.watched_file import WatchedRun
from .console_page import page_text
from .drawing import text
from .filling import filled
from .labels import clean
from .run_tables import headline, run_parts

_MOST_CELLS = 300_000
"""Parameters times stretches in the page; of more, stretches are joined."""
_FEWEST = 200
"""Stretches that a page has at least."""


def run_page(run: WatchedRun, theme: str = "auto") -> str:
    """Return a whole page that needs no network and no other file; ``theme`` is ``auto``, ``light`` or ``dark``."""
    title = clean(str(run.about.get("script") or "watched run"))
    still = "<pre>" + text(page_text(run_parts(run), width=140)) + "</pre>"
    data = json.dumps(_data(run), allow_nan=False).replace("<", "\\u003c")
    return filled("run.html", {"title": text(title), "theme": theme, "still": still, "data": data})


def _data(run: WatchedRun) -> dict[str, Any]:
    """Return what the page's scripts read: numbers as base64 of little-endian float32."""
    owners = run.curves.owners("gradient")
    curves = _fitting(run.curves, len(owners))
    lines = [Column(figure, owner) for figure in FIGURES_OF_STEPS for owner in sorted(curves.owners(figure))]
    return {
        "headline": headline(run),
        "first": _packed(curves.first),
        "last": _packed(curves.last),
        "lines": [
            {"figure": column.figure, "owner": clean(column.owner), "values": _packed(curves.of(*column))}
            for column in lines
        ],
        "parameters": [clean(owner) for owner in owners],
        "gradient": _grid(curves.of("gradient", owner) for owner in owners),
        "least": _grid(curves.of("gradient", owner, "least") for owner in owners),
        "greatest": _grid(curves.of("gradient", owner, "greatest") for owner in owners),
        "ratio": _grid(curves.update_ratio(owner) for owner in owners),
        "zeros": _grid(curves.of("zeros", owner, "greatest") for owner in owners),
        "bad": _grid(curves.of("nonfinite", owner, "greatest") for owner in owners),
        "happened": [_happened(one) for one in run.happened],
    }


def _fitting(curves: Curves, parameters: int) -> Curves:
    """Join stretches until a page can hold all of them."""
    while len(curves) > max(_FEWEST, _MOST_CELLS // max(parameters, 1)):
        curves = halved(curves)
    return curves


def _happened(one: dict[str, Any]) -> dict[str, Any]:
    """Return what is shown of something that happened."""
    again = one.get("again") or {}
    findings = [
        {name: clean(str(finding.get(name, ""))) for name in ("kind", "severity", "message", "remedy")}
        for finding in again.get("findings", [])
    ]
    shown = {name: clean(str(one.get(name, ""))) for name in ("kind", "text", "at", "trigger")}
    shown["file"] = clean(str(again.get("file", "")))
    return {**shown, "step": int(one.get("step", 0)), "findings": findings}


def _grid(rows: Iterable[Array]) -> str:
    """Return one statistic of all parameters, a row for each, packed."""
    return _packed(np.array(list(rows)))


def _packed(values: Array) -> str:
    little = np.ascontiguousarray(values, dtype="<f4")
    return base64.b64encode(little.tobytes()).decode("ascii")
